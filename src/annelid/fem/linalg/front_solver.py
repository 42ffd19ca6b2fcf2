"""Direct solution on the CPU: Cholesky factorisation front by front, after nested dissection."""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.core.linalg.blas import address, one_thread
from annelid.fem.kernels.fronts import MANY, Entries, Tree, factor_kernel, solve_kernel
from annelid.fem.linalg.entries import lower_entries
from annelid.fem.linalg.fronts import stacked
from annelid.fem.linalg.memory import Forgetful
from annelid.fem.linalg.unknowns import Unknowns, columns_of


class FrontSolver(Forgetful):
    """Factors each matrix that it is given.

    Args:
        unknowns: The unknowns.
        single: Whether the factor is kept in single precision: half as dear, good enough to lead an iteration.
    """

    def __init__(self, unknowns: Unknowns, *, single: bool = False) -> None:
        self.unknowns, self.single = unknowns, single
        fronts = unknowns.fronts
        own, edge = 3 * fronts.own_counts, 3 * fronts.edge_counts
        panels = np.concatenate([[0], np.cumsum(own * (own + edge))])
        updates, room = stacked(edge**2, fronts)
        self._tree = Tree()
        for name in ("first", "edge_first", "edges", "places", "child_first", "children"):
            setattr(self._tree, name, _indices(getattr(fronts, name)))
        self._tree.panels, self._tree.updates = (wp.array(a, dtype=wp.int64, device="cpu") for a in (panels, updates))
        self._entries = _entries(unknowns)
        self._type = wp.float32 if single else wp.float64
        self._panels, self._updates = (wp.zeros(int(n), dtype=self._type, device="cpu") for n in (panels[-1], room))
        self._tallest = int((own + edge).max())
        self._bad = wp.zeros(1, dtype=wp.int32, device="cpu")
        letter = "s" if single else "d"
        where = [("lapack", "potrf"), ("blas", "trsm"), ("blas", "syrk")]
        self._routines = [wp.uint64(address(library, letter + name)) for library, name in where]
        self._buffers: dict[int, tuple[np.ndarray, wp.array, wp.array]] = {}

    def factor(self, values: wp.array, *, shift: float = 0.0) -> None:
        """Take a matrix; raises `NotPositiveDefinite` if it is not positive definite."""
        self._bad.zero_()
        begin, end = 0, self.unknowns.fronts.count
        matrix = [self._tree, self._entries, wp.float64(shift), values]
        arguments = [begin, end, *self._routines, *matrix, self._panels, self._updates, self._bad]
        with one_thread():
            wp.launch(factor_kernel(self.single), 1, arguments, device="cpu")
        if int(self._bad.numpy()[0]):
            raise NotPositiveDefinite

    def solve(
        self,
        right: wp.array,
        out: wp.array | None = None,
        *,
        guess: wp.array | None = None,
        tolerance: float | None = None,
    ) -> wp.array:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]; direct, so that a guess would not help."""
        result = wp.empty_like(right) if out is None else out
        vectors, solutions = columns_of(right), columns_of(result)
        lanes = 1 if vectors.shape[1] == 1 else MANY
        packed, rows, work = self._buffers_for(-(-vectors.shape[1] // lanes), lanes)
        packed[-1] = 0.0  # what is left of an earlier one would only become smaller and smaller
        for group, chosen in enumerate(_chunks(vectors.shape[1], lanes)):
            self.unknowns.packed(vectors[:, chosen], _view(packed[group]).transpose())
        scale = self._rounded(packed, rows)
        arguments = [self._tree, self._panels, rows, work]
        wp.launch(solve_kernel(self.single, lanes > 1), len(packed), arguments, device="cpu")
        if self.single:
            np.multiply(rows.numpy(), scale, out=packed)
        for group, chosen in enumerate(_chunks(vectors.shape[1], lanes)):
            self.unknowns.unpacked(_view(packed[group]).transpose(), solutions[:, chosen])
        return result

    def _rounded(self, packed: np.ndarray, rows: wp.array) -> np.ndarray:
        """Right-hand sides in the precision of the factor, and what they were divided by to stay in its range."""
        if not self.single:
            return np.ones(1)
        scale = np.abs(packed).max(axis=1, keepdims=True)
        scale[scale == 0.0] = 1.0
        np.divide(packed, scale, out=rows.numpy(), casting="same_kind")
        return scale

    def _buffers_for(self, groups: int, lanes: int) -> tuple[np.ndarray, wp.array, wp.array]:
        key = groups * lanes
        if key not in self._buffers:
            packed = np.zeros((groups, self.unknowns.count, lanes))
            rows = wp.zeros(packed.shape, dtype=self._type, device="cpu") if self.single else _view(packed)
            work = wp.zeros((groups, self._tallest, lanes), dtype=self._type, device="cpu")
            self._buffers[key] = packed, rows, work
        return self._buffers[key]


def _entries(unknowns: Unknowns) -> Entries:
    """Where the numbers of the stored blocks go: the lower half, into the panels of the fronts of their columns."""
    fronts = unknowns.fronts
    source, front, row, column = lower_entries(unknowns)
    target = column * 3 * fronts.heights[front] + row
    held = np.flatnonzero(~unknowns.free)
    held_front = fronts.front_of(held // 3)
    entries = Entries()
    entries.first = _indices(np.searchsorted(front, np.arange(fronts.count + 1)))
    entries.sources, entries.targets = _indices(source), _indices(target)
    entries.held_first = _indices(np.searchsorted(held_front, np.arange(fronts.count + 1)))
    entries.held = _indices(held - 3 * fronts.first[held_front])
    return entries


def _chunks(count: int, size: int) -> list[slice]:
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


def _indices(values: np.ndarray) -> wp.array:
    return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device="cpu")


def _view(array: np.ndarray) -> wp.array:
    """A Warp array that shares the memory of a NumPy array."""
    return wp.array(array, dtype=wp.float64, device="cpu", copy=False)
