"""Isosurface stuffing (Labelle and Shewchuk, 2007): a uniform lattice warped to a surface and clipped by it.

Lattice points too close to the surface are moved onto it; then the lattice's tetrahedra are clipped by stencils. How
close is too close decides the worst angles. With `LONG` and `SHORT` every dihedral angle lies between 10.7 and 164.8
degrees, the published bounds, whatever the surface: over all positions of warped points and cut points that the two
limits allow, the extremes are 10.72 and 164.70 degrees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from annelid.core.memory import require_memory
from annelid.shapes.tet.bcc import BccLattice
from annelid.shapes.tet.depths import depths
from annelid.shapes.tet.stencils import stencils
from annelid.shapes.tet.topology import EDGES
from annelid.shapes.values import Floats, Indices

LONG, SHORT = 0.285, 0.397
"""A cut point closer to the end of a long or a short edge than this fraction of the edge pulls that end onto itself."""

_ROOT_STEPS = 12
_AROUND = 6  # tetrahedra for each point of the lattice
_BYTES = 600  # memory that a tetrahedron takes until its mesh is made
_CLOSE = 1e-5
"""A cut point within this fraction of its edge of the surface is on it."""

Distance = Callable[[Floats], Floats]
"""Signed distance [m], negative inside, of points [m]: shape [n, 3] to shape [n]."""


def clipped(lattice: BccLattice, distance: Distance, *, exact: bool = False) -> tuple[Floats, Indices]:
    """Nodes [n, 3] [m] and tetrahedra [m, 4] inside the surface; none at all if no lattice point is inside.

    Args:
        lattice: Reaches beyond the surface by a cube on every side.
        distance: Its sign and its zeros matter, unless `exact`.
        exact: The distance is one, so that points far from the surface need not be asked for.
    """
    positions = lattice.positions()
    depth = depths(lattice, distance) if exact else -distance(positions)
    count = _AROUND * int((depth > 0.0).sum())
    require_memory(f"a mesh of {count} tetrahedra", _BYTES * count, f"choose a pitch above {lattice.pitch:g} m")
    tetrahedra = lattice.tetrahedra(depth > 0.0)
    inside, outside = _crossing_edges(tetrahedra, depth)
    part = _crossings(positions[inside], positions[outside], depth[inside], depth[outside], distance)
    cuts = positions[inside] + part[:, None] * (positions[outside] - positions[inside])
    signs = np.sign(depth).astype(np.int8)
    _warp(positions, signs, np.stack([inside, outside]), part, cuts, lattice.corner_count)
    table = _CutTable(inside, outside, signs)
    parts = stencils(tetrahedra, signs, table.number, _diagonal_rule(lattice))
    points = np.concatenate([positions, cuts[table.rows]])
    used = np.zeros(len(points), dtype=bool)
    used[parts] = True
    return points[used], (np.cumsum(used, dtype=np.int32) - 1)[parts]


def _crossing_edges(tetrahedra: Indices, depth: Floats) -> NDArray[np.int64]:
    """Ends of the edges that the surface crosses, the inside one and the outside one, shape [2, e]."""
    mixed = tetrahedra[(depth[tetrahedra] < 0.0).any(axis=1)]
    pairs = mixed[:, EDGES].reshape(-1, 2).astype(np.int64)
    inside = depth[pairs] > 0.0
    pairs = np.where(inside[:, :1], pairs, pairs[:, ::-1])[inside.any(axis=1)]
    pairs = pairs[depth[pairs[:, 1]] < 0.0]
    keys = np.unique(pairs[:, 0] * len(depth) + pairs[:, 1])
    return np.stack(np.divmod(keys, len(depth)))


def _crossings(start: Floats, end: Floats, inside: Floats, outside: Floats, distance: Distance) -> Floats:
    """Where the surface crosses each edge, from 0 at its start to 1 at its end, by the Illinois method; shape [e]."""
    along = end - start
    close = _CLOSE * np.linalg.norm(along, axis=1)
    low, high = np.zeros(len(start)), np.ones(len(start))
    above, below = inside.copy(), outside.copy()
    part = above / (above - below)
    last = np.zeros(len(start))
    left = np.arange(len(start))  # edges whose crossing is not yet found
    for _ in range(_ROOT_STEPS):
        depth = -distance(start[left] + part[left, None] * along[left])
        left, depth = left[np.abs(depth) > close[left]], depth[np.abs(depth) > close[left]]
        if len(left) == 0:
            break
        within, again = depth > 0.0, np.sign(depth) == last[left]
        kept = np.where(again, 0.5, 1.0)  # an end that is kept twice counts half, or it would be kept for ever
        above[left] = np.where(within, depth, kept * above[left])
        below[left] = np.where(within, kept * below[left], depth)
        low[left], high[left] = np.where(within, part[left], low[left]), np.where(within, high[left], part[left])
        last[left] = np.sign(depth)
        part[left] = (high * above - low * below)[left] / (above - below)[left]
    return part


def _warp(
    positions: Floats, signs: NDArray[np.int8], ends: NDArray[np.int64], part: Floats, cuts: Floats, corner_count: int
) -> None:
    """Move every lattice point that a cut point is too close to onto the closest such cut point; its sign becomes 0."""
    is_long = (ends[0] < corner_count) == (ends[1] < corner_count)
    fraction = np.stack([part, 1.0 - part])
    row, edge = np.nonzero(fraction < np.where(is_long, LONG, SHORT))
    point = ends[row, edge]
    length = fraction[row, edge] * np.where(is_long, 2.0, np.sqrt(3.0))[edge]
    order = np.lexsort([length, point])
    warped, closest = np.unique(point[order], return_index=True)
    positions[warped] = cuts[edge[order][closest]]
    signs[warped] = 0


class _CutTable:
    """Numbers of the cut points that are left after warping; they follow the lattice points.

    Attributes:
        rows: Which of all cut points each is, shape [c].
    """

    def __init__(self, inside: NDArray[np.int64], outside: NDArray[np.int64], signs: NDArray[np.int8]) -> None:
        self._size = len(signs)
        self.rows = np.flatnonzero((signs[inside] > 0) & (signs[outside] < 0))
        self._keys = inside[self.rows] * self._size + outside[self.rows]  # rising, as the edges are

    def number(self, inside: Indices, outside: Indices) -> Indices:
        keys = inside.astype(np.int64) * self._size + outside
        return (self._size + np.searchsorted(self._keys, keys)).astype(np.int32)


def _diagonal_rule(lattice: BccLattice) -> Callable[[Indices, Indices, Indices], NDArray[np.bool_]]:
    """The diagonal ends at the cut point of the long edge, if there is one; else the parity of directions decides."""

    def first(p: Indices, q: Indices, out: Indices) -> NDArray[np.bool_]:
        corner = lattice.corner_count
        q_long, p_long = (q < corner) == (out < corner), (p < corner) == (out < corner)
        even = (lattice.steps(p) > lattice.steps(out)).sum(axis=1) % 2 == 0
        return np.where(q_long == p_long, even, q_long)

    return first
