"""Stepping a solid and grains together: one implicit step of the solid spans several steps of the grains."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid import fem, grains
from annelid.core.controls import Commanded, Control, resting_commands
from annelid.core.events import Event
from annelid.core.scenery import Scenery
from annelid.core.snapshot import Look, Snapshot
from annelid.core.solver import Side
from annelid.core.stability import StepReport
from annelid.core.state import copy_state, new_state, restore_worlds
from annelid.core.variation import unvaried
from annelid.core.weakly import weakly
from annelid.coupling.exchange import Exchange
from annelid.coupling.kernels.commands import hand_on
from annelid.coupling.kernels.gliding import average, glide, reckon, redirect
from annelid.coupling.pictures import Painter, scenery_of_both
from annelid.coupling.solids.model import SolidModel
from annelid.coupling.solids.readout import SolidReadout
from annelid.coupling.solids.state import SolidState
from annelid.coupling.solids.stepping import SteppedSolid

_SETTINGS = fem.Settings(tolerance=1e-8, iterations=20)  # what is left of forces is momentum that nobody gets
_BATCH = 16


class SolidSolver:
    """Advances the state of a model.

    A step is one of the solid. Before it the grains take those that it spans, while the surface of the solid goes on as
    the solid foresees and yields to what pushes it; the solid then takes its step under the mean of these pushes.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        solid: The solver of the solid.
        grains: The solver of grains, guests and rigid bodies.
        readout: What reads states.
    """

    physics = "coupling"
    limitation = SteppedSolid.limitation
    batch = _BATCH
    worlds = 1

    def __init__(self, model: SolidModel, *, threads: int | None = None) -> None:
        self.model, self.device, self.dt = model, model.device, model.dt
        self.solid = SteppedSolid(model.solid, model.inertia, settings=_SETTINGS, drives=model.drives, worlds=1)
        self.grains = grains.Solver(model.grains, threads=threads)
        self._exchange = Exchange(model.guests, model.bed, self.grains, wp.float64)
        count = len(model.nodes)
        self._nodes = wp.array(model.nodes.astype(np.int32), dtype=wp.int32, device=self.device)
        held = model.solid.solid.held[model.nodes]
        self._free = wp.array((~held).astype(float), dtype=wp.vec3d, device=self.device)
        self._impulses, self._forces = (wp.zeros(count, dtype=wp.vec3d, device=self.device) for _ in range(2))
        self._felt, self._jumps = (wp.zeros(count, dtype=wp.vec3, device=self.device) for _ in range(2))
        self.readout = SolidReadout(model, self.solid.readout)
        self._painter = Painter(model.bed.radii, *self.sides, self.readout)
        self._state: SolidState | None = None
        self._loaded = False
        self.grains.accompany(weakly(self._follow))

    @property
    def sides(self) -> tuple[Side, Side]:
        """The solid, and the grains with rigid bodies; see `core.solver.Coupled`."""
        return (
            Side(self.solid, lambda state: state.solid, "solid"),
            Side(self.grains, lambda state: state.grains, "grains"),
        )

    @property
    def controls(self) -> tuple[Control, ...]:
        """Channels of the actuators of the solid, then those of rigid bodies."""
        return self.solid.controls + self.grains.controls

    def commanded(self, state: SolidState) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation, begun=state.solid.begun)

    # --- states ---

    def initial_state(self) -> SolidState:
        """Solid and grains as they were built."""
        model = self.model
        counts = {"guest": len(model.guests), "surface-node": len(model.nodes)}
        sides = {"solid": self.solid.initial_state(), "grains": self.grains.initial_state()}
        commands = resting_commands(self.controls, 1, self.device)
        surface = np.column_stack([model.outline.positions, model.yielding])
        given = {"surface": wp.array(surface, dtype=wp.vec4d, device=self.device), "commands": commands}
        state = new_state(SolidState, counts, self.device, **given, variation=unvaried(self.device), **sides)
        self._exchange.settle(state, state.surface, state.velocities)
        return state

    def reset(self, state: SolidState, mask: wp.array[Any] | None = None) -> None:
        """Bring the world back to its beginning; see `core.solver.Solver`. With a mask the clock goes on."""
        if mask is None:
            copy_state(self._beginning, state)
            self.grains.unbind()
            return
        self.grains.restore(self._beginning.grains, state.grains, mask)
        self.solid.reset(state.solid, mask)
        restore_worlds(self._beginning, state, mask, self._world_of)

    @cached_property
    def _beginning(self) -> SolidState:
        return self.initial_state()

    @cached_property
    def _world_of(self) -> dict[str, wp.array[Any]]:
        counts = (len(self.model.guests), len(self.model.nodes), len(self.controls))
        names = ("guest", "surface-node", "coupled-channel")
        return {
            name: wp.zeros(count, dtype=wp.int32, device=self.device) for name, count in zip(names, counts, strict=True)
        }

    def reserve(self, state: SolidState, places: int, body_places: int) -> None:
        """Give lists room for so many neighbours and bodies, ahead of need: while they grow, steps wait."""
        self.grains.reserve(state.grains, places, body_places)

    # --- steps ---

    def advance(self, state: SolidState, steps: int) -> None:
        """Take steps."""
        self._state = state
        if not self._loaded and self.device.is_cuda:  # kernels cannot be loaded while steps are captured
            self._exchange.load()
            glide.module.load(self.device, block_dim=256)
        self._loaded = True
        if self.device.is_cuda:
            self._exchange.complete(state, state.surface)
        self._hand_on(state)
        for done in range(steps):
            self._impulses.zero_()
            self.grains.advance(state.grains, self.model.substeps)
            self._step_solid(state)
            if self.solid.diverged_at() is not None:  # what is not a number must not get into the lists of grains
                self._skip(state, steps - done - 1)
                return

    def _follow(self, rows: Any) -> None:
        """After a step of the grains: the surface moves on, and guests with it."""
        assert self._state is not None
        state, felt = self._state, (self._forces, self._felt)
        self._exchange.press(state, state.surface, felt)
        moving = (state.surface, state.velocities)
        arguments = [wp.float64(self.model.grain_dt), self._free, state.trend, self._forces, *moving, self._impulses]
        self._exchange.launch(glide, len(self._nodes), arguments, [*moving, state.trend])
        self._exchange.seat(state, rows, *moving)

    def _step_solid(self, state: SolidState) -> None:
        """A step of the solid under what pushed it, and where its surface goes from there."""
        device, count, span, given = self.device, len(self._nodes), wp.float64(self.dt), self.model.pushes.given
        wp.launch(average, count, [span, self._impulses, given, state.contact_forces], device=device)
        self.solid.advance(state.solid, 1)
        solid, moving = state.solid, [state.surface, state.velocities]
        known = [self._nodes, solid.positions, solid.velocities, self.solid.foreseen, given]
        arguments = [span, wp.float64(self.model.lag), *known, *moving]
        wp.launch(reckon, count, [*arguments, state.trend, self._jumps], device=device)
        bed, first = state.grains, self.model.grains.parameters.first_guest
        rows = [bed.names, bed.velocities, bed.forecast, state.last]
        arguments = [first, self._exchange.guests, self._jumps, *rows]
        wp.launch(redirect, self.model.grains.count, arguments, device=device)

    def _skip(self, state: SolidState, steps: int) -> None:
        """Let clocks go on without the rest, after the solid was lost."""
        for clock, more in ((state.solid.clock, steps), (state.grains.clock, steps * self.model.substeps)):
            clock.fill_(int(clock.numpy()[0]) + more)

    def _hand_on(self, state: SolidState) -> None:
        """Give each side its commands, those of rigid bodies in steps of the grains."""
        first, count = 0, len(self.controls)
        for side, steps, target in (
            (self.solid, 1, state.solid.commands),
            (self.grains, self.model.substeps, state.grains.commands),
        ):
            own = len(side.controls)
            if own:
                arguments = [first, count, own, wp.float64(steps), state.commands, target]
                wp.launch(hand_on, (1, own), arguments, device=self.device)
            first += own

    def residual(self, state: SolidState) -> float:
        """By how much one more sweep would change the relative velocity of a contact at most [m/s]."""
        return self.grains.residual(state.grains)

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are."""
        found = [self.solid.diverged_at(), self.grains.diverged_at()]
        steps = [found[0], None if found[1] is None else -(-found[1] // self.model.substeps)]
        return min((step for step in steps if step is not None), default=None)

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self.solid.clear_divergence()
        self.grains.clear_divergence()

    def describe_divergence(self, state: SolidState) -> str:
        """What went wrong on either side, in words."""
        solid, bed = self.solid.describe_divergence(state.solid), self.grains.describe_divergence(state.grains)
        return f"{solid}; {bed}"

    def explain_step(self) -> StepReport:
        """What limits the step at whose ends both sides meet."""
        return self.model.explain_step()

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        return f"coupling-{self.model.substeps}-{self.solid.fingerprint()}-{self.grains.fingerprint()}"

    # --- looking ---

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def snapshot(self, state: SolidState, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    def scenery(self) -> Scenery:
        """What cameras and lidars can see of both sides; see `core.scenery.Visible`."""
        return scenery_of_both(*self.sides)

    def collect_events(self, *states: SolidState) -> list[Event]:
        """Whether strains have left the range in which a material was measured, told once."""
        return self.solid.collect_events(*(state.solid for state in states))
