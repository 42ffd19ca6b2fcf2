"""Stepping a solid in motion, by backward Euler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.events import Event
from annelid.core.variation import Parameter
from annelid.fem.actuation.actuator import Drive
from annelid.fem.adjoint.adjoint import SolidAdjoint
from annelid.fem.adjoint.motion import Motion
from annelid.fem.adjustment import Adjustment
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.kept_newton import KeptNewton
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.second_newton import SecondNewton
from annelid.fem.dynamics import Inertia
from annelid.fem.integrators import Integrator, stage_of
from annelid.fem.kernels.motion import tick
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.fem.model import Model
from annelid.fem.newton import Holds, NoEquilibrium, Settings
from annelid.fem.one_by_one import NotFinite
from annelid.fem.parameters import AMONG_BODIES, IN_MOTION, TOUCHING
from annelid.fem.sand.elements import Sand
from annelid.fem.sand.state import SunkIn
from annelid.fem.settling import Settling
from annelid.fem.solid import Solid
from annelid.fem.solver import Solver
from annelid.fem.state import State
from annelid.fem.world import World

_TOUCHING = 100  # iterations of a step that touches: friction and folds may be found node after node
_LED = 30  # the same with a kept factor, which finds friction on the nodes that touch


class DynamicSolver(Solver):
    """Advances a solid in motion, by backward Euler.

    Args:
        model: The model, with `inertia` among its extras.
        inertia: The inertia of its nodes.
        settings: How the equation of a step is solved.
        drives: Actuators whose efforts are commanded; their element sets are among the extras of the model.
        worlds: Number of worlds, see `OneByOne`; None for a solid by itself.
        contacts: What it touches, if the world has obstacles.
        sand: What it sinks into, if the world has a `ResistiveGround`.
    """

    integrator: Integrator = "backward-euler"

    def __init__(
        self,
        model: Model,
        inertia: Inertia,
        *,
        settings: Settings | None = None,
        drives: Sequence[Drive] = (),
        worlds: int | None = None,
        contacts: Contacts | None = None,
        sand: Sand | None = None,
    ) -> None:
        if inertia not in model.extras:
            raise InvalidValue("the model of a motion needs the inertia among its extras.")
        if model.world.integrator != self.integrator:
            raise InvalidValue(
                f"the world has the integrator {model.world.integrator!r}, the solver steps by {self.integrator!r}: "
                "take fem.simulation, which makes both alike."
            )
        needed = stage_of(self.integrator) * model.world.step
        if inertia.dt != needed:
            raise InvalidValue(f"the inertia is made for dt = {inertia.dt:g} s, the world needs {needed:g} s.")
        self.inertia = inertia
        many = _LED if isinstance(model.linear, KeptFactor) else _TOUCHING
        how = settings or Settings(1e-6, 20 if contacts is None else many)
        super().__init__(model, settings=how, drives=drives, worlds=worlds, contacts=contacts, sand=sand)
        self._settling = self._made_settling()

    def _made_settling(self) -> Settling:
        return Settling(self.dt)

    def _prepare(self) -> None:
        """A solid that nothing holds may fly."""

    def collect_events(self, *states: State) -> list[Event]:
        """Besides strains, whether many steps are left unsettled, told once."""
        return super().collect_events(*states) + self._settling.events(states[0])

    def adjoint(self, state: State) -> SolidAdjoint:
        """What runs motions from a state there and back, for gradients; see `core.adjoint.Differentiable`."""
        return SolidAdjoint(self, state, Motion)

    def twin(self, solid: Solid, world: World) -> DynamicSolver:
        """A solver like it, for one solid of the same mesh in another world."""
        inertia = Inertia(solid, world, self.device)
        model, drives, contacts = self._twin_parts(solid, world, [inertia])
        return DynamicSolver(model, inertia, settings=self.newton.settings, drives=drives, contacts=contacts)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        if self.contacts is None:
            return IN_MOTION
        return AMONG_BODIES if self.contacts.bodies else TOUCHING

    def _touching_newton(self, settings: Settings | None) -> TouchingNewton:
        assert self.contacts is not None
        kept = isinstance(self.model.linear, KeptFactor)
        return (KeptNewton if kept else SecondNewton)(self.model, self.contacts, settings)

    def _made_adjustment(self) -> Adjustment:
        return Adjustment(self.model, self.drives, self.inertia, self.contacts)

    def _velocities(self) -> wp.array[Any]:
        return self.model.vectors()

    def _step(self, state: State, step: int) -> None:
        """One step; the few whose equation is not solved to the last digit are counted in `state.unsettled`."""
        with self._passing(state, self.dt), self._touching(state, step):
            done = self._move(state, self.fraction(step + 1))
            if not done and self.contacts is not None:
                self._require_motion(state)
        if not done:
            wp.launch(tick, 1, [1, state.unsettled], device=self.device)

    def _require_motion(self, state: State) -> None:
        """Refuse a step in which nothing moved, nor ever will."""
        assert self.contacts is not None
        why = self.contacts.stuck(self.inertia.starts, state.positions)
        if why is not None:
            raise NoEquilibrium(why, fraction=1.0, residual=float("nan"))

    def _move(self, state: State, fraction: float, holds: Holds | None = None) -> bool:
        """Backward Euler over the time of the inertia; whether its equation is solved to the last digit."""
        self.inertia.begin(state.positions, state.velocities)
        if isinstance(self.newton, TouchingNewton):
            self.newton.approach(self.inertia.starts, state.positions)
        self._look_into_sand(state, begins=True)
        attempt = self.newton.settle(state.positions, fraction, holds)
        if not np.isfinite(attempt.residual):  # free flight has led to where a law has no energy: begin where it was
            wp.copy(state.positions, self.inertia.starts)
            if self.contacts is not None:
                self.contacts.go_back()
            attempt = self.newton.settle(state.positions, fraction, holds)
        if self.sand is not None and np.isfinite(attempt.residual):
            self._look_into_sand(state, begins=False)
            attempt = self.newton.settle(state.positions, fraction, holds)
            self.sand.end(self._sunk(state), state.positions)
        self.inertia.end(state.positions, state.velocities)
        if not np.isfinite(attempt.residual):
            raise NotFinite
        return attempt.done

    def _look_into_sand(self, state: State, *, begins: bool) -> None:
        """Find out what ground that resists does on the way to where positions are: at first, and with what came out.

        What it does depends on where nodes go, and they go where it lets them.
        """
        if self.sand is None:
            return
        if begins:
            self.sand.begin(self._sunk(state), self.inertia.starts)
        self.sand.look(state.positions)

    def _sunk(self, state: State) -> SunkIn:
        assert isinstance(state.sunk, SunkIn)
        return state.sunk
