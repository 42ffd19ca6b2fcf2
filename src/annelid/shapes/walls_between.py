"""Walls inside a sliced mesh, in the planes between the cells of a grid.

A face between two cells is inside the mesh where it is bounded by *segments*, edges of the sliced mesh that lie in it,
and by *stretches* of the grid's lines that are inside. So its regions are found without ever tracing an outline: what
bounds a face and hangs together is the rim of a region, and a fan around the middle of the rim covers it.
All coordinates here are in cells of the grid; the outermost cells reach outwards without end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from annelid.shapes.values import Floats

_OUTSIDE, _INSIDE, _CROSSED = 0, 1, 2  # what a piece of a line of the grid can be


@dataclass(frozen=True)
class Walls:
    """Triangles between parts of different cells.

    Attributes:
        points: Points that follow those of the surface in the numbering of the triangles, shape [k, 3].
        triangles: Point indices, counter-clockwise seen from the second cell, shape [w, 3].
        owners: The two filled cells of each, shape [w, 2].
    """

    points: Floats
    triangles: np.ndarray
    owners: np.ndarray


def walls_between(
    points: Floats,
    triangles: np.ndarray,
    cells: np.ndarray,
    owners: np.ndarray,
    cell_owners: np.ndarray,
    contains: Callable[[Floats], Any],
) -> Walls:
    """The walls of a sliced mesh.

    Args:
        points: Points [cells], shape [n, 3].
        triangles: Triangles of the sliced mesh, shape [t, 3].
        cells: Cell of each, shape [t, 3].
        owners: Filled cell that each belongs to, shape [t].
        cell_owners: Filled cell that each cell belongs to, -1 where there is nothing, shape of the grid.
        contains: Whether points [cells] are inside the mesh.
    """
    grid = _Grid(points, cell_owners.shape, contains, cell_owners >= 0)
    parts = [_walls_across(axis, grid, triangles, cells, owners, cell_owners) for axis in range(3)]
    first, centers, corners, pairs = len(points) + grid.node_count, [], [], []
    for middle, fan, sides in parts:
        corners.append(np.where(fan < 0, first - 1 - fan, fan))
        first += len(middle)
        centers.append(middle)
        pairs.append(sides)
    found, both = np.concatenate(corners), np.concatenate(pairs)
    kept = (both[:, 0] != both[:, 1]) & (both >= 0).all(axis=1)
    used, numbers = np.unique(found[kept], return_inverse=True)
    new = used >= len(points)
    names = np.where(new, len(points) + np.cumsum(new) - 1, used)
    beyond = np.concatenate([grid.nodes(), *centers])[used[new] - len(points)]
    return Walls(beyond, names[numbers].reshape(-1, 3).astype(np.int32), both[kept])


class _Grid:
    """Lines of the grid: which pieces of them are inside the mesh.

    Attributes:
        states: For each axis, what each piece of the lines along it is.
    """

    def __init__(self, points: Floats, counts: tuple[int, ...], contains: Callable[[Floats], Any], held: Any) -> None:
        self.points, self.counts, self._contains = points, np.array(counts), contains
        self._shape = tuple(self.counts + 1)
        inside = self._nodes_inside(held)
        self.states, self._stretches = [], []
        for axis in range(3):
            state, stretches = self._lines_along(axis, inside)
            self.states.append(state)
            self._stretches.append(stretches)

    @property
    def node_count(self) -> int:
        """Number of nodes of the grid, those without end included."""
        return int(np.prod(self._shape))

    def nodes(self) -> Floats:
        """All nodes, shape [k, 3]."""
        return np.stack(np.unravel_index(np.arange(self.node_count), self._shape), axis=1).astype(float)

    def node(self, index: np.ndarray) -> np.ndarray:
        """Number of nodes by their place, shape [k, 3] -> [k], after those of the surface."""
        return len(self.points) + np.ravel_multi_index(tuple(index.T), self._shape)

    def stretches(self, axis: int, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of all stretches inside the mesh on pieces [k, 3] of lines, shape [m, 2], and which piece each is of."""
        state = self.states[axis]
        of = state[tuple(pieces.T)]
        plain = np.flatnonzero(of == _INSIDE)
        step = np.eye(3, dtype=np.int64)[axis]
        ends = [np.stack([self.node(pieces[plain]), self.node(pieces[plain] + step)], axis=1)]
        crossed = np.flatnonzero(of == _CROSSED)
        keys, pairs = self._stretches[axis]
        wanted = np.ravel_multi_index(tuple(pieces[crossed].T), state.shape)
        low, high = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        number = high - low
        within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        ends.append(pairs[np.repeat(low, number) + within])
        return np.concatenate(ends), np.concatenate([plain, np.repeat(crossed, number)])

    def _nodes_inside(self, held: Any) -> Any:
        """Whether each node is inside the mesh; those without end are not."""
        near = np.zeros(self._shape, bool)
        for corner in np.ndindex(2, 2, 2):
            near[tuple(slice(c, c + n) for c, n in zip(corner, self.counts, strict=True))] |= held
        for axis in range(3):
            ends = [slice(None)] * 3
            for ends[axis] in (slice(0, 1), slice(-1, None)):
                near[tuple(ends)] = False
        inside = np.zeros(self._shape, bool)
        asked = np.argwhere(near)
        inside[tuple(asked.T)] = self._contains(asked.astype(float))
        return inside

    def _lines_along(self, axis: int, inside: Any) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
        """The state of each piece of the lines along an axis, and the stretches of those that the mesh crosses."""
        counts, others = self.counts, [k for k in range(3) if k != axis]
        low = [slice(None)] * 3
        low[axis] = slice(0, -1)
        high = [slice(None)] * 3
        high[axis] = slice(1, None)
        state = (inside[tuple(low)] & inside[tuple(high)]).astype(np.int8)
        on_line = np.ones(len(self.points), bool)
        for other in others:
            values = self.points[:, other]
            on_line &= (values == np.round(values)) & (values > 0.0) & (values < counts[other])
        crossings = np.flatnonzero(on_line)
        at = self.points[crossings]
        piece = np.clip(np.floor(at), 0, counts - 1).astype(np.int64)
        piece[:, others] = np.round(at[:, others])
        key = np.ravel_multi_index(tuple(piece.T), state.shape)
        once, first = np.unique(key, return_index=True)
        begins = piece[first]
        step = np.eye(3, dtype=np.int64)[axis]
        from_end, to_end = begins[:, axis] == 0, begins[:, axis] == counts[axis] - 1
        keys = np.concatenate([key, once, once])
        places = np.concatenate(
            [
                at[:, axis],
                np.where(from_end, -np.inf, begins[:, axis]),
                np.where(to_end, np.inf, begins[:, axis] + 1.0),
            ]
        )
        numbers = np.concatenate([crossings, self.node(begins), self.node(begins + step)])
        order = np.lexsort((places, keys))
        keys, places, numbers = keys[order], places[order], numbers[order]
        joined = (keys[1:] == keys[:-1]) & np.isfinite(places[1:]) & np.isfinite(places[:-1])
        joined &= places[1:] > places[:-1]
        middle = np.stack(np.unravel_index(keys[:-1][joined], state.shape), axis=1).astype(float)
        middle[:, axis] = 0.5 * (places[1:][joined] + places[:-1][joined])
        held = self._contains(middle)
        state.reshape(-1)[once] = _CROSSED
        pairs = np.stack([numbers[:-1], numbers[1:]], axis=1)[joined][held]
        return state, (keys[:-1][joined][held], pairs)


