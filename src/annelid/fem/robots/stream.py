"""Streams: the actuation of every step as it is found, in lines of CSV or JSON, for those who drive a pump with it.

Lines are written whole and at once, so that a program at the other end of a pipe can act on them.
"""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, TextIO

from annelid.core.errors import InvalidValue
from annelid.fem.robots.steps import Step


def row_of(step: Step) -> dict[str, float | int | str]:
    """A step as a flat row: time [s], efforts [N, Pa], strokes [m, m³], places [m], distances [m], active limits."""
    row: dict[str, float | int | str] = {"step": step.number, "time": step.time}
    for name, effort in step.efforts.items():
        row[f"{name}-effort"] = effort
        row[f"{name}-stroke"] = step.strokes[name]
    for name, places in step.places.items():
        for i, place in enumerate(places.tolist()):
            mark = f"{name}-{i}" if len(places) > 1 else name
            row.update({f"{mark}-{axis}": value for axis, value in zip("xyz", place, strict=True)})
        row[f"{name}-distance"] = step.distances[name]
    row["active"] = "; ".join(step.active)
    return row


class _Stream:
    """A file, or what stands for one, that takes lines.

    Args:
        target: Path of a file to write anew, or an open text file, such as `sys.stdout`.
    """

    def __init__(self, target: str | os.PathLike[str] | TextIO) -> None:
        self._own = isinstance(target, str | os.PathLike)
        self._file = _opened(target) if isinstance(target, str | os.PathLike) else target

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._own:
            self._file.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(path: str | os.PathLike[str]) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8", newline="")
    except OSError as error:
        raise InvalidValue(f"{os.fspath(path)} cannot be written: {error.strerror}.") from None


class CsvStream(_Stream):
    """Rows of CSV, after a line of names."""

    _named = False

    def __call__(self, step: Step) -> None:
        """Write a step."""
        row = row_of(step)
        if not self._named:
            self._write(",".join(_cell(name) for name in row))
            self._named = True
        self._write(",".join(_cell(value) for value in row.values()))


class JsonStream(_Stream):
    """One JSON object a line."""

    def __call__(self, step: Step) -> None:
        """Write a step."""
        self._write(json.dumps(row_of(step)))


def _cell(value: float | int | str) -> str:
    text = repr(value) if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n') else text
