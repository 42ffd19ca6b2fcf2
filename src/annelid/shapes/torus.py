"""A ring whose section is a circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.shapes.kernels.gaps import TORUS
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.primitives import Axial
from annelid.shapes.values import Floats, Vector, as_axis, frame, require_count


@dataclass(frozen=True)
class Torus(Axial):
    """A ring: all that is within `tube` of a circle around the axis.

    Attributes:
        radius: Radius of the circle [m].
        tube: Radius of the section [m], less than that of the circle.
        axis: Direction of the axis: 'x', 'y', 'z' or any vector; kept as a unit vector.
        center: Middle of the ring [m].
    """

    radius: float
    tube: float
    axis: str | Vector = "z"
    center: Vector = (0.0, 0.0, 0.0)
    kind: ClassVar[int] = TORUS

    def __post_init__(self) -> None:
        self._check("radius", "tube")
        if self.tube >= self.radius:
            raise InvalidValue(
                f"the tube of a torus must be thinner than its radius of {self.radius:g} m, not {self.tube:g} m: "
                "else it has no hole."
            )

    @property
    def sizes(self) -> Vector:
        """Radius of the circle and of the section [m]."""
        return self.radius, self.tube, 0.0

    @property
    def moments(self) -> tuple[float, float]:
        """Moments along and across the axis over the mass [m²]."""
        circle, section = self.radius**2, self.tube**2
        return circle + 0.75 * section, 0.5 * circle + 0.625 * section

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner [m]."""
        reach = self.radius * np.sqrt(np.maximum(1.0 - np.array(self.axis, float) ** 2, 0.0)) + self.tube
        return np.array(self.center) - reach, np.array(self.center) + reach

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        along, across = self._coordinates(points)
        return np.hypot(across - self.radius, along) - self.tube

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return 2.0 * math.pi**2 * self.radius * self.tube**2

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """`resolution` segments around the axis, three quarters as many around the section."""
        around = require_count("resolution", resolution, least=3, most=10_000)
        across = max(3 * around // 4, 3)
        turn, roll = np.meshgrid(*(2.0 * math.pi * np.arange(n) / n for n in (around, across)), indexing="ij")
        out = self.radius + self.tube * np.cos(roll)
        points = np.stack([out * np.cos(turn), out * np.sin(turn), self.tube * np.sin(roll)], axis=-1)
        here = np.arange(around * across).reshape(around, across)
        next_turn, next_roll = np.roll(here, -1, axis=0), np.roll(here, -1, axis=1)
        both = np.roll(next_turn, -1, axis=1)
        quads = np.stack([here, next_turn, both, next_roll], axis=-1).reshape(-1, 4)
        triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        return TriangleMesh(points.reshape(-1, 3) @ frame(as_axis(self.axis)).T + np.array(self.center), triangles)
