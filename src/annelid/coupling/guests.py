"""Guests: the surface masses of spring bodies as they stand among grains."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid import grains, springs
from annelid.coupling.kernels.exchange import Guests
from annelid.coupling.surface import closing_radii, surface_neighbours

_HELD = 1.0e-3  # inverse mass of a held guest, in inverse masses of the lightest grain


class Crowd(grains.Bed):
    """Grains and, after them, guests, whose masses are their own.

    Args:
        bed: The grains.
        visitors: The guests as grains; of these, the masses do not count.
        masses: Masses of the guests [kg], shape [g].
    """

    def __init__(self, bed: grains.Bed, visitors: grains.Bed, masses: np.ndarray) -> None:
        both = bed + visitors
        names = ("positions", "radii", "kinds", "velocities", "spins")
        super().__init__(**{name: getattr(both, name) for name in names}, materials=both.materials)
        self._masses = np.concatenate([bed.masses, masses])

    @property
    def masses(self) -> np.ndarray:
        """Masses [kg], shape [n]."""
        return self._masses


class Party:
    """The guests of a spring body.

    Args:
        body: The body.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer its surface may become, as a factor.

    Attributes:
        body: The body.
        members: The mass of each guest, ascending, shape [g].
        radii: Radius of each [m], shape [g].
    """

    def __init__(self, body: springs.Body, grain_radius: float, stretch: float) -> None:
        radii = closing_radii(body, grain_radius, stretch=stretch)
        self.body, self.members = body, np.flatnonzero(radii > 0.0)
        self.radii = radii[self.members]

    def __len__(self) -> int:
        return len(self.members)

    def among(self, bed: grains.Bed, skin: grains.Surface) -> Crowd:
        """Grains and guests together.

        Args:
            bed: The grains.
            skin: How the surface of the body answers to contact.
        """
        body, members = self.body, self.members
        answer = dict(zip(("friction", "restitution", "rolling", "cohesion"), skin.numbers, strict=True))
        visitors = grains.Bed(
            body.positions[members], self.radii, grains.Grain(**answer), velocities=body.velocities[members]
        )
        return Crowd(bed, visitors, body.masses[members])

    def arrays(self, bed: grains.Bed, pushes: wp.array, device: wp.Device) -> Any:
        """The structure that the kernels read.

        Args:
            bed: The grains.
            pushes: What pushes the guests.
            device: Where they are.
        """
        first, around = surface_neighbours(self.body, self.members)
        guests: Any = Guests()
        count = len(self)
        guests.masses = wp.array(self.members.astype(np.int32), dtype=wp.int32, device=device)
        guests.alive = wp.full(count, 1, dtype=wp.int32, device=device)
        guests.first = wp.array(first, dtype=wp.int32, device=device)
        guests.around = wp.array(around, dtype=wp.int32, device=device)
        outside = self.body.forces[self.members].astype(np.float32)
        guests.outside = wp.array(outside, dtype=wp.vec3, device=device)
        guests.heaviest = _HELD / float(bed.masses.min())
        guests.pushes = pushes
        guests.twists = wp.zeros(count, dtype=wp.vec3, device=device)
        guests.centers = wp.zeros(count, dtype=wp.vec3, device=device)
        return guests
