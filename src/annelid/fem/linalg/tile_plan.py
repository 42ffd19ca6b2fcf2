"""Fronts cut into square tiles: lists of which tiles each stage of an elimination and of a solution works on.

The fronts of one depth are eliminated together, the deepest first, one column of tiles a stage. A front's own unknowns
and those of its edge are each filled up to whole tiles. Only tiles on and below the diagonal are kept, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from annelid.fem.linalg.fronts import Fronts

Stretches = list[tuple[int, int]]
"""First item and number of items of each stage."""


@dataclass(frozen=True, eq=False)
class Items:
    """Work items of all stages.

    Attributes:
        items: What each block works on, shape [k, w].
        stretches: First item and number of items of each stage.
    """

    items: np.ndarray
    stretches: Stretches


class TilePlan:
    """Where tiles lie and in which order they are worked on.

    Args:
        fronts: The fronts.
        tile: Edge of a tile.

    Attributes:
        tile_count: Number of tiles.
        row_count: Tiles of all fronts one below the other, as rows of vectors have them.
        own_count: Tiles on a diagonal that is eliminated.
        levels: Stages of each depth, the deepest first: slices of the lists of stages below.
    """

    def __init__(self, fronts: Fronts, tile: int) -> None:
        self.fronts, self.tile = fronts, tile
        self.own, self.edge = -(-3 * fronts.own_counts // tile), -(-3 * fronts.edge_counts // tile)
        self.height = self.own + self.edge
        self.base = _begins(self.height * (self.height + 1) // 2)
        self.rows = _begins(self.height)
        self.inverse = _begins(self.own)
        self.tile_count, self.row_count, self.own_count = (int(a[-1]) for a in (self.base, self.rows, self.inverse))
        depths = fronts.depths
        self.groups = [np.flatnonzero(depths == depth) for depth in range(int(depths.max()), -1, -1)]
        stages = [(group, k) for group in self.groups for k in range(int(self.own[group].max()))]
        counts = np.cumsum([0, *(int(self.own[group].max()) for group in self.groups)])
        self.levels = [slice(int(a), int(b)) for a, b in zip(counts[:-1], counts[1:], strict=True)]
        self.diagonal = self._items(stages, self._diagonal, 2)
        self.below = self._items(stages, self._below, 2)
        self.rest = self._items(stages, self._rest, 3)
        self.forward = self._items(stages, self._forward, 4)
        self.backward = self._items(stages, self._backward, 4)
        self.edges, self.edge_parts = self._edges()

    def index(self, front: np.ndarray | int, i: np.ndarray | int, j: np.ndarray | int) -> np.ndarray:
        """Number of the tile at row i and column j of a front."""
        return np.asarray(self.base[front] + i * (np.asarray(i) + 1) // 2 + j)

    def place(self, front: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Place of unknowns of fronts, own ones first, when both kinds are filled up to whole tiles."""
        own = 3 * self.fronts.own_counts[front]
        return np.where(unknown < own, unknown, unknown - own + self.tile * self.own[front])

    def entry(self, front: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Where entries of fronts are among the numbers of all tiles."""
        i, j = row // self.tile, column // self.tile
        return (self.index(front, i, j) * self.tile + row % self.tile) * self.tile + column % self.tile

    def fillings(self) -> np.ndarray:
        """Entries on the diagonal that only fill up a tile."""
        size = self.tile * self.own - 3 * self.fronts.own_counts
        front = np.repeat(np.arange(self.fronts.count), size)
        place = np.arange(len(front)) - np.repeat(_begins(size)[:-1], size) + 3 * self.fronts.own_counts[front]
        return self.entry(front, place, place)

    # --- work of one front in one stage, one row an item ---

    def _diagonal(self, f: int, k: int) -> np.ndarray:
        return np.array([[self.index(f, k, k), self.inverse[f] + k]])

    def _below(self, f: int, k: int) -> np.ndarray:
        i = np.arange(k + 1, self.height[f])
        return np.column_stack([self.index(f, i, k), np.full(len(i), self.inverse[f] + k)])

    def _rest(self, f: int, k: int) -> np.ndarray:
        j, i = np.triu_indices(self.height[f] - k - 1)
        i, j = i + k + 1, j + k + 1
        return np.column_stack([self.index(f, i, j), self.index(f, i, k), self.index(f, j, k)])

    def _forward(self, f: int, k: int) -> np.ndarray:
        i = np.arange(k, self.height[f])
        tiles = np.where(i == k, -1, self.index(f, i, k))
        return self._substitution(f, k, tiles, i)

    def _backward(self, f: int, k: int) -> np.ndarray:
        """Stages go from the last own column to the first, all fronts ending with the same stage."""
        column = self.own[f] - 1 - k
        j = np.arange(column, -1, -1)
        tiles = np.where(j == column, -1, self.index(f, column, j))
        return self._substitution(f, int(column), tiles, j)

    def _substitution(self, f: int, k: int, tiles: np.ndarray, rows: np.ndarray) -> np.ndarray:
        same = np.full(len(rows), 1)
        return np.column_stack([same * (self.inverse[f] + k), same * (self.rows[f] + k), tiles, self.rows[f] + rows])

    def _edges(self) -> tuple[Items, np.ndarray]:
        """For each own row of tiles, what the edge takes out of it; one stage a depth."""
        items, parts, stretches, count = [], [], [], 0
        for group in self.groups:
            first = len(items)
            for f in group[self.edge[group] > 0]:
                i = np.arange(self.own[f], self.height[f])
                for k in range(self.own[f]):
                    parts.append(np.column_stack([self.index(f, i, k), self.rows[f] + i]))
                    items.append((self.rows[f] + k, count, count + len(i)))
                    count += len(i)
            stretches.append((first, len(items) - first))
        return Items(_table(items, 3), stretches), np.concatenate([*parts, np.zeros((0, 2), int)])

    def _items(
        self, stages: Iterable[tuple[np.ndarray, int]], work: Callable[[int, int], np.ndarray], width: int
    ) -> Items:
        found, stretches, count = [np.zeros((0, width), int)], [], 0
        for group, k in stages:
            some = [work(int(f), k) for f in group[self.own[group] > k]]
            found += some
            stretches.append((count, sum(len(each) for each in some)))
            count += stretches[-1][1]
        return Items(np.concatenate(found), stretches)


def _begins(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def _table(rows: Sequence[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array(rows, int).reshape(-1, width)
