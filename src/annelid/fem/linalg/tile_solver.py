"""Direct solution on CUDA: Cholesky factorisation of many fronts at once in square tiles, out of captured graphs.

It runs on the CPU too, slowly, so that it can be tested there.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import warp as wp

from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.core.replay import Graphs
from annelid.fem.kernels.tile_pivots import DIVIDED, column_kernel
from annelid.fem.kernels.tile_products import BLOCK, rest_kernel
from annelid.fem.kernels.tile_solution import SHARES, gather_rows, sum_kernel, transpose_tiles
from annelid.fem.kernels.tiles import add_at, add_update, fill_entries
from annelid.fem.linalg.entries import lower_entries
from annelid.fem.linalg.memory import Forgetful
from annelid.fem.linalg.tile_plan import Stretches, TilePlan
from annelid.fem.linalg.unknowns import Unknowns, columns_of

_MANY = 8  # right-hand sides of a group: a tile's width
_WARP = 32
_LANES = 32  # threads that share a row of an update


class TileSolver(Forgetful):
    """Factors each matrix that it is given, on the device.

    Args:
        unknowns: The unknowns.
        tile: Edge of a tile, 8, 16 or 32: a warp factors one, and is shared evenly by sums of small ones.
    """

    def __init__(self, unknowns: Unknowns, *, tile: int = 32) -> None:
        self.unknowns, self.device, self.tile = unknowns, unknowns.crew.device, tile
        plan = self.plan = TilePlan(unknowns.fronts, tile)
        self._find_entries()
        self._lists = {
            name: self._indices(getattr(plan, name).items) for name in ("columns", "rest", "forward", "backward")
        }
        self._column_parts, self._rest_parts = map(self._indices, (plan.column_parts, plan.rest_parts))
        self._forward_parts, self._backward_parts = map(self._indices, (plan.forward_parts, plan.backward_parts))
        self._straight = self._indices(plan.straight)
        self._join()
        self._make_room()

    def _make_room(self) -> None:
        plan, tile = self.plan, self.tile
        self._tiles = self._zeros((plan.tile_count * tile, tile))
        self._numbers = self._tiles.flatten()
        self._bad = wp.zeros(1, dtype=wp.int32, device=self.device)
        self._rows: dict[int, tuple[wp.array[Any], wp.array[Any], wp.array[Any]]] = {}
        self._graphs = Graphs(self.device)

    def twin(self) -> TileSolver:
        """Another solver for matrices of the same pattern, with a factor of its own."""
        other = copy(self)
        other._make_room()
        return other

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix; raises `NotPositiveDefinite` if it is not positive definite."""
        self._tiles.zero_()
        wp.launch(
            fill_entries, len(self._sources), [self._sources, self._targets, values, self._numbers], device=self.device
        )
        self._add(self._ones, 1.0)
        if shift:
            self._add(self._diagonals, shift)
        self._repeat("factor", self._factor_stages)
        if int(self._bad.numpy()[0]):
            raise NotPositiveDefinite

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]."""
        result = wp.empty_like(right) if out is None else out
        vectors = columns_of(right)
        many = 1 if vectors.shape[1] == 1 else _MANY
        groups = -(-vectors.shape[1] // many)
        key = groups * many
        if key not in self._rows:
            rows = self._zeros((2 * self.plan.row_count * self.tile, key))
            self._rows[key] = rows, rows[: len(rows) // 2], rows.transpose()
        rows, begin, columns = self._rows[key]
        begin.zero_()  # or rows that only fill up tiles would keep what was not a number once
        self.unknowns.packed(vectors, columns, self._own_rows)
        self._repeat(f"solve-{key}", lambda: self._solve_stages(groups, many, rows))
        self.unknowns.unpacked(columns, columns_of(result), self._own_rows)
        return result

    # --- stages ---

    def _factor_stages(self) -> None:
        plan, tiles, lists = self.plan, self._tiles, self._lists
        self._bad.zero_()
        for level, joins in zip(plan.levels, self._joins, strict=True):
            for first, count in joins:  # what the level before left, one child of a front after the other
                arguments = [self.tile, first, self._join_items, self._edge_places, self._parent_places, self._numbers]
                wp.launch(add_update, (count, _LANES), arguments, device=self.device)
            for stage in range(level.start, level.stop):
                first, count = plan.columns.stretches[stage]
                arguments = [first, lists["columns"], self._column_parts, tiles, self._bad]
                self._launch(column_kernel(self.tile), count, _WARP * (1 + DIVIDED), arguments)
                first, count = plan.rest.stretches[stage]
                self._launch(rest_kernel(self.tile), count, _WARP, [first, lists["rest"], self._rest_parts, tiles])
        count, arguments = len(plan.straight), [self.tile, plan.matrix_count, self._straight, self._numbers]
        wp.launch(transpose_tiles, (count, self.tile, self.tile), arguments, device=self.device)

    def _launch(self, kernel: Any, count: int, threads: int, arguments: list[Any]) -> None:
        """Launch a kernel with so many threads an item; on the CPU one thread does all of it."""
        if count:
            cuda = self.device.is_cuda
            block = max(threads, BLOCK) if cuda else 1
            wp.launch(kernel, (count, threads if cuda else 1), arguments, device=self.device, block_dim=block)

    def _solve_stages(self, groups: int, many: int, rows: wp.array[Any]) -> None:
        plan, halfway = self.plan, self.plan.row_count * self.tile
        for stage, (first, count) in enumerate(self._gathers):
            if count:
                arguments = [first, self._gathered, self._begins, self._from_children, rows]
                wp.launch(gather_rows, (count, groups * many), arguments, device=self.device)
            lists = [self._lists["forward"], self._forward_parts, self._every_row]
            self._sum(plan.forward.stretches[stage], halfway, lists, groups, many, rows)
        for stage in reversed(range(len(plan.levels))):
            lists = [self._lists["backward"], self._backward_parts, self._solved_rows]
            self._sum(plan.backward.stretches[stage], 0, lists, groups, many, rows)

    def _sum(
        self, stretch: tuple[int, int], halfway: int, lists: list[Any], groups: int, many: int, rows: wp.array[Any]
    ) -> None:
        """Sums of a stage; those of own rows go `halfway` further."""
        first, count = stretch
        threads = SHARES * self.tile if self.device.is_cuda else 1
        arguments = [first, halfway, *lists, self._begins, self._from_children, self._tiles, rows]
        kernel = sum_kernel(self.tile, many)
        wp.launch(kernel, (count, groups, threads), arguments, device=self.device, block_dim=threads)

    def _repeat(self, name: str, work: Callable[[], None]) -> None:
        """Do some launches, on CUDA out of a graph from the second time on."""
        if self.device.is_cuda:
            self._graphs.run(name, work)
        else:
            work()

    def _add(self, targets: wp.array[Any], amount: float) -> None:
        wp.launch(add_at, len(targets), [targets, wp.float64(amount), self._numbers], device=self.device)

    # --- lists ---

    def _find_entries(self) -> None:
        """Where the numbers of a matrix go, and where own unknowns are among the rows of vectors."""
        fronts, plan = self.unknowns.fronts, self.plan
        sources, front, row, column = lower_entries(self.unknowns)
        self._sources = self._indices(sources)
        self._targets = self._indices(plan.entry(front, plan.place(front, row), plan.place(front, column)))
        unknown = np.arange(self.unknowns.count)
        front = fronts.front_of(unknown // 3)
        place = unknown - 3 * fronts.first[front]
        diagonal = plan.entry(front, place, place)
        held = ~self.unknowns.free
        self._diagonals = self._indices(diagonal)
        self._ones = self._indices(np.concatenate([diagonal[held], plan.ones()]))
        self._own_rows = self._indices(plan.rows[front] * self.tile + place)

    def _join(self) -> None:
        """How edges lie in parents, by depth and, among the children of a front, one after the other."""
        fronts, plan = self.unknowns.fronts, self.plan
        parents, ranks = fronts.parents, fronts.ranks
        order = np.lexsort((ranks, -fronts.depths))
        order = order[fronts.edge_counts[order] > 0]
        size = 3 * fronts.edge_counts[order]
        child = np.repeat(order, size)
        begin = np.concatenate([[0], np.cumsum(size)])
        within = np.arange(len(child)) - np.repeat(begin[:-1], size)
        parent = parents[child]
        edge = fronts.edge_first[child] + within // 3
        mine = self.tile * plan.own[child] + within
        theirs = plan.place(parent, 3 * fronts.places[edge] + within % 3)
        self._edge_places, self._parent_places = self._indices(mine), self._indices(theirs)
        self._pass_on(plan.rows[child] * self.tile + mine, plan.rows[parent] * self.tile + theirs)
        begins = np.repeat(begin[:-1], size)
        self._join_items = self._indices(
            np.column_stack([plan.base[child], plan.base[parent], np.arange(len(child)), begins])
        )
        self._joins: list[Stretches] = [
            _stretches(fronts.depths[child] == depth + 1, ranks[child]) for depth in range(len(plan.groups) - 1, -1, -1)
        ]

    def _pass_on(self, rows: np.ndarray, parent_rows: np.ndarray) -> None:
        """How vectors go from rows on edges to those of parents, and where rows on edges find their solution."""
        plan, size = self.plan, self.plan.row_count * self.tile
        order = np.argsort(parent_rows, kind="stable")
        counts = np.bincount(parent_rows, minlength=size)
        self._begins = self._indices(np.concatenate([[0], np.cumsum(counts)]))
        self._from_children = self._indices(rows[order])
        front = np.repeat(np.arange(len(plan.height)), plan.height * self.tile)
        own = np.arange(size) - plan.rows[front] * self.tile < plan.own[front] * self.tile
        gathered = [
            np.flatnonzero(own & (counts > 0) & (self.unknowns.fronts.depths[front] == depth))
            for depth in range(len(plan.groups) - 1, -1, -1)
        ]
        ends = np.cumsum([0, *map(len, gathered)])
        self._gathers = [(int(a), int(b - a)) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        self._gathered = self._indices(np.concatenate(gathered))
        owners = np.arange(size)
        owners[rows] = parent_rows
        while not own[owners[rows]].all():  # from parent to parent, up to the front that eliminates it
            owners = owners[owners]
        self._every_row = self._indices(np.arange(size))
        self._solved_rows = self._indices(np.where(own, size + np.arange(size), owners))

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device=self.device)

    def _zeros(self, shape: int | tuple[int, ...]) -> wp.array[Any]:
        return wp.zeros(shape, dtype=wp.float64, device=self.device)


def _stretches(chosen: np.ndarray, ranks: np.ndarray) -> Stretches:
    """First place and number of those chosen, for each rank that they have, in an order by ranks."""
    places = np.flatnonzero(chosen)
    first = [places[ranks[places] == rank] for rank in np.unique(ranks[places])]
    return [(int(some[0]), len(some)) for some in first]
