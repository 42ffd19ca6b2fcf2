"""Tetrahedral meshes in our own archive of arrays. What is read is untrusted; gmsh and VTK files are next door."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from annelid.core.archives import Arrays, Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import as_path
from annelid.shapes.tet.meshio_files import MAX_BYTES
from annelid.shapes.values import require_positive

KIND = Kind("annelid-tetrahedra", 2, "a mesh that TetMesh.save wrote")

_REQUIRED = ("nodes", "tetrahedra", "regions")


def write_tetrahedra(path: str | os.PathLike[str], arrays: dict[str, np.ndarray]) -> None:
    """Write the arrays of a mesh to an .npz file, whole or not at all."""
    path = _archive_path(path)
    try:
        write_archive(path, KIND, {}, arrays, packed=True)
    except OSError as error:
        raise InvalidValue(f"{path} cannot be written: {error.strerror}.") from None


def load_tetrahedra(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Arrays:
    """The arrays of an .npz file that `write_tetrahedra` wrote; sizes are checked before anything is unpacked."""
    path = _archive_path(path)
    require_positive("max_bytes", max_bytes)
    _, arrays = read_archive(path, KIND, max_bytes=max_bytes)
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        raise FileFormatError(f"{path} is not {KIND.title}: it lacks {', '.join(missing)}.")
    return arrays


def _archive_path(path: str | os.PathLike[str]) -> Path:
    path = as_path(path)
    if path.suffix.lower() != ".npz":
        raise InvalidValue(f"{path} has the suffix {path.suffix!r}; TetMesh.save and TetMesh.load use .npz.")
    return path
