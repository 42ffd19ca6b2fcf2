"""Lines of a grid and the points where a sliced mesh crosses them: which pieces of the lines are inside the mesh.

All coordinates are in cells of the grid; the outermost cells, thus the lines too, reach outwards without end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from annelid.shapes.values import Floats

INSIDE, CROSSED = 1, 2
"""What a piece of a line can be, besides outside the mesh."""


class GridLines:
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
        plain = np.flatnonzero(of == INSIDE)
        step = np.eye(3, dtype=np.int64)[axis]
        ends = [np.stack([self.node(pieces[plain]), self.node(pieces[plain] + step)], axis=1)]
        crossed = np.flatnonzero(of == CROSSED)
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
        state.reshape(-1)[once] = CROSSED
        pairs = np.stack([numbers[:-1], numbers[1:]], axis=1)[joined][held]
        return state, (keys[:-1][joined][held], pairs)
