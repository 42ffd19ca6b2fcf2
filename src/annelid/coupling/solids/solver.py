"""Stepping a solid and grains together: one implicit step of the solid spans several steps of the grains."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid import fem, grains
from annelid.core.controls import Commanded, resting_commands
from annelid.core.solver import Side
from annelid.core.state import copy_state, new_state, restore_worlds
from annelid.core.variation import unvaried
from annelid.core.weakly import weakly
from annelid.coupling.exchange import Exchange
from annelid.coupling.kernels.gliding import average, glide, reckon, redirect
from annelid.coupling.meeting_solver import MeetingSolver
from annelid.coupling.solids.model import SolidModel
from annelid.coupling.solids.readout import SolidReadout
from annelid.coupling.solids.state import SolidState
from annelid.coupling.solids.stepping import SteppedSolid

_SETTINGS = fem.Settings(tolerance=1e-8, iterations=20)  # what is left of forces is momentum that nobody gets
_BATCH = 16


class SolidSolver(MeetingSolver[SolidModel]):
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
        body = Side(self.solid, lambda state: state.solid, "solid")
        self.readout = SolidReadout(model, body)
        self._meet(body, (1, model.substeps))
        self._state: SolidState | None = None
        self._loaded = False
        self.grains.accompany(weakly(self._follow))

    def commanded(self, state: SolidState) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation, begun=state.solid.begun)

    # --- states ---

    def initial_state(self) -> SolidState:
        """Solid and grains as they were built."""
        model = self.model
        counts = {"guest": len(model.guests), "surface-mass": len(model.nodes)}
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
