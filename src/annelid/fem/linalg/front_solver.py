"""Direct solution on the CPU: Cholesky factorisation front by front, after nested dissection."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import warp as wp
from scipy.linalg import blas

from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.core.linalg.blas import address, one_thread
from annelid.core.replay import Launcher
from annelid.fem.kernels.fronts import MANY, Entries, Tree, factor_kernel, solve_kernel
from annelid.fem.linalg.entries import lower_entries
from annelid.fem.linalg.fronts import shared_out, stacked
from annelid.fem.linalg.memory import Forgetful
from annelid.fem.linalg.unknowns import Unknowns, columns_of

_WORTH_SHARING = 1e6  # multiplications of a factor for which another thread is worth waking


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
        work = own**3 / 6 + own**2 * edge / 2 + own * edge**2 / 2
        groups = shared_out(work, fronts, unknowns.crew.threads if work.sum() > _WORTH_SHARING else 1)
        updates, room = stacked(edge**2, fronts, groups)
        self._groups = [_indices(group) for group in groups]
        self._tree = Tree()
        for name in ("first", "edge_first", "edges", "places", "child_first", "children"):
            setattr(self._tree, name, _indices(getattr(fronts, name)))
        self._tree.panels, self._tree.updates = (wp.array(a, dtype=wp.int64, device="cpu") for a in (panels, updates))
        self._entries = _entries(unknowns)
        self._type = wp.float32 if single else wp.float64
        self._panels, self._updates = (wp.zeros(int(n), dtype=self._type, device="cpu") for n in (panels[-1], room))
        self._all, self._none = _indices(np.arange(fronts.count)), _indices(np.zeros(0))
        self._tallest = int((own + edge).max())
        self._bad = wp.zeros(1, dtype=wp.int32, device="cpu")
        letter = "s" if single else "d"
        where = [("lapack", "potrf"), ("blas", "trsm"), ("blas", "syrk")]
        self._routines = [wp.uint64(address(library, letter + name)) for library, name in where]
        self._buffers: dict[int, tuple[np.ndarray, wp.array[Any], wp.array[Any]]] = {}
        self._launcher = Launcher(wp.get_device("cpu"))

    def twin(self) -> FrontSolver:
        """Another solver for matrices of the same pattern, with a factor of its own."""
        return FrontSolver(self.unknowns, single=self.single)

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix; raises `NotPositiveDefinite` if it is not positive definite."""
        self._bad.zero_()
        matrix = [self._tree, self._entries, wp.float64(shift), values]
        arguments = [*self._routines, *matrix, self._panels, self._updates, self._bad]
        *apart, above = ([group, *arguments] for group in self._groups)
        with one_thread():
            self._at_once(factor_kernel(self.single), [(1, each) for each in apart])
            self._launcher.launch(factor_kernel(self.single), 1, above)
        if int(self._bad.numpy()[0]):
            raise NotPositiveDefinite

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]."""
        result = wp.empty_like(right) if out is None else out
        vectors, solutions = columns_of(right), columns_of(result)
        lanes = 1 if vectors.shape[1] == 1 else MANY
        packed, rows, work = self._buffers_for(-(-vectors.shape[1] // lanes), lanes)
        packed[-1] = 0.0  # what is left of an earlier one would only become smaller and smaller
        for group, chosen in enumerate(_chunks(vectors.shape[1], lanes)):
            self.unknowns.packed(vectors[:, chosen], _view(packed[group]).transpose())
        scale = self._rounded(packed, rows)
        self._substitute(self._all, self._all, rows, work)
        if self.single:
            np.multiply(rows.numpy(), scale, out=packed)
        for group, chosen in enumerate(_chunks(vectors.shape[1], lanes)):
            self.unknowns.unpacked(_view(packed[group]).transpose(), solutions[:, chosen])
        return result

    def lower(self, right: wp.array[Any]) -> np.ndarray:
        """L⁻¹ of a nodal vector, vec3d of shape [n, 1], for A = L Lᵀ; shape [count]."""
        packed, rows, work = self._buffers_for(1, 1)
        self.unknowns.packed(right, _view(packed[0]).transpose())
        scale = self._rounded(packed, rows)
        self._substitute(self._all, self._none, rows, work)
        return np.array((rows.numpy() * scale).ravel())

    def upper(self, halfway: np.ndarray, out: wp.array[Any]) -> None:
        """L⁻ᵀ of what `lower` led to, shape [count], as a nodal vector, vec3d of shape [n, 1]."""
        packed, rows, work = self._buffers_for(1, 1)
        packed[0, :, 0] = halfway
        scale = self._rounded(packed, rows)
        self._substitute(self._none, self._all, rows, work)
        np.multiply(rows.numpy(), scale, out=packed)
        self.unknowns.unpacked(_view(packed[0]).transpose(), out)

    def roots(self, nodes: np.ndarray) -> np.ndarray:
        """L⁻¹ of unit forces on nodes along each axis, shape [3 t, count]: their products are blocks of the inverse.

        Nothing is computed but on the ways of these nodes through the tree. Columns of held components are 0.
        """
        fronts, places = self.unknowns.fronts, self.unknowns.order.places.numpy()[nodes]
        columns = np.zeros((self.unknowns.count, 3 * len(nodes)), np.float32 if self.single else np.float64)
        free = np.flatnonzero(~self.unknowns.held[nodes].ravel())
        columns[(3 * places[:, None] + np.arange(3)).ravel()[free], free] = 1.0
        panels, begin = self._panels.numpy(), self._tree.panels.numpy()
        trsm = blas.strsm if self.single else blas.dtrsm
        with one_thread():
            for front in fronts.above(places):
                own = slice(3 * fronts.first[front], 3 * fronts.first[front + 1])
                edge = fronts.edges[fronts.edge_first[front] : fronts.edge_first[front + 1]]
                width, panel = own.stop - own.start, panels[begin[front] : begin[front + 1]]
                lower = panel.reshape(width, -1).T  # as Fortran has it
                solved = trsm(1.0, lower[:width], columns[own].T, side=1, lower=1, trans_a=1).T
                columns[own] = solved
                columns[(3 * edge[:, None] + np.arange(3)).ravel()] -= lower[width:] @ solved
        return np.ascontiguousarray(columns.T)

    def _substitute(self, up: wp.array[Any], down: wp.array[Any], rows: wp.array[Any], work: wp.array[Any]) -> None:
        """Replace groups of right-hand sides by solutions, each thread of the crew some of the groups."""
        kernel = solve_kernel(self.single, rows.shape[2] > 1)
        arguments = [self._tree, up, down, self._panels, rows, work]
        crew = self.unknowns.crew
        edges = np.linspace(0, len(rows), min(crew.threads, len(rows)) + 1).astype(int).tolist()
        self._at_once(kernel, [(high - low, [low, *arguments]) for low, high in pairwise(edges)])

    def _at_once(self, kernel: Any, sizes: Sequence[tuple[int, list[Any]]]) -> None:
        """Launch a kernel with several sizes and arguments, each on a thread of the crew."""
        pool = self.unknowns.crew.pool
        if len(sizes) == 1 or pool is None:
            for count, arguments in sizes:
                self._launcher.launch(kernel, count, arguments)
            return
        launches = [wp.launch(kernel, *each, device="cpu", record_cmd=True) for each in sizes]
        others = [pool.submit(launch.launch) for launch in launches[1:]]
        launches[0].launch()
        for other in others:
            other.result()

    def _rounded(self, packed: np.ndarray, rows: wp.array[Any]) -> np.ndarray:
        """Right-hand sides in the precision of the factor, and what they were divided by to stay in its range."""
        if not self.single:
            return np.ones(1)
        scale = np.abs(packed).max(axis=1, keepdims=True)
        scale[scale == 0.0] = 1.0
        np.divide(packed, scale, out=rows.numpy(), casting="same_kind")
        return scale

    def _buffers_for(self, groups: int, lanes: int) -> tuple[np.ndarray, wp.array[Any], wp.array[Any]]:
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


def _indices(values: np.ndarray) -> wp.array[Any]:
    return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device="cpu")


def _view(array: np.ndarray) -> wp.array[Any]:
    """A Warp array that shares the memory of a NumPy array."""
    return wp.array(array, dtype=wp.float64, device="cpu", copy=False)
