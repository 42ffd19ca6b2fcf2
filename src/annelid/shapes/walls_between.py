"""Walls inside a sliced mesh, in the planes between the cells of a grid.

A face between two cells is inside the mesh where it is bounded by *segments*, edges of the sliced mesh that lie in it,
and by *stretches* of the grid's lines that are inside. So its regions are found without ever tracing an outline: what
bounds a face and hangs together is the rim of a region, and a fan around the middle of the rim covers it.
All coordinates here are in cells of the grid; the outermost cells reach outwards without end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from annelid.core.distinct import distinct_rows
from annelid.shapes.grid_lines import CROSSED, INSIDE, GridLines
from annelid.shapes.values import Floats


@dataclass(frozen=True)
class Walls:
    """Triangles between parts of different cells.

    Attributes:
        points: Points that follow those of the surface in the numbering of the triangles, shape [k, 3].
        triangles: Point indices, counter-clockwise seen from the second cell, shape [w, 3].
        owners: The two filled cells of each, shape [w, 2].
        skin: The filled cell of each triangle of the surface, shape [t].
    """

    points: Floats
    triangles: np.ndarray
    owners: np.ndarray
    skin: np.ndarray


@dataclass(frozen=True)
class Patches:
    """Parts of a sliced surface, each joined and inside one cell.

    Attributes:
        of: The patch of each triangle, shape [t].
        cells: The cell of each patch, shape [p, 3].
        areas: Area of each patch [cells²].
        owners: The filled cell that each belongs to.
    """

    of: np.ndarray
    cells: np.ndarray
    areas: Floats
    owners: np.ndarray


def walls_between(
    points: Floats,
    triangles: np.ndarray,
    cells: np.ndarray,
    patches: Patches,
    filled: np.ndarray,
    contains: Callable[[Floats], Any],
) -> Walls:
    """The walls of a sliced mesh.

    Args:
        points: Points [cells], shape [n, 3].
        triangles: Triangles of the sliced mesh, shape [t, 3].
        cells: Cell of each, shape [t, 3].
        patches: Patches of the surface.
        filled: Number of each filled cell, -1 for the others, shape of the grid.
        contains: Whether points [cells] are inside the mesh.
    """
    held = filled >= 0
    held[tuple(patches.cells.T)] = True
    grid = GridLines(points, filled.shape, contains, held)
    planes = [_across(axis, grid, triangles, cells) for axis in range(3)]
    patch_owners, cell_owners = _agreed(patches, planes, filled)
    skin = patch_owners[patches.of]
    corners = [np.zeros((0, 3), np.int64)]
    first = len(points) + grid.node_count
    for plane in planes:
        corners.append(np.where(plane.triangles < 0, first - 1 - plane.triangles, plane.triangles))
        first += len(plane.middles)
    found, both = np.concatenate(corners), np.concatenate([plane.owners(skin, cell_owners) for plane in planes])
    kept = (both[:, 0] != both[:, 1]) & (both >= 0).all(axis=1)
    used, numbers = np.unique(found[kept], return_inverse=True)
    new = used >= len(points)
    names = np.where(new, len(points) + np.cumsum(new) - 1, used)
    beyond = np.concatenate([grid.nodes(), *(plane.middles for plane in planes)])[used[new] - len(points)]
    return Walls(beyond, names[numbers].reshape(-1, 3).astype(np.int32), both[kept], skin)


def _agreed(patches: Patches, planes: list[_Plane], filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Owners of patches and of cells, shape of the grid, the same for all that bounds one piece of the mesh in a cell.

    Walls in a cell that share an edge, or border on one patch, bound one piece. If that is the piece in the middle of a
    filled cell it belongs to this cell, else to the owner of its largest patch.
    """
    count = len(patches.owners)
    joints = [np.zeros((0, 3), np.int64)]
    pairs = [np.zeros((0, 2), np.int64)]
    for plane in planes:
        for side in (0, 1):
            found, same = plane.bounds(side, patches, filled.shape)
            joints.append(found)
            pairs.append(same)
    table = np.concatenate(joints)
    table = table[np.lexsort(table[:, :2].T)]
    again = (table[1:, :2] == table[:-1, :2]).all(axis=1)
    pairs.append(np.stack([table[:-1, 2], table[1:, 2]], axis=1)[again])
    first, second = np.concatenate(pairs).T
    size = count + filled.size
    graph = sparse.coo_array((np.ones(len(first), bool), (first, second)), shape=(size, size))
    piece = sparse.csgraph.connected_components(graph, directed=False)[1]
    owners = np.concatenate([patches.owners, filled.ravel()])
    weight = np.concatenate([patches.areas, np.where(filled.ravel() >= 0, np.inf, -1.0)])
    order = np.lexsort((weight, piece))
    last = np.append(piece[order][1:] != piece[order][:-1], True)
    agreed = np.asarray(owners[order[last]][piece])
    return agreed[:count], agreed[count:].reshape(filled.shape)


