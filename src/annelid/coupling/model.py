"""Spring bodies, grains and rigid bodies compiled together for a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import warp as wp

from annelid import grains, springs
from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue
from annelid.coupling.guests import Party
from annelid.coupling.start import make_room
from annelid.coupling.surface import STRETCH
from annelid.coupling.world import World
from annelid.grains.model import Obstacle


class Model:
    """A spring body among grains.

    Args:
        body: The spring body; join several to simulate them together.
        bed: The grains.
        bodies: Planes and rigid bodies, which grains and the surface masses of the body touch.
        world: Gravity and steps.
        skin: How the surface of the body answers to contact.
        stretch: How much longer the surface of the body may become before grains fit through it, as a factor.
        inside: What to do with grains that start inside the body: "refuse", "push", "remove" or "allow".
        overlapping: The same for grains inside each other or a rigid body: "refuse", "push" or "allow".
        device: Where to compute.

    Attributes:
        bed: The grains, as they start.
        party: The surface masses of the body.
        springs: The model of the spring body.
        grains: The model of the grains, the guests and the rigid bodies.
        substeps: Steps of the springs in a step of the grains.
    """

    def __init__(
        self,
        body: springs.Body,
        bed: grains.Bed,
        bodies: Sequence[Obstacle] = (),
        *,
        world: World | None = None,
        skin: grains.Surface | None = None,
        stretch: float = STRETCH,
        inside: str = "refuse",
        overlapping: str = "refuse",
        device: str | wp.Device = "auto",
    ) -> None:
        if len(bed) == 0:
            raise InvalidValue("a bed needs at least one grain; without grains use springs.simulation.")
        self.world, self.device = world or World(), find_device(device)
        self.skin = skin or grains.Surface()
        self.party = Party(body, float(bed.radii.min()), stretch)
        thickness = float(np.median(self.party.radii))
        self.bed = grains.start.begin(bed, bodies, np.zeros(len(bed), np.int32), overlapping)
        self.bed = make_room(self.bed, body, thickness, bodies, how=inside)
        if len(self.bed) == 0:
            raise InvalidValue("no grain is left beside the body: give a bed that it does not fill.")
        self.springs = self._springs(body)
        self.substeps = self.world.substeps(self.bed, self.springs.stable_step())
        self.grains = grains.Model(
            self.party.among(self.bed, self.skin),
            bodies,
            world=self.world.grains_world(self.time_step),
            overlapping="allow",
            guests=len(self.party),
            device=self.device,
        )

    @property
    def time_step(self) -> float:
        """Time step of the grains, at whose ends both meet [s]."""
        return self.substeps * self.world.dt

    def _springs(self, body: springs.Body) -> springs.Model:
        """The model of the body, with kernels that take forces from outside."""
        model = springs.Model(body, self.world.springs_world(), self.device)
        if not model.features.pushed:
            model.features = replace(model.features, pushed=True)
            model.arrays.forces = wp.zeros(model.mass_count, dtype=model.types.vec3, device=self.device)
        return model
