"""Linear systems of a solid: which unknowns there are, the interface of what solves them, and the choice of one.

Matrices come as the stored blocks of an `Assembly`, vectors as nodal vectors; both stay on the device. Components of
nodes that are held take no part: they are 0 in every solution.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import warp as wp
from scipy import sparse

from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.core.linalg.dissection import dissect, operations, sweep
from annelid.core.replay import Crew, Launcher
from annelid.fem.assembly import Pattern
from annelid.fem.kernels.linear import Order, pack, unpack
from annelid.fem.linalg.fronts import numbered
from annelid.fem.linalg.memory import FactorMemory

__all__ = ["Linear", "LinearSolver", "NotPositiveDefinite", "Unknowns"]


class Linear(Protocol):
    """What Newton's method asks of a linear solver."""

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix; raises `NotPositiveDefinite` if it is not positive definite.

        Args:
            values: Stored blocks [N/m], mat33d of shape [b].
            shift: Added to the diagonal [N/m].
        """
        ...

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]."""
        ...


class LinearSolver(Linear, Protocol):
    """Solves with one matrix after the other, all of one pattern."""

    unknowns: Unknowns

    def memory(self, device: wp.Device) -> FactorMemory:
        """A memory of nothing, as before the first matrix."""
        ...

    def remember(self, memory: FactorMemory) -> None:
        """Write what the solver carries from one matrix to the next into a memory."""
        ...

    def recall(self, memory: FactorMemory) -> None:
        """Go on as the solver did that wrote this memory."""
        ...


class Unknowns:
    """The free components of the nodes, in an order in which they are eliminated with little work.

    Args:
        pattern: Blocks of the matrices.
        points: Positions of the nodes at rest [m], shape [n, 3].
        held: Components that do not move, shape [n, 3].
        crew: Where it is computed.

    Attributes:
        count: Number of unknowns: three a node that is not held altogether.
        fronts: What is eliminated together; its vertices are nodes with a free component.
    """

    def __init__(self, pattern: Pattern, points: np.ndarray, held: np.ndarray, crew: Crew) -> None:
        self.crew, self.pattern, self.held = crew, pattern, held
        free = np.flatnonzero(~held.all(axis=1))
        places = np.full(pattern.node_count, -1, np.int32)
        places[free] = np.arange(len(free))
        rows, columns = places[pattern.rows], places[pattern.columns]
        inside = (rows >= 0) & (columns >= 0)
        graph = _graph(rows[inside], columns[inside], len(free))
        found = dissect(graph, points[free])
        if not crew.device.is_cuda:  # where many fronts are eliminated at once, a chain of them is no good
            found = min(found, sweep(graph, points[free]), key=operations)
        order, self.fronts = numbered(found)
        self.count = 3 * len(free)
        places[free[order]] = np.arange(len(free))
        self.order = Order()
        self.order.places = self._indices(places)
        self.order.held = self._indices(held @ np.array([1, 2, 4]))
        self.order.nodes = self._indices(free[order])
        self._in_order = self._indices(np.arange(self.count))
        self._launcher = Launcher(crew.device, kept=8)  # each keeps its vectors

    @property
    def node_count(self) -> int:
        """Number of nodes, held ones included."""
        return self.pattern.node_count

    @property
    def free(self) -> np.ndarray:
        """Which unknowns are free, in their order: nodes can be held along some axes only; shape [count]."""
        return np.asarray(~self.held[self.order.nodes.numpy()].ravel())

    def packed(self, vectors: wp.array[Any], out: wp.array[Any], rows: wp.array[Any] | None = None) -> None:
        """Free components of nodal vectors, vec3d of shape [n, k], into rows [k, ...], in order or at these places."""
        size = (self.count // 3, vectors.shape[1])
        places = self._in_order if rows is None else rows
        self._launcher.launch(pack, size, [0, self.order, places, vectors, out])

    def unpacked(self, packed: wp.array[Any], out: wp.array[Any], rows: wp.array[Any] | None = None) -> None:
        """The inverse of `packed`."""
        places = self._in_order if rows is None else rows
        self._launcher.launch(unpack, out.shape, [0, self.order, places, packed, out])

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device=self.crew.device)


def columns_of(vectors: wp.array[Any]) -> wp.array[Any]:
    """Nodal vectors as an array of shape [n, k], whether they are one or many."""
    return vectors if vectors.ndim == 2 else vectors.reshape((len(vectors), 1))


def _graph(rows: np.ndarray, columns: np.ndarray, count: int) -> sparse.csr_array:
    ones = np.ones(2 * len(rows), np.int8)
    both = (np.concatenate([rows, columns]), np.concatenate([columns, rows]))
    return sparse.csr_array(sparse.coo_array((ones, both), shape=(count, count)))
