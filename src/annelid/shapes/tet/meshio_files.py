"""Tetrahedra from gmsh and VTK files through meshio, an optional package. What is read is untrusted."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import InvalidMesh
from annelid.core.packages import optional
from annelid.shapes.tet.bounded import bounded
from annelid.shapes.values import Floats, Indices, require_positive

_READERS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu"}
SUFFIXES = tuple(_READERS)
"""Formats that can be read."""

MAX_BYTES = 512 * 1024**2
"""Largest file that is read by default [B]."""

_CORNERS = {"tetra": 4, "tetra10": 4}
_SKIPPED = ("vertex", "line", "triangle", "quad")
"""Points, lines and surfaces, of any order, which gmsh writes beside the solid."""
_REGION_FIELDS = ("region", "regions", "gmsh:physical", "gmsh:geometrical")


def read_tetrahedra(
    path: str | os.PathLike[str], *, scale: float = 1.0, max_bytes: int = MAX_BYTES
) -> tuple[Floats, Indices, Indices]:
    """Nodes [n, 3] [m], tetrahedra [m, 4] and regions [m] of a file; indices are checked by the mesh they go into."""
    path = Path(path)
    scale = require_positive("scale", scale)
    _require_readable(path, max_bytes)
    mesh = _parsed(path)
    blocks = [(number, block) for number, block in enumerate(mesh.cells) if block.type in _CORNERS]
    _require_tetrahedra_only(path, [block.type for block in mesh.cells])
    tetrahedra = np.concatenate([np.asarray(block.data)[:, : _CORNERS[block.type]] for _, block in blocks])
    return _points(path, mesh.points) * scale, tetrahedra, _regions(mesh, [number for number, _ in blocks])


def _require_readable(path: Path, max_bytes: int) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidMesh(f"{path} has the suffix {path.suffix!r}; tetrahedra are read from {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise InvalidMesh(f"there is no file {path}; give the path of a gmsh or VTK file.")
    require_positive("max_bytes", max_bytes)
    if (size := path.stat().st_size) > max_bytes:
        raise InvalidMesh(f"{path} has {size} bytes, more than {max_bytes}; coarsen the mesh, or raise max_bytes.")


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


def _regions(mesh: Any, blocks: list[int]) -> Indices:
    """Region of each tetrahedron, from the first field that says so; 0 if none does."""
    counts = [len(mesh.cells[number].data) for number in blocks]
    for name in _REGION_FIELDS:
        if name in mesh.cell_data:
            field = np.concatenate([np.asarray(mesh.cell_data[name][number]).ravel() for number in blocks])
            whole = field.astype(np.int64) if np.isfinite(field).all() else field
            if field.shape == (sum(counts),) and (whole == field).all() and field.min() >= 0 and field.max() < 2**31:
                return whole.astype(np.int32)
    return np.zeros(sum(counts), dtype=np.int32)
