"""Baked signed distances that are kept on disk, so that a mesh is baked once and not at every start.

A file is named by what is in it: a hash of the geometry, of the grid and of the version of the format. It is data from
elsewhere when it is read: what does not fit is baked again. Shapes of the user, whose distance is code, are not kept.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import warp as wp
from numpy.typing import NDArray

from annelid.core.errors import InvalidValue
from annelid.core.files import as_path, open_regular, replaced
from annelid.shapes.extrusion import joined
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.primitives import Box, Capsule, Cylinder, Sphere
from annelid.shapes.query import warp_device
from annelid.shapes.repair import compact
from annelid.shapes.revolved import Revolved
from annelid.shapes.rough import Rough
from annelid.shapes.sdf import SignedDistanceGrid, bake_values, grid_over
from annelid.shapes.topology import edges_of, shells_of, signed_volumes
from annelid.shapes.values import Vector

_MAGIC = b"annelid-sdf"
_VERSION = 2  # of what is baked: a mended distance must not be hidden by an old file
_NUMBERS = (Box, Sphere, Capsule, Cylinder, Revolved)  # shapes that their numbers say all about
_HEADER = struct.Struct("<11sB3i4d")  # magic, version, nodes along each axis, origin [m], spacing [m]


@dataclass(frozen=True)
class _Layout:
    """The nodes of a grid."""

    origin: Vector
    spacing: float
    counts: tuple[int, int, int]


def baked(
    shape: Shape | Sequence[Shape],
    *,
    cells: int | None = None,
    spacing: float | None = None,
    padding: float | None = None,
    cache: bool | str | os.PathLike[str] = True,
    device: str = "cpu",
    coarse: int | None = None,
) -> SignedDistanceGrid:
    """The signed distance of a solid on a grid, from disk if the same was baked before.

    A mesh of several shells that all face outwards, and several shapes, are one solid, the union of them. Its distance
    is the least of theirs, so that walls buried inside the solid do not count.

    Args:
        shape: A primitive, a closed mesh, or several of them.
        cells: Cells along the longest side; 64 if neither this nor the spacing is given.
        spacing: Distance between nodes [m], instead of a number of cells.
        padding: Free space around the solid that the grid covers at least [m]; two cells by default.
        cache: Whether to keep the grid on disk; or the folder, instead of the user's cache.
        device: Where the grid lives, such as 'cpu' or 'cuda:0'.
        coarse: Cells of a coarser grid that is enough away from the surface; None asks the surface everywhere.
    """
    if not isinstance(cache, bool):
        as_path(cache)
    solids = [solid for part in _sequence(shape) for solid in solids_of(part)]
    lows, highs = zip(*(solid.bounds() for solid in solids), strict=True)
    box = np.min(lows, axis=0), np.max(highs, axis=0)
    layout = _Layout(*grid_over(*box, resolution=cells, spacing=spacing, margin=padding))
    levels = [layout] if coarse is None else [*_coarser(box, coarse, layout, padding), layout]
    place = warp_device(device)
    if not cache or not all(_is_known_by_value(solid) for solid in solids):
        return _grid(layout, _bake_levels(solids, levels, device), place)
    folder = default_cache() if cache is True else Path(cache)
    path = folder / f"{_content(solids, levels)}.sdf"
    values = _read(path, layout)
    if values is None:
        values = _bake_levels(solids, levels, device)
        _keep(path, layout, values)
    return _grid(layout, values, place)


def default_cache() -> Path:
    """The folder of baked distances: annelid/sdf in $XDG_CACHE_HOME, or in ~/.cache where that is not set."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"  # the standard says to ignore relative paths
    return base / "annelid" / "sdf"


def _sequence(shape: Shape | Sequence[Shape]) -> Sequence[Shape]:
    parts = [shape] if isinstance(shape, Shape) else list(shape) if isinstance(shape, Iterable) else []
    if not parts or not all(isinstance(part, Shape) for part in parts):
        raise InvalidValue(f"there is nothing to bake in {shape!r}; give a shape, a closed mesh or several of them.")
    return parts


def solids_of(shape: Shape) -> list[Shape]:
    """The shape, or the shells of a closed mesh if none of them is a cavity of another."""
    if not isinstance(shape, TriangleMesh):
        return [shape]
    shape.require_closed()
    count, shell = shells_of(edges_of(shape.triangles))
    volumes = np.bincount(shell, signed_volumes(shape.vertices, shape.triangles), count)
    if count == 1 or (volumes <= 0.0).any():
        return [shape]
    pieces = [TriangleMesh(*compact(shape.vertices, shape.triangles[shell == number])) for number in range(count)]
    return list(pieces) if all(piece.is_closed for piece in pieces) else [shape]


