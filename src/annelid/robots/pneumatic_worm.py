"""A worm of silicone with air chambers one behind the other: pressures that run along it make it crawl."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.materials import Material
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.sections import disk, steps
from annelid.shapes.tet.sweep import along_axis, swept
from annelid.shapes.values import require_count, require_positive

_MOST, _MOST_RESOLUTION = 100, 50


@dataclass(frozen=True, kw_only=True)
class PneumaticWorm:
    """A round worm along x, its middle at the origin.

    Attributes:
        chambers: Number of chambers.
        length: Length with both ends [m].
        radius: Outer radius [m].
        wall: Thickness of the wall around the chambers, between them and at the ends [m].
        pressure: Largest pressure of a chamber [Pa].
        silicone: Material, or its name.
        resolution: Circles are polygons of 8 times as many sides.
        layers: Cells along a chamber.
    """

    chambers: int = 6
    length: float = 0.36
    radius: float = 0.03
    wall: float = 6e-3
    pressure: float = 9e3
    silicone: str | Material = "ecoflex-00-30"
    resolution: int = 1
    layers: int = 3

    def mesh(self) -> TetMesh:
        """The tetrahedra, with one cavity a chamber, from the tail at the least x to the head."""
        count = require_count("chambers", self.chambers, least=1, most=_MOST)
        each = require_count("layers", self.layers, least=1, most=_MOST)
        wall, radius = require_positive("wall", self.wall), require_positive("radius", self.radius)
        bore, inside = radius - wall, (require_positive("length", self.length) - (count + 1) * wall) / count
        if bore <= 0.0 or inside <= 0.0:
            raise InvalidValue(
                f"walls of {wall:g} m leave no room for {count} chambers in a worm of length {self.length:g} m and "
                f"radius {radius:g} m: make them thinner."
            )
        fine = require_count("resolution", self.resolution, least=1, most=_MOST_RESOLUTION)
        section = disk([0.6 * bore, bore, radius], cells=2 * fine)
        lengths, cells = [wall, *[inside, wall] * count], [1, *[each, 1] * count]
        hollow = np.repeat(np.arange(len(lengths)) % 2 == 1, cells)
        keep = ~(hollow[:, None] & (section.patches[:, 0] <= 1))
        return swept(section, steps(lengths, cells), keep=keep, place=along_axis("x")).moved(
            (-0.5 * self.length, 0.0, 0.0)
        )

    def solid(self, *, height: float = 0.0) -> fem.Solid:
        """The worm with its axis at a height [m]."""
        return fem.Solid(self.mesh().moved((0.0, 0.0, height)), self.silicone)

    def actuators(self) -> list[fem.Pneumatic]:
        """Air in each chamber, "air-0" in the tail; commands are pressures from 0 to the largest."""
        return [
            fem.Pneumatic(name=f"air-{number}", cavity=number, pressure=(0.0, self.pressure))
            for number in range(self.chambers)
        ]
