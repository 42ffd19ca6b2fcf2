"""Tetrahedral meshes in our own archive of arrays. What is read is untrusted; files of other programs are next door."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.archives import Arrays, Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import as_path
from annelid.shapes.tet.exchange import MAX_BYTES
from annelid.shapes.values import require_positive

KIND = Kind("annelid-tetrahedra", 2, "a mesh that TetMesh.save wrote")

_REQUIRED = ("nodes", "tetrahedra", "regions")


def write_tetrahedra(
    path: str | os.PathLike[str],
    arrays: dict[str, np.ndarray],
    *,
    groups: Mapping[str, np.ndarray],
    region_names: Mapping[int, str],
) -> None:
    """Write the arrays of a mesh, and the names of its parts, to an .npz file, whole or not at all."""
    path = _archive_path(path)
    header = {"groups": list(groups), "region_names": [[number, name] for number, name in region_names.items()]}
    named = {f"group{k}": nodes for k, nodes in enumerate(groups.values())}
    try:
        write_archive(path, KIND, header, arrays | named, packed=True)
    except OSError as error:
        raise InvalidValue(f"{path} cannot be written: {error.strerror}.") from None


def load_tetrahedra(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> tuple[Arrays, dict[str, np.ndarray], dict[int, str]]:
    """Arrays, groups and names of regions that `write_tetrahedra` wrote; sizes are checked before all is unpacked."""
    path = _archive_path(path)
    require_positive("max_bytes", max_bytes)
    header, arrays = read_archive(path, KIND, max_bytes=max_bytes)
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        raise FileFormatError(f"{path} is not {KIND.title}: it lacks {', '.join(missing)}.")
    try:
        return arrays, *_names(header, arrays)
    except (KeyError, TypeError, ValueError):
        raise FileFormatError(f"{path} is not {KIND.title}, or it is damaged: its names fit no arrays.") from None


def _names(header: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, np.ndarray], dict[int, str]]:
    """Groups and names of regions; files of older versions have none."""
    groups = {str(name): arrays[f"group{k}"] for k, name in enumerate(header.get("groups", []))}
    return groups, {int(number): str(name) for number, name in header.get("region_names", [])}


def _archive_path(path: str | os.PathLike[str]) -> Path:
    path = as_path(path)
    if path.suffix.lower() != ".npz":
        raise InvalidValue(f"{path} has the suffix {path.suffix!r}; TetMesh.save and TetMesh.load use .npz.")
    return path
