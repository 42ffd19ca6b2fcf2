"""Stepping a solid in a `Simulation`: from equilibrium to equilibrium, or in motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, Unsupported
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import copy_state
from annelid.fem.dynamics import Inertia
from annelid.fem.kernels.motion import tick
from annelid.fem.model import Model
from annelid.fem.newton import Newton, NoEquilibrium, Settings
from annelid.fem.pictures import Painter
from annelid.fem.readout import Readout
from annelid.fem.state import State

NO_CONTACT = "A solid touches neither the ground nor other obstacles yet: only what holds it stops it."


def no_obstacles() -> Unsupported:
    """The error for a solid that is given obstacles but no actuators."""
    return Unsupported(
        "a solid without actuators", "touch obstacles", ("springs", "grains", "a fem.Robot"),
        "Make a fem.Robot of the solid and its actuators, and give the obstacles to it: in equilibrium they touch, "
        "in motion they do not yet.",
    )  # fmt: skip


class Solver:
    """Advances a solid from equilibrium to equilibrium; loads may change between steps, through `model`.

    Args:
        model: The model.
        settings: How equilibria are found.

    Attributes:
        readout: What reads states.
    """

    physics = "fem"
    limitation = NO_CONTACT
    worlds = 1
    batch = 1

    def __init__(self, model: Model, *, settings: Settings | None = None) -> None:
        if model.world.obstacles:
            raise no_obstacles()
        self.model, self.device = model, model.device
        self.dt, self.ramp = model.world.dt, model.world.ramp
        self.newton = Newton(model, settings)
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout, self.dt)
        self._trouble: int | None = None
        self._prepare()

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def initial_state(self) -> State:
        """The solid at rest."""
        return State(
            positions=wp.clone(self.model.rest),
            velocities=self._velocities(),
            unsettled=wp.zeros(1, dtype=wp.int64, device=self.device),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
            linear=self.model.linear.memory(self.device),
        )

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        now = int(state.clock.numpy()[0])
        self.model.linear.recall(state.linear)
        try:
            for step in range(now, now + steps):
                if self._trouble is not None:
                    return
                self._step(state, step)
                wp.launch(tick, 1, [1, state.clock], device=self.device)
        finally:
            self.model.linear.remember(state.linear)

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring the solid back to rest; see `core.solver.Solver`. With a mask the clock goes on, and a ramp with it."""
        if mask is not None and not mask.numpy()[0]:
            return
        beginning = self.initial_state()
        if mask is not None:
            wp.copy(beginning.clock, state.clock)
        copy_state(beginning, state)

    def diverged_at(self) -> int | None:
        """The step after which positions were no longer finite, None while all are."""
        return self._trouble

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._trouble = None

    def describe_divergence(self, state: State) -> str:
        """The node that moved furthest, and what may help."""
        moved = np.linalg.norm(state.positions.numpy() - self.model.solid.nodes, axis=1)
        node = int(np.nanargmax(moved))
        return (
            f"node {node} has moved furthest, by {moved[node]:.3g} m; smaller loads, loads that grow over a longer "
            "ramp, a stiffer material or a smaller dt may help"
        )

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        return f"fem-{self.model.fingerprint()}"

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    def _prepare(self) -> None:
        self.model.solid.require_held()

    def _velocities(self) -> wp.array[Any]:
        return wp.zeros(0, dtype=wp.vec3d, device=self.device)

    def _fraction(self, step: int) -> float:
        """Part of the loads that acts after so many steps."""
        return 1.0 if self.ramp == 0.0 else min(1.0, step * self.dt / self.ramp)

    def _step(self, state: State, step: int) -> None:
        before, after = self._fraction(step) if step else 0.0, self._fraction(step + 1)
        try:
            self.newton.equilibrium(state.positions, start=before, goal=after)
        except NoEquilibrium:
            if before != after:
                raise
            self._from_rest(state.positions, after)

    def _from_rest(self, positions: wp.array[Any], goal: float) -> None:
        """After a jump of the loads that was too large for one go; on failure positions are as they were."""
        fresh = wp.clone(self.model.rest)
        self.newton.equilibrium(fresh, goal=goal)
        wp.copy(positions, fresh)


class DynamicSolver(Solver):
    """Advances a solid in motion, by backward Euler.

    Args:
        model: The model, with `inertia` among its extras.
        inertia: The inertia of its nodes.
        settings: How the equation of a step is solved.
    """

    def __init__(self, model: Model, inertia: Inertia, *, settings: Settings | None = None) -> None:
        if inertia not in model.extras:
            raise InvalidValue("the model of a motion needs the inertia among its extras.")
        if inertia.dt != model.world.dt:
            raise InvalidValue(f"the inertia is made for dt = {inertia.dt:g} s, the world for {model.world.dt:g} s.")
        self.inertia = inertia
        super().__init__(model, settings=settings or Settings(1e-6, 20))

    def _prepare(self) -> None:
        """A solid that nothing holds may fly."""

    def _velocities(self) -> wp.array[Any]:
        return self.model.vectors()

    def _step(self, state: State, step: int) -> None:
        """One step; the few whose equation is not solved to the last digit are counted in `state.unsettled`."""
        self.inertia.begin(state.positions, state.velocities)
        attempt = self.newton.settle(state.positions, self._fraction(step + 1))
        self.inertia.end(state.positions, state.velocities)
        if not np.isfinite(attempt.residual):
            self._trouble = step + 1
        elif not attempt.done:
            wp.launch(tick, 1, [1, state.unsettled], device=self.device)