@dataclass(frozen=True)
class _Plane:
    """Walls in all planes across one axis, before it is known whose they are.

    Attributes:
        axis: The axis.
        middles: Middles of regions.
        triangles: Triangles that face along the axis; corner -1 - k is middle k.
        region: The region of each triangle, those with segments first; squares at the end have none.
        beside: The triangles of the surface below and above each segment.
        faces: The face that each triangle lies in.
    """

    axis: int
    middles: Floats
    triangles: np.ndarray
    region: np.ndarray
    beside: np.ndarray
    faces: np.ndarray

    def bounds(self, side: int, patches: Patches, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """What the walls bound on one side: a patch, or a cell, which is counted on after the patches.

        Returns:
            Cell, edge and what is bounded, for each edge of a wall along lines of the grid, shape [k, 3], and pairs of
            patches that one wall borders on.
        """
        step = np.eye(3, dtype=np.int64)[self.axis] * (1 - side)
        cell = np.ravel_multi_index(tuple((self.faces - step).T), shape)
        what, begin, fans = len(patches.owners) + cell, len(self.beside), len(self.region)
        beside = patches.of[self.beside[:, side]]
        chosen = np.full(len(self.middles), -1, np.int64)
        chosen[self.region[:begin]] = beside
        what[:fans] = np.where(chosen[self.region] >= 0, chosen[self.region], what[:fans])
        mixed = np.zeros(math.prod(shape), bool)  # elsewhere there is nothing to agree on
        mixed[np.ravel_multi_index(tuple(patches.cells.T), shape)] = True
        rims, squares = np.arange(begin, fans), fans + np.flatnonzero(mixed[cell[fans:]])
        edges = [(rims, 1, 2), (squares, 0, 1), (squares, 1, 2), (squares, 2, 0)]
        found = [_edge_table(cell[part], self.triangles[part][:, [a, b]], what[part]) for part, a, b in edges]
        return np.concatenate(found), np.stack([beside, chosen[self.region[:begin]]], axis=1)

    def owners(self, skin: np.ndarray, cell_owners: np.ndarray) -> np.ndarray:
        """Owners on both sides of each triangle: those of the surface beside its region, else those of the cells."""
        step = np.eye(3, dtype=np.int64)[self.axis]
        sides = np.stack([cell_owners[tuple((self.faces - step).T)], cell_owners[tuple(self.faces.T)]], axis=1)
        known = np.full((len(self.middles), 2), -1, np.int64)
        known[self.region[: len(self.beside)]] = skin[self.beside]
        fans = len(self.region)
        sides[:fans] = np.where(known[self.region] >= 0, known[self.region], sides[:fans])
        return sides


def _edge_table(cell: np.ndarray, ends: np.ndarray, what: np.ndarray) -> np.ndarray:
    low, high = ends.min(axis=1), ends.max(axis=1)
    return np.stack([cell, low << 32 | high, what], axis=1)


def _across(axis: int, grid: GridLines, triangles: np.ndarray, cells: np.ndarray) -> _Plane:
    """Walls in the planes across one axis."""
    ends, beside, faces = _segments(axis, grid, triangles, cells)
    lines = [line for line in range(3) if line != axis]
    crossed = []
    for line in lines:  # faces on both sides of a crossed piece of a line
        piece, across = np.argwhere(grid.states[line] == CROSSED), 3 - axis - line
        for back in (0, 1):
            face = piece.copy()
            face[:, across] -= back
            crossed.append(face[(face >= 0).all(axis=1) & (face[:, across] < grid.counts[across])])
    shape = tuple(grid.counts + np.eye(3, dtype=np.int64)[axis])
    keys = np.unique(np.ravel_multi_index(tuple(np.concatenate([faces, *crossed]).T), shape))
    rims = np.stack(np.unravel_index(keys, shape), axis=1)
    pairs, of = [ends], [np.searchsorted(keys, np.ravel_multi_index(tuple(faces.T), shape))]
    for line in lines:
        across = 3 - axis - line
        for forth in (0, 1):
            piece = rims.copy()
            piece[:, across] += forth
            found, which = grid.stretches(line, piece)
            pairs.append(found)
            of.append(which)
    face = np.concatenate(of)
    middles, fans, region = _fans(axis, grid, np.concatenate(pairs), face)
    whole = _whole_faces(axis, grid, keys, shape)
    corners = np.concatenate([fans, _squares(axis, grid, whole)])
    return _Plane(axis, middles, corners, region, beside, np.concatenate([rims[face], whole, whole]))


def _segments(
    axis: int, grid: GridLines, triangles: np.ndarray, cells: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of the mesh in planes across an axis: their ends, the triangles below and above, the face they lie in."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    of = np.tile(np.arange(len(triangles)), 3)
    heights = grid.points[sides, axis]
    plane = heights[:, 0]
    inner = (heights[:, 0] == heights[:, 1]) & (plane == np.round(plane)) & (plane > 0) & (plane < grid.counts[axis])
    sides, of, plane = np.sort(sides[inner], axis=1).astype(np.int64), of[inner], plane[inner].astype(np.int64)
    key = sides[:, 0] << 32 | sides[:, 1]
    low, high = (np.flatnonzero(cells[of, axis] == plane - 1), np.flatnonzero(cells[of, axis] == plane))
    shared, first, second = np.intersect1d(key[low], key[high], return_indices=True)
    below, above = of[low[first]], of[high[second]]
    return np.stack([shared >> 32, shared & 0xFFFFFFFF], axis=1), np.stack([below, above], axis=1), cells[above]


def _fans(axis: int, grid: GridLines, pairs: np.ndarray, face: np.ndarray) -> tuple[Floats, np.ndarray, np.ndarray]:
    """A fan around the middle of each region: middles, triangles that face along the axis, region of each."""
    places = np.concatenate([grid.points, grid.nodes()])
    spot = np.stack([np.repeat(face, 2), pairs.ravel()], axis=1)
    spots, number = distinct_rows(spot, return_inverse=True)
    ends = number.reshape(-1, 2)
    graph = sparse.coo_array((np.ones(len(ends), bool), (ends[:, 0], ends[:, 1])), shape=(len(spots),) * 2)
    region = np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1])[ends[:, 0]]
    region = np.unique(region, return_inverse=True)[1].ravel()
    count = int(region.max(initial=-1)) + 1
    a, b = places[pairs[:, 0]], places[pairs[:, 1]]
    lengths = np.linalg.norm(b - a, axis=1) + 1e-12
    sums = np.bincount(region, lengths, minlength=count)
    middle = np.stack(
        [np.bincount(region, lengths * 0.5 * (a + b)[:, k], minlength=count) / sums for k in range(3)], axis=1
    )
    turned = np.cross(a - middle[region], b - middle[region])[:, axis] < 0.0
    fans = np.stack([-1 - region, np.where(turned, pairs[:, 1], pairs[:, 0]), np.where(turned, *pairs.T)], axis=1)
    return middle, fans, region


def _whole_faces(axis: int, grid: GridLines, rims: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Faces across an axis that are inside the mesh as a whole, shape [k, 3]."""
    whole = np.ones(shape, bool)
    for line in (line for line in range(3) if line != axis):
        across = 3 - axis - line
        inside = grid.states[line] == INSIDE
        sides = [slice(None)] * 3
        for sides[across] in (slice(0, -1), slice(1, None)):
            whole &= inside[tuple(sides)]
    whole.reshape(-1)[rims] = False
    return np.argwhere(whole)


def _squares(axis: int, grid: GridLines, faces: np.ndarray) -> np.ndarray:
    """Two triangles for each whole face, facing along the axis."""
    u, v = np.eye(3, dtype=np.int64)[(axis + 1) % 3], np.eye(3, dtype=np.int64)[(axis + 2) % 3]
    a, b, c, d = (grid.node(faces + step) for step in (0 * u, u, u + v, v))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
