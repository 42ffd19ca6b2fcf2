"""A search on disk: plain arrays and JSON in one file, safe to read, whole or not there, and refused elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError

KIND = Kind("annelid-evolution", 2, "a checkpoint of a search")
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
    write_archive(path, KIND, header, arrays)


def load(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a checkpoint."""
    return read_archive(path, KIND)


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
