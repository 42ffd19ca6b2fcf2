"""Fronts cut into square tiles: lists of which tiles each stage of an elimination and of a solution works on.

The fronts of one depth are eliminated together, the deepest first, one column of tiles a stage. A front's own unknowns
and those of its edge are each filled up to whole tiles. Only tiles on and below the diagonal are kept, row by row.

What the elimination does to a matrix it does to ones beside it as well: of a front's columns, L over its own rows and E
over those of its edge, that leaves L⁻¹ and -E L⁻¹, its solution. With it a front is solved in one stage each way,
however many columns it has. Tiles of solutions are kept transposed behind those of the matrix, so that the same
products make them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from annelid.fem.kernels.tile_pivots import DIVIDED, PANEL
from annelid.fem.kernels.tile_products import SQUARE
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
        matrix_count: Number of tiles of the matrix.
        tile_count: Number of tiles, those of solutions included.
        straight: For each tile of a solution, that of the matrix at the same place, whose room it can take later.
        row_count: Tiles of all fronts one below the other, as rows of vectors have them.
        levels: Stages of each depth, the deepest first: slices of the lists of stages below.
    """

    def __init__(self, fronts: Fronts, tile: int) -> None:
        self.fronts, self.tile = fronts, tile
        self.own, self.edge = -(-3 * fronts.own_counts // tile), -(-3 * fronts.edge_counts // tile)
        self.height = self.own + self.edge
        self.base = _begins(self.height * (self.height + 1) // 2)
        self.rows = _begins(self.height)
        self.matrix_count, self.row_count = int(self.base[-1]), int(self.rows[-1])
        self.solved = self.matrix_count + _begins(self.own * (self.own + 1) // 2 + self.own * self.edge)
        self.tile_count = int(self.solved[-1])
        depths = fronts.depths
        self.groups = [np.flatnonzero(depths == depth) for depth in range(int(depths.max()), -1, -1)]
        stages = [(group, k) for group in self.groups for k in range(int(self.own[group].max()))]
        counts = np.cumsum([0, *(int(self.own[group].max()) for group in self.groups)])
        self.levels = [slice(int(a), int(b)) for a, b in zip(counts[:-1], counts[1:], strict=True)]
        self.columns, self.column_parts = self._columns(stages)
        self.rest, self.rest_parts = self._rests(stages)
        self.straight = np.concatenate([self._straight(f) for f in range(fronts.count)])
        self.forward, self.forward_parts = self._products(self._forward)
        self.backward, self.backward_parts = self._products(self._backward)

    def index(self, front: np.ndarray | int, i: np.ndarray | int, j: np.ndarray | int) -> np.ndarray:
        """Number of the tile at row i and column j of a front."""
        return np.asarray(self.base[front] + i * (np.asarray(i) + 1) // 2 + j)

    def solution(self, front: int, i: np.ndarray | int, j: np.ndarray | int) -> np.ndarray:
        """Number of the tile at row i and column j of a front's solution."""
        own, i = self.own[front], np.asarray(i)
        row = np.where(i < own, i * (i + 1) // 2, own * (own + 1) // 2 + (i - own) * own)
        return np.asarray(self.solved[front] + row + j)

    def place(self, front: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Place of unknowns of fronts, own ones first, when both kinds are filled up to whole tiles."""
        own = 3 * self.fronts.own_counts[front]
        return np.where(unknown < own, unknown, unknown - own + self.tile * self.own[front])

    def entry(self, front: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Where entries of fronts are among the numbers of all tiles."""
        i, j = row // self.tile, column // self.tile
        return self.index(front, i, j) * self.tile**2 + self.place_in_tile(row % self.tile, column % self.tile)

    def place_in_tile(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Where numbers of a tile are, in squares."""
        squares = row // SQUARE * (self.tile // SQUARE) + column // SQUARE
        return np.asarray(squares * SQUARE**2 + row % SQUARE * SQUARE + column % SQUARE)

    def ones(self) -> np.ndarray:
        """Entries on diagonals that are 1: those that only fill up a tile, and those that solutions begin with."""
        size = self.tile * self.own - 3 * self.fronts.own_counts
        front = np.repeat(np.arange(self.fronts.count), size)
        place = np.arange(len(front)) - np.repeat(_begins(size)[:-1], size) + 3 * self.fronts.own_counts[front]
        solved = np.concatenate([self.solution(f, k, k) for f, k in enumerate(map(np.arange, self.own))])
        inner = self.place_in_tile(np.arange(self.tile), np.arange(self.tile))
        return np.concatenate([self.entry(front, place, place), (solved[:, None] * self.tile**2 + inner).ravel()])

    # --- elimination ---

    def _below(self, f: int, k: int) -> np.ndarray:
        """Tiles that the one on the diagonal divides: those below it, and those of its row of the solution.

        One row each: the tile, then those left of it in the panel from right to left, or, of the solution, above it.
        """
        i, j = np.arange(k + 1, self.height[f]), np.arange(k + 1)
        found = np.full((len(i) + len(j), PANEL), -1)
        for s in range(k % PANEL + 1):
            found[: len(i), s] = self.index(f, i, k - s)
            found[len(i) :, s] = np.where(j <= k - s, self.solution(f, k - s, j), -1)
        return found

    def _columns(self, stages: Sequence[tuple[np.ndarray, int]]) -> tuple[Items, np.ndarray]:
        """Items are a tile on the diagonal, a stretch of the tiles that it divides, and columns left of it."""
        items, parts, stretches, count = [], [], [], 0
        for group, k in stages:
            first = len(items)
            for f in group[self.own[group] > k]:
                some = self._below(int(f), k)
                ends = [*range(count, count + len(some), DIVIDED), count + len(some)]
                items += [(int(self.index(f, k, k)), begin, end, k % PANEL) for begin, end in pairwise(ends)]
                parts.append(some)
                count += len(some)
            stretches.append((first, len(items) - first))
        return Items(np.array(items, int).reshape(-1, 4), stretches), np.concatenate(parts)

    def _rest(self, f: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the panel that begins with a column: tiles out of which it takes products, how many of each, and these."""
        end = min(k + PANEL, int(self.own[f]))
        j, i = np.triu_indices(self.height[f] - end)
        i, j = i[:, None] + end, j[:, None] + end
        panel = np.arange(k, end)
        matrix = np.stack([self.index(f, i, panel), self.index(f, j, panel)], axis=-1)
        rows, columns = np.meshgrid(np.arange(end, self.height[f]), np.arange(end), indexing="ij")
        rows, columns = rows.reshape(-1, 1), columns.reshape(-1, 1)
        solved = np.stack([self.solution(f, panel, columns), self.index(f, rows, panel)], axis=-1)
        there = panel >= columns
        tiles = np.concatenate([self.index(f, i, j), self.solution(f, rows, columns)])[:, 0]
        counts = np.concatenate([np.full(len(i), len(panel)), there.sum(axis=1)])
        return tiles, counts, np.concatenate([matrix.reshape(-1, 2), solved[there]])

    def _rests(self, stages: Sequence[tuple[np.ndarray, int]]) -> tuple[Items, np.ndarray]:
        """Items are a tile and a stretch of the products that are taken out of it, where a panel ends."""
        items, parts, stretches, count, done = [np.zeros((0, 3), int)], [np.zeros((0, 2), int)], [], 0, 0
        for group, k in stages:
            last = k + 1 == int(self.own[group].max())
            first, done = count, count
            if last or k % PANEL == PANEL - 1:
                begin = k - k % PANEL
                found = [self._rest(int(f), begin) for f in group[self.own[group] > begin]]
                before = sum(len(each) for each in parts)
                ends = before + np.cumsum(np.concatenate([[0], *(counts for _, counts, _ in found)]))
                items.append(np.column_stack([np.concatenate([tiles for tiles, _, _ in found]), ends[:-1], ends[1:]]))
                parts += [products for _, _, products in found]
                done = count + len(items[-1])
            stretches.append((first, done - first))
            count = done
        return Items(np.concatenate(items), stretches), np.concatenate(parts)

    # --- solution: rows of tiles, and what is added up for each ---

    def _straight(self, f: int) -> np.ndarray:
        i, j = np.tril_indices(self.height[f], m=self.own[f])
        return self.index(f, i, j)

    def _forward(self, f: int) -> list[np.ndarray]:
        """Of all rows, the tiles left of the edge and the rows of vectors that they are for."""
        rows = ((i, np.arange(min(i + 1, self.own[f]))) for i in range(self.height[f]))
        return [np.column_stack([self.solution(f, i, j), self.rows[f] + j]) for i, j in rows]

    def _backward(self, f: int) -> list[np.ndarray]:
        """Of own columns, the tiles on and below the diagonal and the rows of vectors that they are for."""
        columns = ((np.arange(j, self.height[f]), j) for j in range(self.own[f]))
        return [np.column_stack([self.index(f, i, j), self.rows[f] + i]) for i, j in columns]

    def _products(self, work: Callable[[int], list[np.ndarray]]) -> tuple[Items, np.ndarray]:
        """Items are rows of vectors, whether they are on an edge, and a stretch of parts; one stage a depth.

        Those with the most parts come first, or others would wait for them.
        """
        items, stretches, parts, count = [np.zeros((0, 4), int)], [], [np.zeros((0, 2), int)], 0
        for group in self.groups:
            found = [(self.rows[f] + i, i >= self.own[f], each) for f in group for i, each in enumerate(work(int(f)))]
            rows, on_edge, some = zip(*found, strict=True)
            ends = count + np.cumsum([0, *map(len, some)])
            table = np.column_stack([rows, on_edge, ends[:-1], ends[1:]])
            items.append(table[np.argsort(ends[:-1] - ends[1:], kind="stable")])
            parts += some
            stretches.append((sum(len(each) for each in items[:-1]), len(table)))
            count = int(ends[-1])
        return Items(np.concatenate(items), stretches), np.concatenate(parts)


def _begins(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])
