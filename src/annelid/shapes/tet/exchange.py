"""Tetrahedra in files of other programs: Gmsh, Abaqus and VTK. What is read is untrusted."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.files import as_path, read_bytes, replaced
from annelid.core.vtu import TEN_NODES, TETRAHEDRON, write_grid
from annelid.shapes.tet.abaqus_files import read_abaqus, written_abaqus
from annelid.shapes.tet.contents import Contents
from annelid.shapes.tet.gmsh_files import UnknownVersion, read_gmsh, written_gmsh
from annelid.shapes.tet.meshio_files import GROUP, NAMED, read_with_meshio
from annelid.shapes.values import Indices, require_positive

MAX_BYTES = 512 * 1024**2
"""Largest file that is read by default [B]."""

SUFFIXES = (".msh", ".inp", ".vtk", ".vtu")
"""Formats that can be read."""

WRITTEN = (".msh", ".inp", ".vtu")
"""Formats that can be written."""


def read_contents(path: str | os.PathLike[str], *, max_bytes: float = MAX_BYTES) -> Contents:
    """What a file holds; indices are checked by the mesh they go into."""
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidMesh(f"{path} has the suffix {path.suffix!r}; tetrahedra are read from {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise InvalidMesh(f"there is no file {path}; give the path of a Gmsh, Abaqus or VTK file.")
    require_positive("max_bytes", max_bytes)
    data = _read(path, max_bytes)
    if suffix == ".inp":
        return _parsed(path, read_abaqus, data)
    if suffix == ".msh":
        try:
            return _parsed(path, read_gmsh, data)
        except UnknownVersion:
            pass
    return read_with_meshio(path)


def _read(path: Path, max_bytes: float) -> bytes:
    try:
        return read_bytes(path, most=max_bytes)
    except OSError as error:
        remedy = "; coarsen the mesh, or raise max_bytes" if error.errno == errno.EFBIG else ""
        raise InvalidMesh(f"{path} cannot be read: {error.strerror}{remedy}.") from None


def _parsed(path: Path, parse: Callable[[bytes], Contents], data: bytes) -> Contents:
    try:
        return parse(data)
    except UnknownVersion:
        raise
    except Exception as error:  # of whatever kind: numbers that are none, names without an end
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
        raise InvalidMesh(f"{path} cannot be read as {path.suffix.lower()[1:]}: {reason}.") from None


def write_contents(path: str | os.PathLike[str], mesh: Contents, boundary: Indices) -> None:
    """Write a mesh, whole or not at all; boundary faces, shape [k, 3 or 6], say which faces a group has."""
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        raise InvalidValue(f"{path} has the suffix {path.suffix!r}; tetrahedra are written as {', '.join(WRITTEN)}.")
    for name in (*mesh.groups, *mesh.region_names.values()):
        if re.search(r'[",=\x00-\x1f]', name):
            raise InvalidValue(f"the name {name!r} of a group cannot be written: leave out quotes, commas and =.")
    try:
        if suffix == ".vtu":
            points, cells = label_arrays(mesh)
            write_grid(path, mesh.nodes, [grid_cells(mesh)], point_arrays=points, cell_arrays=cells,
                       whole_arrays=name_arrays(mesh))  # fmt: skip
            return
        data = (written_gmsh if suffix == ".msh" else written_abaqus)(mesh, boundary)
        with replaced(path) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise InvalidValue(f"{path} cannot be written: {error.strerror}.") from None


def grid_cells(mesh: Contents) -> tuple[int, Indices]:
    """The tetrahedra as cells of a VTU file."""
    return (TEN_NODES if mesh.tetrahedra.shape[1] == 10 else TETRAHEDRON), mesh.tetrahedra


def label_arrays(mesh: Contents) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Groups as fields of points, and regions as a field of cells, in a VTU file."""
    points = {}
    for name, nodes in mesh.groups.items():
        points[f"{GROUP}{name}"] = np.isin(np.arange(len(mesh.nodes)), nodes).astype(np.uint8)
    return points, {"region": np.asarray(mesh.regions, "<i4")}


def name_arrays(mesh: Contents) -> dict[str, np.ndarray]:
    """Names of regions, each a field of the whole file that holds the number."""
    return {f"{NAMED}{name}": np.array([number], "<i4") for number, name in mesh.region_names.items()}
