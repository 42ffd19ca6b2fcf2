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
from annelid.fem.kernels.tiles import (
    add_at,
    add_rows,
    add_update,
    check_pivots,
    factor_kernels,
    fetch_rows,
    fill_entries,
    solve_kernels,
)
from annelid.fem.linalg.entries import lower_entries
from annelid.fem.linalg.memory import Forgetful
from annelid.fem.linalg.tile_plan import Items, Stretches, TilePlan
from annelid.fem.linalg.unknowns import Unknowns, columns_of

_MANY = 8  # right-hand sides of a group: a tile's width
_THREADS = 64
_LANES = 32  # threads that share a column of an update


class TileSolver(Forgetful):
    """Factors each matrix that it is given, on the device.

    Args:
        unknowns: The unknowns.
        tile: Edge of a tile: larger ones take fewer stages, each of which takes longer.
    """

    def __init__(self, unknowns: Unknowns, *, tile: int = 32) -> None:
        self.unknowns, self.device, self.tile = unknowns, unknowns.crew.device, tile
        plan = self.plan = TilePlan(unknowns.fronts, tile)
        self._unit = wp.array(np.eye(tile), dtype=wp.float64, device=self.device)
        self._find_entries()
        self._lists = {
            name: self._indices(getattr(plan, name).items)
            for name in ("diagonal", "below", "rest", "forward", "backward", "edges")
        }
        self._parts = self._indices(plan.edge_parts)
        self._join()
        self._make_room()

    def _make_room(self) -> None:
        plan, tile = self.plan, self.tile
        self._tiles = self._zeros((plan.tile_count * tile, tile))
        self._numbers = self._tiles.flatten()
        self._inverse = self._zeros((plan.own_count * tile, tile))
        self._bad = wp.zeros(1, dtype=wp.int32, device=self.device)
        self._rows: dict[int, tuple[wp.array[Any], wp.array[Any]]] = {}
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

    def solve(
        self,
        right: wp.array[Any],
        out: wp.array[Any] | None = None,
        *,
        guess: wp.array[Any] | None = None,
        tolerance: float | None = None,
    ) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]; exact, so that a guess would not help."""
        result = wp.empty_like(right) if out is None else out
        vectors = columns_of(right)
        groups = -(-vectors.shape[1] // _MANY)
        if groups not in self._rows:
            shape = (self.plan.row_count * self.tile, groups * _MANY)
            self._rows[groups] = (self._zeros(shape), self._zeros(shape))
        first, second = self._rows[groups]
        first.zero_()
        self.unknowns.packed(vectors, first.transpose(), self._own_rows)
        self._repeat(f"solve-{groups}", lambda: self._solve_stages(groups, first, second))
        self.unknowns.unpacked(first.transpose(), columns_of(result), self._own_rows)
        return result

    # --- stages ---

    def _factor_stages(self) -> None:
        diagonal, below, rest = factor_kernels(self.tile)
        plan, tiles = self.plan, self._tiles
        self._bad.zero_()
        for level, joins in zip(plan.levels, self._joins, strict=True):
            for first, count in joins:  # what the level before left, one child of a front after the other
                arguments = [self.tile, first, self._join_items, self._edge_places, self._parent_places, self._numbers]
                wp.launch(add_update, (count, _LANES), arguments, device=self.device)
            for stage in range(level.start, level.stop):
                self._launch(diagonal, plan.diagonal, "diagonal", stage, [self._unit, tiles, self._inverse])
                self._launch(below, plan.below, "below", stage, [self._inverse, tiles])
                self._launch(rest, plan.rest, "rest", stage, [tiles])
        arguments = [self.tile, self._lists["diagonal"], tiles, self._bad]
        wp.launch(check_pivots, (plan.own_count, self.tile), arguments, device=self.device)

    def _solve_stages(self, groups: int, first: wp.array[Any], second: wp.array[Any]) -> None:
        forward, take_edges, backward = solve_kernels(self.tile, _MANY)
        plan = self.plan
        for number, level in enumerate(plan.levels):
            for stage in range(level.start, level.stop):
                arguments = [self._inverse, self._tiles, first, second]
                self._launch(forward, plan.forward, "forward", stage, arguments, groups)
            for begin, count in self._edge_stretches[number]:
                self._exchange(add_rows, begin, count, first)
        for number, level in reversed(list(enumerate(plan.levels))):
            begin = self._edge_stretches[number][0][0] if self._edge_stretches[number] else 0
            self._exchange(fetch_rows, begin, sum(count for _, count in self._edge_stretches[number]), first)
            self._launch(take_edges, plan.edges, "edges", number, [self._parts, self._tiles, first, second], groups)
            for stage in range(level.start, level.stop):
                arguments = [self._inverse, self._tiles, second, first]
                self._launch(backward, plan.backward, "backward", stage, arguments, groups)

    def _exchange(self, kernel: Any, begin: int, count: int, vectors: wp.array[Any]) -> None:
        if count:
            arguments = [begin, self._edge_rows, self._parent_rows, vectors]
            wp.launch(kernel, (count, vectors.shape[1]), arguments, device=self.device)

    def _launch(
        self, kernel: Any, items: Items, name: str, stage: int, arguments: list[Any], groups: int | None = None
    ) -> None:
        first, count = items.stretches[stage]
        if count:
            blocks = count if groups is None else (count, groups)
            inputs = [first, self._lists[name], *arguments]
            wp.launch_tiled(kernel, dim=blocks, inputs=inputs, block_dim=_THREADS, device=self.device)

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
        self._ones = self._indices(np.concatenate([diagonal[held], plan.fillings()]))
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
        self._edge_rows = self._indices(plan.rows[child] * self.tile + mine)
        self._parent_rows = self._indices(plan.rows[parent] * self.tile + theirs)
        ends = np.repeat(begin[1:], size)
        self._join_items = self._indices(
            np.column_stack([plan.base[child], plan.base[parent], np.arange(len(child)), ends])
        )
        self._edge_stretches = [
            _stretches(fronts.depths[child] == depth, ranks[child]) for depth in range(int(fronts.depths.max()), -1, -1)
        ]
        self._joins: list[Stretches] = [[], *self._edge_stretches[:-1]]

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device=self.device)

    def _zeros(self, shape: int | tuple[int, ...]) -> wp.array[Any]:
        return wp.zeros(shape, dtype=wp.float64, device=self.device)


def _stretches(chosen: np.ndarray, ranks: np.ndarray) -> Stretches:
    """First place and number of those chosen, for each rank that they have, in an order by ranks."""
    places = np.flatnonzero(chosen)
    first = [places[ranks[places] == rank] for rank in np.unique(ranks[places])]
    return [(int(some[0]), len(some)) for some in first]
