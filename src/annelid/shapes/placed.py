"""A shape where it stands: moved and turned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.unlikely import warn_of_angle
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.primitives import Axial, Box, Sphere
from annelid.shapes.values import Floats, Vector, as_axis, as_points, as_vector

Quaternion = tuple[float, float, float, float]

UPRIGHT: Quaternion = (0.0, 0.0, 0.0, 1.0)
"""The rotation that leaves everything as it is."""

_MOST_TURN = 1e9
"""Angle beyond which a number of double precision does not tell where a turn ends [rad]."""


@dataclass(frozen=True, eq=False)
class Placed(Shape):
    """A shape that was turned about the origin, then moved.

    Attributes:
        shape: The shape in its own frame.
        position: Where the origin of that frame is [m].
        rotation: How the frame is turned: a quaternion (x, y, z, w).
    """

    shape: Shape
    position: Vector
    rotation: Quaternion

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of the turned box around the shape [m]."""
        low, high = self.shape.bounds()
        corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        turned = self._turn.apply(corners) + np.array(self.position)
        return turned.min(axis=0), turned.max(axis=0)

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        return self.shape.signed_distance(self._turn.inv().apply(as_points(points) - np.array(self.position)))

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return self.shape.volume

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """The turned mesh of the shape."""
        mesh = self.shape.surface(resolution)
        return TriangleMesh(self._turn.apply(np.array(mesh.vertices)) + np.array(self.position), mesh.triangles)

    @property
    def _turn(self) -> Rotation:
        return Rotation.from_quat(self.rotation)


def placed(shape: Shape, position: Vector, rotation: Quaternion) -> Shape:
    """A shape turned and moved; a primitive stays one where it can, and a mesh stays a mesh."""
    upright = rotation == UPRIGHT
    if upright and position == (0.0, 0.0, 0.0):
        return shape
    turn = Rotation.from_quat(rotation)
    if isinstance(shape, Sphere) or (isinstance(shape, Box) and upright):
        return replace(shape, center=_moved(turn, shape.center, position))
    if isinstance(shape, Axial):
        axis = as_vector("axis", turn.apply(np.array(shape.axis)))
        return replace(shape, center=_moved(turn, shape.center, position), axis=axis)
    if isinstance(shape, TriangleMesh):
        return Placed(shape, position, rotation).surface()
    return Placed(shape, position, rotation)


def turned_about(axis: str | ArrayLike, angle: float) -> Quaternion:
    """The quaternion (x, y, z, w) of a turn by an angle [rad] about an axis: 'x', 'y', 'z' or any vector."""
    if not is_number(angle) or abs(angle) > _MOST_TURN:
        raise InvalidValue(f"the angle of a turn must be finite and at most {_MOST_TURN:g} rad, not {angle!r}.")
    warn_of_angle("a turn", angle, stacklevel=3)
    x, y, z, w = Rotation.from_rotvec(angle * np.array(as_axis(axis))).as_quat().tolist()
    return x, y, z, w


def _moved(turn: Rotation, point: Vector, position: Vector) -> Vector:
    return as_vector("center", turn.apply(np.array(point)) + np.array(position))
