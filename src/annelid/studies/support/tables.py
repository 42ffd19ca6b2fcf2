"""Tables of measured numbers in CSV files, read so that a damaged one is told with its line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from annelid.core.errors import FileFormatError
from annelid.core.files import read_text


def read_columns(path: Path, names: Sequence[str]) -> np.ndarray:
    """Columns of a table by the names in its first line, in the order of `names`, shape [rows, columns].

    Spaces around values, empty lines and the mark with which spreadsheets begin a file do not matter.
    """
    try:
        text = read_text(path, encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileFormatError(f"there is no {path}; name the folder that has it.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read as a table of text: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} cannot be read as a table of text: {error}.") from error
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    header = [name.strip() for name in lines[0][1].split(",")] if lines else []
    missing = [name for name in names if name not in header]
    if missing:
        raise FileFormatError(f"{path} has no column {missing[0]!r} in its first line; it needs {', '.join(names)}.")
    if len(lines) == 1:
        raise FileFormatError(f"{path} has names of columns but no numbers below them; give a file with rows.")
    places = [header.index(name) for name in names]
    return np.array([_row(path, number, line, places, header) for number, line in lines[1:]])


def _row(path: Path, number: int, line: str, places: list[int], header: list[str]) -> list[float]:
    values = line.split(",")
    if len(values) < len(header):
        raise FileFormatError(
            f"line {number} of {path} has {len(values)} values for {len(header)} columns; is the file cut off?"
        )
    try:
        return [float(values[place]) for place in places]
    except ValueError as error:
        raise FileFormatError(f"line {number} of {path} is no row of numbers: {error}.") from None
