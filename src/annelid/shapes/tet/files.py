"""Tetrahedral meshes in our own archive of arrays. What is read is untrusted; gmsh and VTK files are next door."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import replaced
from annelid.shapes.tet.meshio_files import MAX_BYTES

_FORMAT = "annelid-tetrahedra"
_VERSION = 1
_REQUIRED = ("nodes", "tetrahedra", "regions")
_KNOWN = {*_REQUIRED, "cells", "format", "version"}


def write_archive(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Write named arrays to an .npz file, whole or not at all."""
    path = _archive_path(path)
    try:
        with replaced(path) as part, part.open("wb") as file:
            named: dict[str, Any] = {"format": np.array(_FORMAT), "version": np.array(_VERSION), **arrays}
            np.savez_compressed(file, **named)
    except OSError as error:
        raise InvalidValue(f"{path} cannot be written: {error.strerror}.") from None


def read_archive(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file that `write_archive` wrote; sizes are checked before anything is unpacked."""
    path = _archive_path(path)
    if not path.is_file():
        raise FileFormatError(f"there is no file {path}; give the path of an .npz file that TetMesh.save wrote.")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size <= max_bytes:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files if name in _KNOWN}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise FileFormatError(f"{path} is not a mesh that TetMesh.save wrote: {str(error).splitlines()[0]}.") from None
    if size > max_bytes:
        raise FileFormatError(
            f"{path} unpacks to {size} bytes, more than {max_bytes}; raise max_bytes if you trust it."
        )
    return _checked_archive(path, arrays)


def _checked_archive(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    missing = [name for name in ("format", "version", *_REQUIRED) if name not in arrays]
    if missing or str(arrays["format"]) != _FORMAT:
        lacks = f"it lacks {', '.join(missing)}" if missing else f"it is of the format {str(arrays['format'])!r}"
        raise FileFormatError(f"{path} is not a mesh that TetMesh.save wrote: {lacks}.")
    if arrays["version"].shape != () or arrays["version"] != _VERSION:
        raise FileFormatError(f"{path} is of version {arrays['version']}; this library reads version {_VERSION}.")
    return arrays


def _archive_path(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InvalidValue(f"{path} has the suffix {path.suffix!r}; TetMesh.save and TetMesh.load use .npz.")
    return path