def _coarser(
    box: tuple[NDArray[np.float64], NDArray[np.float64]], cells: int, finest: _Layout, padding: float | None
) -> list[_Layout]:
    """Grids from this number of cells on, each twice as fine as the one before, that are coarser than the finest."""
    found: list[_Layout] = []
    longest = float((box[1] - box[0]).max())
    while longest / cells > finest.spacing:
        found.append(_Layout(*grid_over(*box, resolution=cells, spacing=None, margin=padding)))
        cells *= 2
    return found


def _bake_levels(solids: Sequence[Shape], levels: Sequence[_Layout], device: str) -> NDArray[np.float32]:
    """Distances on the finest of several grids, the last; each asks the surface only where the one before is near."""
    values = _bake(solids, levels[0], device)
    for before, layout in pairwise(levels):
        nodes = layout.origin, layout.spacing, layout.counts
        values = _bake(solids, layout, device, Rough.on_grid(values, before.origin, before.spacing, *nodes))
    return values


def _bake(solids: Sequence[Shape], layout: _Layout, device: str, rough: Rough | None = None) -> NDArray[np.float32]:
    meshes = [solid for solid in solids if isinstance(solid, TriangleMesh)]
    layers = [_bake_union(meshes, layout, device, rough)] if meshes else []
    others = [solid for solid in solids if not isinstance(solid, TriangleMesh)]
    nodes = layout.origin, layout.spacing, layout.counts
    layers += [bake_values(solid, *nodes, device, rough).numpy() for solid in others]
    return np.minimum.reduce(layers)


def _bake_union(
    meshes: Sequence[TriangleMesh], layout: _Layout, device: str, rough: Rough | None
) -> NDArray[np.float32]:
    """Distances of a union of closed meshes.

    Outside all of them the nearest triangle of any is right. Inside it may be one that is buried, so there each mesh is
    asked in its own box: only a mesh that holds a node can be the deepest.
    """
    values = bake_values(joined(meshes), layout.origin, layout.spacing, layout.counts, device, rough).numpy()
    if len(meshes) == 1:
        return values
    held = values < 0.01 * layout.spacing  # and on a wall, buried or not
    if rough is not None:
        held &= rough.is_near
    inside = np.stack(np.nonzero(held), axis=1)
    points = np.array(layout.origin) + layout.spacing * inside
    depth = np.maximum(values[tuple(inside.T)], 0.0)
    for mesh in meshes:
        low, high = mesh.bounds()
        held = np.flatnonzero(((points > low) & (points < high)).all(axis=1))
        if len(held):
            depth[held] = np.minimum(depth[held], mesh.signed_distance(points[held], device=device))
    values[tuple(inside.T)] = depth
    return values


def _grid(layout: _Layout, values: NDArray[np.float32], device: wp.Device) -> SignedDistanceGrid:
    array = wp.array(values, dtype=wp.float32, device=device)
    return SignedDistanceGrid(origin=layout.origin, spacing=layout.spacing, values=array)


def _is_known_by_value(solid: Shape) -> bool:
    """Whether a hash of the solid's numbers names its distances; not so for a class of the user, whose code changes."""
    return isinstance(solid, TriangleMesh) or type(solid) in _NUMBERS


def _content(solids: Sequence[Shape], levels: Sequence[_Layout]) -> str:
    digest = hashlib.sha256(b"".join(_header(layout) for layout in levels))
    for solid in solids:
        if isinstance(solid, TriangleMesh):
            digest.update(b"mesh%d,%d" % (len(solid.vertices), len(solid.triangles)))
            digest.update(solid.vertices.tobytes())
            digest.update(solid.triangles.tobytes())
        else:
            digest.update(repr(solid).encode())  # a primitive is a dataclass of numbers, written to the last digit
    return digest.hexdigest()[:40]


def _header(layout: _Layout) -> bytes:
    return _HEADER.pack(_MAGIC, _VERSION, *layout.counts, *layout.origin, layout.spacing)


def _read(path: Path, layout: _Layout) -> NDArray[np.float32] | None:
    """The values in a file, or None if it is not there or is not what its name promises."""
    header, nodes = _header(layout), int(np.prod(layout.counts))
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size != len(header) + 4 * nodes or file.read(len(header)) != header:
                return None
            values = np.fromfile(file, dtype="<f4", count=nodes)
    except OSError:
        return None
    if len(values) != nodes or not np.isfinite(values).all():
        return None
    return values.reshape(layout.counts).astype(np.float32, copy=False)


def _keep(path: Path, layout: _Layout, values: NDArray[np.float32]) -> None:
    """Write the file whole or not at all; a disk that is full or read-only costs the cache, not the result."""
    try:
        with replaced(path) as temporary, temporary.open("wb") as file:
            file.write(_header(layout))
            np.ascontiguousarray(values, dtype="<f4").tofile(file)
    except (OSError, InvalidValue):
        return