def _walls_across(
    axis: int, grid: _Grid, triangles: np.ndarray, cells: np.ndarray, owners: np.ndarray, cell_owners: np.ndarray
) -> tuple[Floats, np.ndarray, np.ndarray]:
    """Walls in the planes across one axis: middles of regions, triangles, and the two owners of each triangle.

    Corner -1 - k of a triangle is middle k.
    """
    ends, beside, faces = _segments(axis, grid, triangles, cells)
    lines = [line for line in range(3) if line != axis]
    crossed = []
    for line in lines:  # faces on both sides of a crossed piece of a line
        piece, across = np.argwhere(grid.states[line] == _CROSSED), 3 - axis - line
        for back in (0, 1):
            face = piece.copy()
            face[:, across] -= back
            crossed.append(face[(face >= 0).all(axis=1) & (face[:, across] < grid.counts[across])])
    shape = np.array(grid.counts)
    shape[axis] += 1
    every = np.concatenate([faces, *crossed])
    keys = np.unique(np.ravel_multi_index(tuple(every.T), tuple(shape)))
    rims = np.stack(np.unravel_index(keys, tuple(shape)), axis=1)
    pairs, of = [ends], [np.searchsorted(keys, np.ravel_multi_index(tuple(faces.T), tuple(shape)))]
    for line in lines:
        across = 3 - axis - line
        for forth in (0, 1):
            piece = rims.copy()
            piece[:, across] += forth
            found, which = grid.stretches(line, piece)
            pairs.append(found)
            of.append(which)
    middles, fans, region = _fans(axis, grid, np.concatenate(pairs), np.concatenate(of))
    sides = _default_owners(axis, cell_owners, rims)[np.concatenate(of)]
    known = np.full((len(middles), 2), -1, np.int64)
    known[region[: len(ends)]] = owners[beside]  # a region takes the owners of the surface beside it
    sides = np.where(known[region] >= 0, known[region], sides)
    whole = _whole_faces(axis, grid, keys, tuple(shape))
    squares, both = _squares(axis, grid, whole), _default_owners(axis, cell_owners, whole)
    return middles, np.concatenate([fans, squares]), np.concatenate([sides, both, both])


def _segments(
    axis: int, grid: _Grid, triangles: np.ndarray, cells: np.ndarray
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


def _fans(axis: int, grid: _Grid, pairs: np.ndarray, face: np.ndarray) -> tuple[Floats, np.ndarray, np.ndarray]:
    """A fan around the middle of each region: middles, triangles that face along the axis, region of each."""
    places = np.concatenate([grid.points, grid.nodes()])
    spot = np.stack([np.repeat(face, 2), pairs.ravel()], axis=1)
    spots, number = np.unique(spot, axis=0, return_inverse=True)
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


def _whole_faces(axis: int, grid: _Grid, rims: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Faces across an axis that are inside the mesh as a whole, shape [k, 3]."""
    whole = np.ones(shape, bool)
    for line in (line for line in range(3) if line != axis):
        across = 3 - axis - line
        inside = grid.states[line] == _INSIDE
        sides = [slice(None)] * 3
        for sides[across] in (slice(0, -1), slice(1, None)):
            whole &= inside[tuple(sides)]
    whole.reshape(-1)[rims] = False
    return np.argwhere(whole)


def _squares(axis: int, grid: _Grid, faces: np.ndarray) -> np.ndarray:
    """Two triangles for each whole face, facing along the axis."""
    u, v = np.eye(3, dtype=np.int64)[(axis + 1) % 3], np.eye(3, dtype=np.int64)[(axis + 2) % 3]
    a, b, c, d = (grid.node(faces + step) for step in (0 * u, u, u + v, v))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _default_owners(axis: int, cell_owners: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Owners of the cells on both sides of faces, shape [k, 2]."""
    step = np.eye(3, dtype=np.int64)[axis]
    return np.stack([cell_owners[tuple((faces - step).T)], cell_owners[tuple(faces.T)]], axis=1)
