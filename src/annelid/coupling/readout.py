"""What a state tells: totals of both sides, contact forces, and grains that are where they must not be."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid import grains
from annelid.core.summary import Summary as SpringSummary
from annelid.coupling.guests import BedWithGuests
from annelid.coupling.model import Model
from annelid.coupling.surface import closed_surface


@dataclass(frozen=True, eq=False)
class Summary:
    """Totals of spring bodies, grains and free rigid bodies.

    Attributes:
        momentum: [kg m/s], shape [3].
        angular_momentum: About the origin [kg m²/s], shape [3].
        kinetic: Energy of motion, spinning included [J].
        elastic: Energy of the springs [J].
        body: Those of the spring bodies alone.
        bed: Those of the grains and free rigid bodies alone.
    """

    momentum: np.ndarray
    angular_momentum: np.ndarray
    kinetic: float
    elastic: float
    body: SpringSummary
    bed: grains.Summary

    @property
    def center_of_mass(self) -> np.ndarray:
        """Centre of mass of the spring bodies [m], shape [3]."""
        return self.body.center_of_mass


class Readout:
    """Reads states of one model; grains come in the order of the bed, without guests.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        weightless = copy(model.grains)
        weightless.bed = _weightless(model)
        self._grains = grains.Readout(weightless)

    def summary(self, body: SpringSummary, grain_state: grains.State) -> Summary:
        """Totals, given those of the spring bodies."""
        bed = self.bed_summary(grain_state)
        return Summary(
            momentum=body.momentum + bed.momentum,
            angular_momentum=body.angular_momentum + bed.angular_momentum,
            kinetic=body.kinetic + bed.kinetic + bed.rotational,
            elastic=body.elastic,
            body=body,
            bed=bed,
        )

    def bed_summary(self, grain_state: grains.State) -> grains.Summary:
        """Totals of the grains and free rigid bodies."""
        return self._grains.summary(grain_state)

    def positions(self, state: Any) -> np.ndarray:
        """Centres of the grains [m], shape [n, 3]."""
        return self._rows(state.grains_names, state.grains_positions)[:, :3]

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities of the grains [m/s], shape [n, 3]."""
        return self._rows(state.grains_names, state.grains_velocities)[:, :3]

    def masses(self, state: Any) -> np.ndarray:
        """Positions of the masses of the spring bodies [m], shape [m, 3]."""
        return np.asarray(state.springs_positions.numpy()[: self.model.springs.body.mass_count, :3], float)

    def contact_forces(self, state: Any) -> np.ndarray:
        """Forces on each surface mass by grains and rigid bodies during the last step [N], shape [m, 3]."""
        return np.asarray(state.contact_forces.numpy(), float)

    def contact_force(self, state: Any) -> np.ndarray:
        """Their sum [N], shape [3]."""
        return np.asarray(self.contact_forces(state).sum(axis=0))

    def grains_inside(self, state: Any) -> np.ndarray:
        """Numbers of the grains whose centres are inside the deformed surface of a body."""
        body, points = self.model.springs.body, self.positions(state)
        masses = self.masses(state)
        low, high = masses.min(axis=0), masses.max(axis=0)
        near = np.flatnonzero(((points > low) & (points < high)).all(axis=1))
        if len(near) == 0:
            return near
        return near[closed_surface(body, masses).signed_distance(points[near]) < 0.0]

    def kinetic_per_grain(self, state: Any) -> float:
        """Kinetic energy of a grain in the mean, in units of its m g R."""
        bed, gravity = self.model.bed, float(np.linalg.norm(self.model.world.gravity))
        squares = (self.velocities(state) ** 2).sum(axis=1)
        return float((0.5 * bed.masses * squares).mean() / (bed.masses * gravity * bed.radii).mean())

    def _rows(self, names: Any, rows: Any) -> np.ndarray:
        count = self.model.grains.count
        out = np.empty((count, 4))
        out[names.numpy()[:, 0]] = rows.numpy()[:count]
        return out[: len(self.model.bed)]


def _weightless(model: Model) -> BedWithGuests:
    """Grains and guests, of which the guests weigh nothing: the springs' side accounts for them."""
    both, count = model.grains.bed, len(model.bed)
    guests = both.where(np.arange(count, len(both)))
    return BedWithGuests(model.bed, guests, np.zeros(len(guests)))
