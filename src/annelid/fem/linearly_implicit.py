"""Motion of a solid by the linearly implicit Euler method: one linear system a step, whatever happens.

A step is one whole step of Newton's method for the equation of backward Euler, from where nodes would fly without
forces. Pressures that cells share, and tensions of threads and fabrics, are unknowns of the linear system beside the
moves, and its matrix has those that the step before has led to: large multiples of small strains where the nodes would
fly would lead astray. What is left of the forces
acts in the next step, which begins with the forces where the nodes are, so that nothing is lost. How far another
solution with the same matrix would move the nodes is the error that is reported.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import warp as wp

from annelid.core.state import new_state
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.kernels.motion import hold
from annelid.fem.model import Model
from annelid.fem.newton import Attempt, Holds, Newton, Settings
from annelid.fem.reinforcing.sets import Reinforcement
from annelid.fem.settling import ROUGH, Settling
from annelid.fem.state import CarriedOneSolve, OneSolve, State
from annelid.fem.tetrahedra import Tetrahedra


class OneSolveNewton(Newton):
    """Takes one whole step of Newton's method.

    Args:
        model: The model.
        settings: Not used: there is nothing to repeat.

    Attributes:
        carried: What the step goes on from, and what it leaves.
    """

    carried: CarriedOneSolve

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        super().__init__(model, settings)
        self._enough = ROUGH * self._size
        foreseeing: list[Tetrahedra | Reinforcement] = [model.tetrahedra, *model.reinforcement]
        self._constrained = [each for each in foreseeing if len(each.foreseen)]
        self._ends = np.cumsum([0, *(len(each.foreseen) for each in self._constrained)]).tolist()

    def settle(self, positions: wp.array[Any], fraction: float = 1.0, holds: Holds | None = None) -> Attempt:
        """Move positions by one linear solution; the step is done if another one would hardly move them."""
        self._shift = 0.0
        self._ramp(fraction)
        self._place(positions, holds or Holds(fraction, self.model.anchors, self.model.offsets))
        wp.copy(self._begin, positions)
        for each, had in zip(self._constrained, self._parts_of(self.carried.foreseen), strict=True):
            each.foresee_as(had)
        self._look(positions, fraction)
        slope = self._direction()
        for each, had in zip(self._constrained, self._parts_of(self.carried.foreseen), strict=True):
            each.foresee(self._step)
            wp.copy(had, each.foreseen)
            each.foresee(None)
        self._add(positions, self._step, 1.0, positions)
        _, left = self._look(positions, fraction, tangent=False)
        self.linear.solve(self._residual, self._step)
        error = self._largest(self._step)
        self.carried.error.fill_(error)
        return Attempt(self._made_stably and error <= self._enough, 1, left if math.isfinite(slope) else math.nan)

    def first(self) -> CarriedOneSolve:
        """What the first step goes on from: a solid at rest."""
        return new_state(CarriedOneSolve, {"world": 1, "constraint": self._ends[-1]}, self.device)

    def _parts_of(self, foreseen: wp.array[Any]) -> list[wp.array[Any]]:
        """What belongs to each of the sets that foresee."""
        return [foreseen[first:end] for first, end in pairwise(self._ends)]

    def _place(self, positions: wp.array[Any], holds: Holds) -> None:
        """Put held components where they belong; free ones follow in the solution, or before it where these jump."""
        arguments = [wp.float64(holds.part), self.model.held, holds.starts, holds.moves, positions, self._jump]
        self._launcher.launch(hold, self.model.node_count, arguments)
        if self._largest(self._jump) > self._enough:
            self._move_held(positions, holds)
        else:
            self._add(positions, self._jump, 1.0, positions)


class LinearlyImplicitSolver(DynamicSolver):
    """Advances a solid in motion by one linear solution a step; `state.solve.error` is the error of the last one."""

    integrator = "linearly-implicit"
    newton: OneSolveNewton

    def _made_newton(self, settings: Settings | None) -> Newton:
        return OneSolveNewton(self.model, settings)

    def _made_settling(self) -> Settling:
        return Settling(self.dt, one_solve=True)

    def _first_solve(self) -> OneSolve:
        return self.newton.first()

    def _move(self, state: State, fraction: float, holds: Holds | None = None) -> bool:
        assert isinstance(state.solve, CarriedOneSolve)
        self.newton.carried = state.solve
        return super()._move(state, fraction, holds)
