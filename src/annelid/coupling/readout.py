"""What a state says: totals of both sides, contact forces, and grains that are where they must not be."""

from __future__ import annotations

from copy import copy

import numpy as np
import warp as wp

from annelid import grains, springs
from annelid.core.summary import Summary
from annelid.coupling.guests import BedWithGuests
from annelid.coupling.model import Model
from annelid.coupling.state import State
from annelid.coupling.surface import closed_surface


class Readout:
    """Reads states of one model: masses come in the order of the body, grains in that of the bed, without guests.

    Args:
        model: The model.
        bodies: What reads the side of the springs.
    """

    def __init__(self, model: Model, bodies: springs.Readout) -> None:
        self.model, self._springs = model, bodies
        weightless = copy(model.grains)
        weightless.bed = _weightless(model)
        self._grains = grains.Readout(weightless)

    # --- both sides ---

    def positions(self, state: State) -> np.ndarray:
        """Positions of the masses, then centres of the grains [m], shape [masses + grains, 3]."""
        return np.concatenate([self.mass_positions(state), self.grain_positions(state)])

    def velocities(self, state: State) -> np.ndarray:
        """Velocities of the masses, then of the grains [m/s], shape [masses + grains, 3]."""
        return np.concatenate([self.mass_velocities(state), self.grain_velocities(state)])

    def summary(self, state: State) -> Summary:
        """Totals of spring bodies, grains and free rigid bodies; parts: "springs", and "grains" with rigid bodies."""
        body, bed = self._springs.summary(state.springs), self._grains.summary(state.grains)
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
            parts={"springs": body, "grains": bed},
        )

    # --- one of them ---

    def mass_positions(self, state: State) -> np.ndarray:
        """Positions of the masses of the spring bodies [m], shape [masses, 3]."""
        return self._springs.positions(state.springs)

    def mass_velocities(self, state: State) -> np.ndarray:
        """Their velocities [m/s], shape [masses, 3]."""
        return self._springs.velocities(state.springs)

    def grain_positions(self, state: State) -> np.ndarray:
        """Centres of the grains [m], shape [grains, 3]."""
        return self._rows(state, state.grains.positions)

    def grain_velocities(self, state: State) -> np.ndarray:
        """Velocities of the grains [m/s], shape [grains, 3]."""
        return self._rows(state, state.grains.velocities)

    def contact_forces(self, state: State) -> np.ndarray:
        """Forces on each surface mass by grains and rigid bodies during the last step [N], shape [m, 3]."""
        return np.asarray(state.contact_forces.numpy(), float)

    def contact_force(self, state: State) -> np.ndarray:
        """Their sum [N], shape [3]."""
        return np.asarray(self.contact_forces(state).sum(axis=0))

    def grains_inside(self, state: State) -> np.ndarray:
        """Numbers of the grains whose centres are inside the deformed surface of a body."""
        body, points = self.model.springs.body, self.grain_positions(state)
        masses = np.asarray(state.springs.positions.numpy()[: body.mass_count, :3], float)  # those that are gone, too
        low, high = masses.min(axis=0), masses.max(axis=0)
        near = np.flatnonzero(((points > low) & (points < high)).all(axis=1))
        if len(near) == 0:
            return near
        return near[closed_surface(body, masses).signed_distance(points[near]) < 0.0]

    def kinetic_per_grain(self, state: State) -> float:
        """Kinetic energy of a grain in the mean, in units of its m g R."""
        bed, gravity = self.model.bed, float(np.linalg.norm(self.model.world.gravity))
        squares = (self.grain_velocities(state) ** 2).sum(axis=1)
        return float((0.5 * bed.masses * squares).mean() / (bed.masses * gravity * bed.radii).mean())

    def _rows(self, state: State, rows: wp.array) -> np.ndarray:
        count = self.model.grains.count
        out = np.empty((count, 3))
        out[state.grains.names.numpy()[:, 0]] = rows.numpy()[:count, :3]
        return out[: len(self.model.bed)]


def _weightless(model: Model) -> BedWithGuests:
    """Grains and guests, of which the guests weigh nothing: the springs' side accounts for them."""
    both, count = model.grains.bed, len(model.bed)
    guests = both.where(np.arange(count, len(both)))
    return BedWithGuests(model.bed, guests, np.zeros(len(guests)))
