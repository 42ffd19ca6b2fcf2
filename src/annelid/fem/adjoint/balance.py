"""The adjoint equation at an equilibrium: K z = ∂L/∂x, bordered by actuators that find their own effort.

An actuator with the direction J that follows a law e(s) of its stroke adds e′ J Jᵀ to what pushes back; one that is
held at a stroke leaves z no part along J. Both are one small system for how much more each of them would push.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InexactGradient, InvalidValue
from annelid.fem.actuation.actuator import Drive
from annelid.fem.actuation.limits import Limits
from annelid.fem.adjoint.actuation import Directions
from annelid.fem.linalg.unknowns import NotPositiveDefinite
from annelid.fem.model import Model

_UNBALANCED = 1e-3  # of the largest force: what may be left on a node


@dataclass(frozen=True, eq=False)
class Rest:
    """An equilibrium.

    Attributes:
        positions: Positions of the nodes [m], vec3d of shape [n].
        fraction: Part of the loads and offsets that acts.
        efforts: What actuators exert, shape [k], where some may find their own effort.
        limits: Limits of effort and stroke of each of these.
    """

    positions: wp.array[Any]
    fraction: float = 1.0
    efforts: np.ndarray | None = None
    limits: Sequence[tuple[Limits, Limits]] = ()


class Balance:
    """Solutions of the adjoint equation of a model.

    Args:
        model: The model.
        drives: Actuators that act on it.

    Attributes:
        adjoint: z, vec3d of shape [n]; 0 where nodes are held.
    """

    def __init__(self, model: Model, drives: Sequence[Drive]) -> None:
        self._model, self._directions = model, Directions(model, drives)
        self.adjoint, self._seed, self._pulled = (model.vectors() for _ in range(3))
        self._columns = np.zeros((model.node_count, len(drives), 3))
        self._own, self._reactions = np.zeros(0, int), np.zeros(0)

    def solve(self, rest: Rest, seed: np.ndarray) -> None:
        """Find z, from rates of the loss with the positions of an equilibrium [1/m], shape [n, 3]."""
        model = self._model
        model.assembly.evaluate(rest.positions)
        self._tell_unbalanced(rest.fraction)
        try:
            model.linear.factor(model.assembly.values)
        except NotPositiveDefinite:
            raise InvalidValue(
                "there is no gradient here: the solid is about to buckle, or is in no stable equilibrium; settle it "
                "first, or choose loads below those under which it gives way."
            ) from None
        self._seed.assign(np.where(model.solid.held, 0.0, seed))
        model.linear.solve(self._seed, self.adjoint)
        strokes = self._directions.aim(rest.positions)
        self._columns = self._directions.columns.numpy()
        pairs = zip(self._directions.drives, strokes.tolist(), strict=True)
        laws = [drive.actuator.law(stroke) for drive, stroke in pairs]
        self._held = np.array([stroke.held for _, stroke in rest.limits], bool)
        self._own = self._yielding(laws, rest.efforts)
        self._reactions = np.zeros(len(self._own))
        if len(self._own):
            self._border(np.array([0.0 if law is None else law[1] for law in laws])[self._own])

    def _tell_unbalanced(self, fraction: float) -> None:
        """Warn where forces do not balance, so that there is no equilibrium whose gradient it could be."""
        model = self._model
        forces, loads = model.assembly.forces.numpy(), fraction * model.loads.numpy()
        left = float(np.abs(np.where(model.solid.held, 0.0, forces + loads)).max())
        rounding = 1e-15 * model.stiffest * float(np.ptp(model.solid.nodes, axis=0).max())
        largest = max(float(np.abs(forces).max()), float(np.abs(loads).max()))
        if left > max(_UNBALANCED * largest, rounding):
            warnings.warn(
                f"forces of up to {left:.3g} N are left on nodes, where the largest force is {largest:.3g} N: this is "
                "no equilibrium, and its gradient is that of none; settle first, by a step of the simulation, "
                "fem.Forward(robot).settle(...) or fem.Newton(model).equilibrium(...).",
                InexactGradient,
                stacklevel=4,
            )

    def efforts(self) -> np.ndarray:
        """Rates of the efforts that are given, 0 for others, shape [k]."""
        found = np.einsum("nkx,nx->k", self._columns, self.adjoint.numpy())
        found[self._own] = 0.0
        return np.asarray(found)

    def strokes(self) -> np.ndarray:
        """Rates of the strokes at which actuators are held, 0 for others, shape [k]."""
        found = np.zeros(self._columns.shape[1])
        found[self._own] = np.where(self._held[self._own], -self._reactions, 0.0) if len(self._own) else 0.0
        return found

    def offsets(self, seed: np.ndarray) -> np.ndarray:
        """Rates of where held components are, 0 for others, shape [n, 3]: the loss sees them, and what is free does."""
        model = self._model
        model.assembly.multiply(self.adjoint.reshape((-1, 1)), self._pulled.reshape((-1, 1)))
        pushed = np.einsum("nkx,k->nx", self._columns[:, self._own], self._reactions)
        return np.where(model.solid.held, seed - self._pulled.numpy() + pushed, 0.0)

    def _yielding(self, laws: Sequence[Any], efforts: np.ndarray | None) -> np.ndarray:
        """Numbers of the actuators that find their own effort; a cable that is slack finds none."""
        if efforts is None:
            return np.zeros(0, int)
        one_sided = np.array([drive.actuator.one_sided for drive in self._directions.drives], bool)
        closed = np.array([law is not None for law in laws], bool)
        return np.flatnonzero(closed | (self._held & ~(one_sided & (efforts == 0.0))))

    def _border(self, slopes: np.ndarray) -> None:
        """Let actuators that find their own effort answer, whose efforts have these slopes with their strokes."""
        model, columns = self._model, self._columns[:, self._own]
        free = np.where(model.solid.held[:, None], 0.0, columns)
        right = wp.array(free, dtype=wp.vec3d, device=model.device)
        solved = wp.zeros_like(right)
        model.linear.solve(right, solved)
        answers, alone = solved.numpy(), self.adjoint.numpy()
        softness = np.divide(1.0, slopes, out=np.zeros_like(slopes), where=slopes != 0.0)
        matrix = np.diag(softness) - np.einsum("nkx,nlx->kl", columns, answers)
        self._reactions = np.linalg.solve(matrix, np.einsum("nkx,nx->k", columns, alone))
        self.adjoint.assign(alone + np.einsum("nkx,k->nx", answers, self._reactions))
