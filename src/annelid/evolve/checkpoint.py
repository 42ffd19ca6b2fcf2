"""A search on disk: plain arrays and JSON in one file, safe to read, whole or not there, and refused elsewhere."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import AnnelidError, FileFormatError
from annelid.core.files import replaced

FORMAT, VERSION = "annelid-evolution", 1
_FREE = ("name", "summary", "generations")  # of an experiment: may differ without making it another one


class OtherExperiment(FileFormatError):
    """A checkpoint belongs to another experiment."""


def save(path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint, whole or not at all.

    Args:
        path: The file.
        header: Values that JSON can hold.
        arrays: Arrays of numbers by name.
    """
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    with replaced(path) as temporary, temporary.open("wb") as file:
        everything: dict[str, Any] = {"header": np.frombuffer(text.encode(), np.uint8), **arrays}
        np.savez(file, **everything)


def load(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a checkpoint."""
    if not path.is_file():
        raise FileFormatError(f"there is no checkpoint {path}.")
    try:
        _require_plain(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header: dict[str, Any] = json.loads(arrays.pop("header").tobytes())
        found = header["format"], header["version"]
    except AnnelidError:
        raise
    except Exception as error:  # a foreign file can fail in any way, and is told apart from a damaged one in none
        raise FileFormatError(f"{path} is not a checkpoint of a search, or it is damaged.") from error
    if found != (FORMAT, VERSION):
        raise FileFormatError(f"{path} has format {found[0]} {found[1]}; this Annelid reads {FORMAT} {VERSION}.")
    return header, arrays


def require_same(path: Path, saved: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Refuse the checkpoint of another experiment, and say what differs."""
    different = _difference(saved, ours)
    if different is not None:
        where, there, here = different
        raise OtherExperiment(
            f"{path} belongs to another experiment: {where} is {there} there and {here} here; use another folder "
            "(--out), or the experiment that it was made with."
        )


def flatten(state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A state as its plain values and its arrays; the names of these begin with a prefix."""
    arrays = {f"{prefix}/{name}": value for name, value in state.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in state.items() if not isinstance(value, np.ndarray)}, arrays


def unflatten(plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, Any]:
    """The state again."""
    start = f"{prefix}/"
    return {**plain, **{name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}}


def _require_plain(path: Path) -> None:
    """Refuse a file whose parts are larger than itself before any of them is allocated."""
    with zipfile.ZipFile(path) as file:
        parts = file.infolist()
    if (
        any(part.compress_type != zipfile.ZIP_STORED for part in parts)
        or sum(part.file_size for part in parts) > path.stat().st_size
    ):
        raise FileFormatError(f"{path} is not a checkpoint of a search: its parts are packed.")


def _difference(saved: Any, ours: Any, where: str = "") -> tuple[str, Any, Any] | None:
    """The first place where two tables differ, with both values."""
    if not (isinstance(saved, Mapping) and isinstance(ours, Mapping)):
        return None if saved == ours else (where, saved, ours)
    names = [name for name in dict.fromkeys([*ours, *saved]) if where or name not in _FREE]
    for name in names:
        found = _difference(saved.get(name), ours.get(name), f"{where}.{name}" if where else name)
        if found is not None:
            return found
    return None
