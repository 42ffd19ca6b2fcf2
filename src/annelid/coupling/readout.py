"""What a state of a soft body among grains says of both and of contacts, whatever the body is made of."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.solver import Side
from annelid.core.summary import Summary
from annelid.coupling.guests import BedWithGuests
from annelid.coupling.meeting_model import Among
from annelid.coupling.surface import closed_surface


class Readout:
    """Reads states of one model: rows of the body in its order, then grains in that of the bed, without guests.

    Args:
        model: The model.
        body: The side of the body.
    """

    def __init__(self, model: Among, body: Side) -> None:
        self._met, self._side, self._body = model, body, body.solver.readout
        weightless = copy(model.grains)
        weightless.bed = _weightless(model)
        self._grains = grains.Readout(weightless)

    def positions(self, state: Any) -> np.ndarray:
        """Positions of the masses or nodes, then centres of the grains [m], shape [n + grains, 3]."""
        return np.concatenate([self.body_positions(state), self.grain_positions(state)])

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities of the masses or nodes, then of the grains [m/s], shape [n + grains, 3]."""
        return np.concatenate([self.body_velocities(state), self.grain_velocities(state)])

    def body_positions(self, state: Any) -> np.ndarray:
        """Positions of the masses of the spring bodies or of the nodes of the solid [m], shape [n, 3]."""
        return self._body.positions(self._side.state(state))

    def body_velocities(self, state: Any) -> np.ndarray:
        """Their velocities [m/s], shape [n, 3]."""
        return self._body.velocities(self._side.state(state))

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
        """Totals of the body, grains and free rigid bodies; parts: "springs" or "solid", and "grains" with the last."""
        body, bed = self._body.summary(self._side.state(state)), self._grains.summary(state.grains)
        return Summary.of([body, bed], {self._side.part: body, "grains": bed})

    def grains_inside(self, state: Any) -> np.ndarray:
        """Numbers of the grains whose centres are inside the deformed surface of the body."""
        body, positions = self._met.surface_of(state)
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


def _weightless(model: Among) -> BedWithGuests:
    """Grains and guests, of which the guests weigh nothing: the side of the body accounts for them."""
    both, count = model.grains.bed, len(model.bed)
    guests = both.where(np.arange(count, len(both)))
    return BedWithGuests(model.bed, guests, np.zeros(len(guests)))
