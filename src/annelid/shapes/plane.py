"""A half-space: the ground, a wall, a slope."""

from __future__ import annotations

import math
from dataclasses import dataclass

from annelid.core.errors import InvalidValue
from annelid.shapes.values import Vector, as_vector


@dataclass(frozen=True, kw_only=True)
class Plane:
    """A half-space: all that lies behind the plane is solid.

    Attributes:
        point: A point of the plane [m].
        normal: Direction of the free side; kept as a unit vector.
    """

    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", as_vector("point of a plane", self.point))
        x, y, z = as_vector("normal of a plane", self.normal)
        length = math.hypot(x, y, z)
        if length == 0.0:
            raise InvalidValue("the normal of a plane must not be 0.")
        object.__setattr__(self, "normal", (x / length, y / length, z / length))
