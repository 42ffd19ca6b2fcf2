"""The solid's side: backward Euler under what grains did, and what its nodes would do under the same again."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from annelid import fem
from annelid.coupling.kernels.gliding import go_on
from annelid.fem.dynamics import masses
from annelid.fem.linalg.unknowns import NotPositiveDefinite

_FIRST_SHIFT, _LAST_SHIFT = 1e-4, 1e4  # of the mean stiffness on the diagonal
_SAMPLES = 48  # nodes whose compliance is found exactly
_ROUGHLY = 0.05  # tolerance of the largest eigenvalue
_TOGETHER = 1.0 / 3.0  # exponent from how a node yields alone to how it does where all are pushed alike: measured

MOST_YIELDING = 4.0 / 3.0
"""How much more a solid may yield to pushes than its surface does, where bodies hold it between them.

With κ the first over the second, such bodies leave a solid that is otherwise rigid a position whose course in steps
is that of 2 λ³ + (5 κ - 6) λ² + (6 - 5 κ) λ + 2 κ - 2 = 0, and λ = -1 at κ = 4/3: from there on its swings grow.
"""


class SteppedSolid(fem.DynamicSolver):
    """Steps a solid, and foresees its velocities after one more step under the same loads.

    Attributes:
        foreseen: These velocities [m/s], vec3d of shape [n].
    """

    def _prepare(self) -> None:
        model = self.model
        self.foreseen, self._before, self._right = (model.vectors() for _ in range(3))
        matrix = mass_matrix(model.solid)
        rows = ((matrix.indptr, np.int32), (matrix.indices, np.int32), (matrix.data, np.float64))
        self._rows = [wp.array(values.astype(kind), device=self.device) for values, kind in rows]

    def _step(self, state: fem.State, step: int) -> None:
        wp.copy(self._before, state.velocities)
        super()._step(state, step)
        self._foresee(state)

    def _foresee(self, state: fem.State) -> None:
        """Solve (M / T² + K) v = M (2 v_now - v_before) / T², with the matrix where the step has led."""
        arguments = [wp.float64(self.dt**-2), *self._rows, self._before, state.velocities, self._right]
        wp.launch(go_on, self.model.node_count, arguments, device=self.device)
        if factored(self.model):
            self.model.linear.solve(self._right, self.foreseen)
        else:
            wp.copy(self.foreseen, state.velocities)


def factored(model: fem.Model) -> bool:
    """Factor the matrix at hand, shifted until it is positive definite; whether that was possible."""
    shift = 0.0
    while shift <= _LAST_SHIFT:
        try:
            model.linear.factor(model.assembly.values, shift=shift * model.stiffness_scale)
            return True
        except NotPositiveDefinite:
            shift = max(4.0 * shift, _FIRST_SHIFT)
    return False


def mass_matrix(solid: fem.Solid) -> sparse.csr_array:
    """Masses that couple nodes [kg], shape [n, n]."""
    nodes, shares = masses(solid)
    width = nodes.shape[1]
    pairs = np.repeat(nodes, width, axis=1).ravel(), np.tile(nodes, (1, width)).ravel()
    return sparse.csr_array(sparse.coo_array((shares.ravel(), pairs), shape=(solid.node_count,) * 2))


def yielding(model: fem.Model, nodes: np.ndarray, dt: float) -> np.ndarray:
    """By how much an impulse on a node changes its velocity until the end of a step [1/kg], shape [m]; 0 if held.

    Alone, a node is held back by those around it. Where all are pushed alike, it yields as its mass says. Grains push
    several, so that the truth lies between: surfaces that are too stiff shiver on them, those that are too soft sink.

    Args:
        model: The solid, with its inertia.
        nodes: The nodes, shape [m].
        dt: The step [s].
    """
    free = ~model.solid.held[nodes].all(axis=1)
    light = 1.0 / mass_matrix(model.solid).diagonal()[nodes]
    return np.where(free, _alone(model, nodes, dt) ** (1.0 - _TOGETHER) * light**_TOGETHER, 0.0)


def most_yielding(model: fem.Model, nodes: np.ndarray, yields: np.ndarray, dt: float) -> float:
    """How much more a solid at rest yields than its surface does to those pushes for which that is most [-].

    Args:
        model: The solid, with its inertia.
        nodes: Nodes of the surface, shape [m].
        yields: How they yield [1/kg], shape [m], see `yielding`.
        dt: The step [s].
    """
    model.assembly.evaluate(model.rest)
    if not factored(model):
        return 1.0
    weights = np.zeros((model.node_count, 1))
    weights[nodes, 0] = np.where(yields > 0.0, 1.0 / np.sqrt(np.maximum(yields, 1e-300)), 0.0) / dt

    def respond(pushes: np.ndarray) -> np.ndarray:
        right = wp.array(weights * pushes.reshape(-1, 3), dtype=wp.vec3d, device=model.device)
        return np.asarray(weights * model.linear.solve(right).numpy()).ravel()

    size = 3 * model.node_count
    first = np.random.default_rng(0).standard_normal(size)
    whole = LinearOperator((size, size), matvec=respond, dtype=float)
    return float(eigsh(whole, k=1, v0=first, tol=_ROUGHLY, return_eigenvectors=False)[0])


def _alone(model: fem.Model, nodes: np.ndarray, dt: float) -> np.ndarray:
    """How nodes of a solid at rest yield to an impulse on one of them [1/kg], shape [m].

    Found from the diagonal of the matrix of a step, and how much softer than that some of the nodes are.
    """
    model.assembly.evaluate(model.rest)
    diagonal = model.assembly.matrix().diagonal().reshape(-1, 3).mean(axis=1)
    loose = nodes[~model.solid.held[nodes].any(axis=1)]
    if len(loose) == 0 or not factored(model):
        return np.asarray(1.0 / (dt**2 * diagonal[nodes]))
    tried = loose[np.unique(np.linspace(0, len(loose) - 1, _SAMPLES).astype(int))]
    right = np.zeros((model.node_count, len(tried), 3, 3))
    right[tried, np.arange(len(tried))] = np.eye(3)
    columns: Any = wp.array(right.reshape(model.node_count, -1, 3), dtype=wp.vec3d, device=model.device)
    moved = model.linear.solve(columns).numpy().reshape(right.shape)[tried, np.arange(len(tried))]
    softer = np.median(np.trace(moved, axis1=1, axis2=2) / 3.0 * diagonal[tried])
    return np.asarray(softer / (dt**2 * diagonal[nodes]))
