"""Stepping a soft body and grains together, whatever the body is made of: commands, pictures, and what goes wrong."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.controls import Commanded, Control
from annelid.core.events import Event
from annelid.core.model_solver import ModelSolver
from annelid.core.scenery import Scenery
from annelid.core.solver import Controllable, Eventful, Side
from annelid.coupling.kernels.commands import hand_on
from annelid.coupling.meeting_model import Among
from annelid.coupling.pictures import Painter, scenery_of_both
from annelid.coupling.readout import Readout

M = TypeVar("M", bound=Among)


class MeetingSolver(ModelSolver[M, Painter]):
    """A solver of a body among grains.

    Attributes:
        grains: The solver of grains, guests and rigid bodies.
        readout: What reads states.
        sides: The body, and the grains with rigid bodies; see `core.solver.Coupled`.
    """

    physics = "coupling"
    grains: grains.Solver
    readout: Readout

    def _meet(self, body: Side, spans: tuple[int, int]) -> None:
        """Bring both sides together, once there are readouts.

        Args:
            body: The side of the body.
            spans: Steps of the body, and of the grains, in a step of the whole.
        """
        assert isinstance(body.solver, Controllable)
        self._channels = body.solver.controls, self.grains.controls
        self._spans, self.sides = spans, (body, Side(self.grains, lambda state: state.grains, "grains"))
        self._painter = Painter(self.model.bed.radii, *self.sides, self.readout)

    @property
    def controls(self) -> tuple[Control, ...]:
        """Channels of the body, then those of rigid bodies."""
        return self._channels[0] + self._channels[1]

    def commanded(self, state: Any) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation, begun=state.grains.begun)

    def _hand_on(self, state: Any) -> None:
        """Give each side its commands, in its own steps."""
        first, count = 0, len(self.controls)
        for side, channels, steps in zip(self.sides, self._channels, self._spans, strict=True):
            own = len(channels)
            if own:
                arguments = [first, count, own, wp.float64(steps), state.commands, side.state(state).commands]
                wp.launch(hand_on, (self.worlds, own), arguments, device=self.device)
            first += own

    @cached_property
    def _world_of(self) -> dict[str, wp.array[Any]]:
        """World of each mass, guest, surface mass and channel; the solvers of the sides know those of the rest."""
        guests = self.model.guests
        found = {
            "mass": np.repeat(np.arange(self.worlds), len(guests.body.positions) // self.worlds),
            "guest": self.model.worlds_of_guests(),
            "surface-mass": np.repeat(np.arange(self.worlds), len(guests.members) // self.worlds),
            "coupled-channel": np.repeat(np.arange(self.worlds), len(self.controls)),
        }
        return {name: wp.array(of.astype(np.int32), dtype=wp.int32, device=self.device) for name, of in found.items()}

    def reserve(self, state: Any, places: int, body_places: int) -> None:
        """Give lists room for so many neighbours and bodies, ahead of need: while they grow, steps wait."""
        self.grains.reserve(state.grains, places, body_places)

    def residual(self, state: Any) -> float:
        """By how much one more sweep would change the relative velocity of a contact at most [m/s]."""
        return self.grains.residual(state.grains)

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are."""
        steps = [side.solver.diverged_at() for side in self.sides]
        pairs = zip(steps, self._spans, strict=True)
        return min((-(-step // span) for step, span in pairs if step is not None), default=None)

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        for side in self.sides:
            side.solver.clear_divergence()

    def describe_divergence(self, state: Any) -> str:
        """What went wrong on either side, in words."""
        return "; ".join(side.solver.describe_divergence(side.state(state)) for side in self.sides)

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        both = "-".join(side.solver.fingerprint() for side in self.sides)
        return f"{self.physics}-{max(self._spans)}-{both}"

    def scenery(self) -> Scenery:
        """What cameras and lidars can see of both sides; see `core.scenery.Visible`."""
        return scenery_of_both(*self.sides)

    def collect_events(self, *states: Any) -> list[Event]:
        """Springs that broke since the last time, or whether strains of a solid have left what was measured."""
        body = self.sides[0]
        assert isinstance(body.solver, Eventful)
        return body.solver.collect_events(*map(body.state, states))
