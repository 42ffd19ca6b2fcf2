"""Tetrahedra from VTK files and older ones of Gmsh through meshio, an optional package. What is read is untrusted."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import InvalidMesh, PartlyUsed
from annelid.core.packages import optional
from annelid.shapes.tet.bounded import bounded
from annelid.shapes.tet.contents import Contents, merged_groups
from annelid.shapes.values import Floats, Indices

_READERS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu"}
_CORNERS = {"tetra": 4, "tetra10": 4}
_SKIPPED = ("vertex", "line", "triangle", "quad")
"""Points, lines and surfaces, of any order, which gmsh writes beside the solid."""
_OF_GMSH = ("gmsh:physical", "gmsh:geometrical")
_REGION = re.compile(r"(region|material|mat)[ _-]?(id)?s?", re.IGNORECASE)
"""Cell fields that number the regions, as programs call them."""
GROUP, NAMED = "group ", "region "
"""What names of groups, as point fields of a VTU file, and of regions, as fields of the whole, begin with."""


def read_with_meshio(path: Path) -> Contents:
    """The tetrahedra of a file."""
    mesh = _parsed(path)
    blocks = [(number, block) for number, block in enumerate(mesh.cells) if block.type in _CORNERS]
    _require_tetrahedra_only(path, [block.type for block in mesh.cells])
    tetrahedra = np.concatenate([np.asarray(block.data)[:, : _CORNERS[block.type]] for _, block in blocks])
    regions = _regions(path, mesh, [number for number, _ in blocks])
    return Contents(_points(path, mesh.points), tetrahedra, regions, _region_names(mesh), _groups(mesh))


def _parsed(path: Path) -> Any:
    meshio = optional("meshio", purpose=f"reading {path}", extra="fem")
    try:
        # meshio prints its error messages, and some of its readers exit
        quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with quiet[0], quiet[1], bounded(path.stat().st_size):
            return meshio.read(path, file_format=_READERS[path.suffix.lower()])
    except SystemExit:  # what it has printed says no more
        kind = _READERS[path.suffix.lower()]
        raise InvalidMesh(f"{path} is no {kind} file, or damaged; write it again as {kind}.") from None
    except Exception as error:  # the parsers raise whatever their line of code happens to raise
        lines = str(error).strip().splitlines()
        reason = (lines[0] if lines else type(error).__name__)[:200].rstrip(".")
        raise InvalidMesh(f"{path} cannot be read as {path.suffix.lower()[1:]}: {reason}.") from None


def _require_tetrahedra_only(path: Path, kinds: list[str]) -> None:
    foreign = sorted({kind for kind in kinds if kind not in _CORNERS and not kind.startswith(_SKIPPED)})
    if foreign:
        raise InvalidMesh(f"{path} holds cells of the kind {', '.join(foreign)}; only tetra and tetra10 can be used.")
    if not any(kind in _CORNERS for kind in kinds):
        found = f"only {', '.join(sorted(set(kinds)))}" if kinds else "no cells"
        raise InvalidMesh(f"{path} holds {found} and no tetrahedra; mesh the volume, not the surface.")


def _points(path: Path, points: Any) -> Floats:
    array = np.asarray(points)
    if array.ndim != 2 or array.shape[1] != 3 or not np.issubdtype(array.dtype, np.number):
        raise InvalidMesh(f"{path} has points of shape {list(array.shape)}; a solid has three coordinates a point.")
    return array.astype(np.float64)


def _regions(path: Path, mesh: Any, blocks: list[int]) -> Indices:
    """Region of each tetrahedron, from the first field that says so; 0 if none does."""
    count = sum(len(mesh.cells[number].data) for number in blocks)
    for name in (*filter(_REGION.fullmatch, mesh.cell_data), *(name for name in _OF_GMSH if name in mesh.cell_data)):
        field = np.concatenate([np.asarray(mesh.cell_data[name][number]).ravel() for number in blocks])
        whole = field.astype(np.int64) if np.isfinite(field).all() else field
        if field.shape == (count,) and (whole == field).all() and field.min() >= 0 and field.max() < 2**31:
            return whole.astype(np.int32)
        _ignored(path, name, "is not a whole number of 0 or more for each cell")
    for name in filter(_REGION.fullmatch, mesh.point_data):
        _ignored(path, name, "belongs to points and not to cells")
    return np.zeros(count, dtype=np.int32)


def _ignored(path: Path, name: str, reason: str) -> None:
    warnings.warn(
        f"the field {name!r} of {path} {reason}, so that all of the solid is one region; give each cell the number of "
        "its material.",
        PartlyUsed,
        stacklevel=6,
    )


def _region_names(mesh: Any) -> dict[int, str]:
    """Names of regions: physical volumes of Gmsh, or fields of the whole in a VTU file that `TetMesh.write` wrote."""
    found = {}
    for name, value in mesh.field_data.items():
        numbers = np.asarray(value).ravel()
        if len(numbers) == 2 and numbers[1] == 3:
            found[int(numbers[0])] = name
        elif len(numbers) == 1 and name.startswith(NAMED):
            found[int(numbers[0])] = name.removeprefix(NAMED)
    return found


def _groups(mesh: Any) -> dict[str, Indices]:
    """Named sets of nodes: physical surfaces, curves and points of Gmsh, or point fields of a VTU file."""
    pairs = [(name, np.flatnonzero(v)) for name, v in mesh.point_data.items() if name.startswith(GROUP)]
    found = [(name.removeprefix(GROUP), nodes) for name, nodes in pairs]
    numbers = mesh.cell_data.get("gmsh:physical", [])
    for name, value in mesh.field_data.items():
        for block, tags in zip(mesh.cells, numbers, strict=False):
            if np.size(value) == 2 and value[1] == block.dim < 3:
                found.append((name, np.asarray(block.data)[np.asarray(tags) == value[0]]))
    return merged_groups(found)
