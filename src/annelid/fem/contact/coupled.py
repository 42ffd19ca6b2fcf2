"""Linear systems of a solid that touches itself: pairs couple nodes that the pattern of the matrix does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from scipy.linalg import cho_solve, cholesky

from annelid.core.linalg.blas import one_thread
from annelid.fem.contact.pairs import Columns, SurfacePairs
from annelid.fem.kernels.iteration import shifted
from annelid.fem.linalg.gradients import ConjugateGradients
from annelid.fem.linalg.unknowns import NotPositiveDefinite, columns_of
from annelid.fem.model import Model

_TOLERANCE = 1e-6
_ITERATIONS = 400
_ROOM = 10_000_000  # numbers in the columns of pairs that are eliminated; beyond, iterations cost less
_FEWEST, _MOST = 100, 600  # columns that are eliminated in any case, and at most


class CoupledSolver:
    """Solves with the factor of the matrix in its own pattern; what pairs add is eliminated if it is little.

    That is Woodbury's formula, with one more solution for each column. Where there are too many columns for that,
    conjugate gradients are led by the factor of the matrix with the diagonal blocks of pairs.

    Args:
        model: The model; its linear solver makes the factor.
        pairs: The pairs, among its extras.

    Attributes:
        last_iterations: Iterations of the last solution, 0 where nothing was iterated.
    """

    def __init__(self, model: Model, pairs: SurfacePairs) -> None:
        self._model, self._pairs = model, pairs
        self._held = model.unknowns.order.held
        self._shift = wp.float64(0.0)
        self._gradients = ConjugateGradients(self._held)
        self._eliminated: tuple[np.ndarray, np.ndarray] | None = None
        self.last_iterations = 0
        pairs.few = int(np.clip(_ROOM // model.unknowns.count, _FEWEST, _MOST))

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix, with a shift of its diagonal [N/m]."""
        self._shift, self._eliminated = wp.float64(shift), None
        self._model.linear.factor(values, shift=shift)

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]."""
        result = wp.empty_like(right) if out is None else out
        self.last_iterations = 0
        if self._pairs.columns is not None:
            self._model.linear.solve(right, result)
            if len(self._pairs.columns):
                self._eliminate(self._pairs.columns, columns_of(result))
            return result
        solution = columns_of(result)
        solution.zero_()
        maps = self._multiply, self._lead
        if not self._gradients.solve(*maps, columns_of(right), solution, _TOLERANCE, _ITERATIONS):
            raise NotPositiveDefinite
        self.last_iterations = self._gradients.last_iterations
        return result

    def _eliminate(self, columns: Columns, solution: wp.array[Any]) -> None:
        """Go from solutions without pairs to those with them, vec3d of shape [n, k]."""
        nodes, entries, count = columns.nodes, columns.entries, self._model.node_count
        if self._eliminated is None:
            right = wp.array(columns.dense(count), dtype=wp.vec3d, device=self._model.device)
            answers = np.array(self._model.linear.solve(right).numpy())
            small = np.eye(len(columns)) + np.einsum("txr,tsx->rs", entries, answers[nodes], optimize=True)
            with one_thread():
                self._eliminated = answers, cholesky(0.5 * (small + small.T), lower=True)
        answers, root = self._eliminated
        found = solution.numpy().copy()
        forces = cho_solve((root, True), np.einsum("txr,tkx->rk", entries, found[nodes], optimize=True))
        found -= np.einsum("nrx,rk->nkx", answers, forces, optimize=True)
        solution.assign(found)

    def _lead(self, rest: wp.array[Any], better: wp.array[Any]) -> None:
        self._model.linear.solve(rest, better)

    def _multiply(self, vectors: wp.array[Any], products: wp.array[Any]) -> None:
        self._model.assembly.multiply(vectors, products)
        self._pairs.add_product(vectors, products)
        wp.launch(shifted, vectors.shape, [self._shift, self._held, vectors, products], device=self._model.device)
