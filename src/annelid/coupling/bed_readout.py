"""What a state of a soft body among grains says of the grains and of contacts, whatever the body is made of."""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.summary import Summary
from annelid.coupling.guests import BedWithGuests
from annelid.coupling.meeting import MeetingWorld
from annelid.coupling.outline import Outline
from annelid.coupling.surface import closed_surface


class Met(Protocol):
    """A model of a soft body among grains."""

    bed: grains.Bed
    grains: grains.Model

    @property
    def world(self) -> MeetingWorld:
        """What surrounds both."""
        ...


class BedReadout:
    """Reads the grains of states of one model, in the order of the bed, without guests.

    Args:
        model: The model.
    """

    def __init__(self, model: Met) -> None:
        self._met = model
        weightless = copy(model.grains)
        weightless.bed = _weightless(model)
        self._grains = grains.Readout(weightless)

    def grain_positions(self, state: Any) -> np.ndarray:
        """Centres of the grains [m], shape [grains, 3]."""
        return self._rows(state, state.grains.positions)

    def grain_velocities(self, state: Any) -> np.ndarray:
        """Velocities of the grains [m/s], shape [grains, 3]."""
        return self._rows(state, state.grains.velocities)

    def contact_forces(self, state: Any) -> np.ndarray:
        """Forces on each mass or node of the surface by grains and rigid bodies during the last step [N], [m, 3]."""
        return np.asarray(state.contact_forces.numpy(), float)

    def contact_force(self, state: Any) -> np.ndarray:
        """Their sum [N], shape [3]."""
        return np.asarray(self.contact_forces(state).sum(axis=0))

    def summary(self, state: Any) -> Summary:
        """Totals of soft bodies, grains and free rigid bodies."""
        raise NotImplementedError

    def _with_grains(self, name: str, body: Summary, state: Any) -> Summary:
        """Totals of a body and of the grains with rigid bodies; parts: the name of the body, and "grains"."""
        bed = self._grains.summary(state.grains)
        mass = body.mass + bed.mass
        return Summary(
            mass=mass,
            center_of_mass=(body.mass * body.center_of_mass + bed.mass * bed.center_of_mass) / mass,
            momentum=body.momentum + bed.momentum,
            angular_momentum=body.angular_momentum + bed.angular_momentum,
            kinetic=body.kinetic + bed.kinetic,
            rotational=bed.rotational,
            elastic=body.elastic,
            gravitational=body.gravitational + bed.gravitational,
            parts={name: body, "grains": bed},
        )

    def _inside(self, body: Outline, positions: np.ndarray, state: Any) -> np.ndarray:
        """Numbers of the grains whose centres are inside a surface that has moved to other positions [m]."""
        points = self.grain_positions(state)
        low, high = positions.min(axis=0), positions.max(axis=0)
        near = np.flatnonzero(((points > low) & (points < high)).all(axis=1))
        if len(near) == 0:
            return near
        return near[closed_surface(body, positions).signed_distance(points[near]) < 0.0]

    def _rows(self, state: Any, rows: wp.array[Any]) -> np.ndarray:
        count = self._met.grains.count
        out = np.empty((count, 3))
        out[state.grains.names.numpy()[:, 0]] = rows.numpy()[:count, :3]
        return out[: len(self._met.bed)]


def _weightless(model: Met) -> BedWithGuests:
    """Grains and guests, of which the guests weigh nothing: the side of the body accounts for them."""
    both, count = model.grains.bed, len(model.bed)
    guests = both.where(np.arange(count, len(both)))
    return BedWithGuests(model.bed, guests, np.zeros(len(guests)))
