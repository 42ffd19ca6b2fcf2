"""Box, sphere, cylinder and capsule, with distances in closed form, and the convenience `beam`."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from annelid.shapes.kernels.gaps import BOX, CAPSULE, CYLINDER, SPHERE
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.values import (
    Floats,
    Indices,
    Vector,
    as_axis,
    as_points,
    as_vector,
    frame,
    require_count,
    require_positive,
)

_ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Box(Shape):
    """A box with sides along the axes.

    Attributes:
        size: Lengths of the sides [m].
        center: Centre [m].
    """

    size: Vector
    center: Vector = _ORIGIN
    kind: ClassVar[int] = BOX

    def __post_init__(self) -> None:
        size = as_vector("size", self.size)
        for axis, length in zip("xyz", size, strict=True):
            require_positive(f"size of the box along {axis}", length)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "center", as_vector("center", self.center))

    @property
    def sizes(self) -> Vector:
        """Half sides [m]."""
        x, y, z = self.size
        return 0.5 * x, 0.5 * y, 0.5 * z

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner [m]."""
        return self._center - self._half, self._center + self._half

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        beyond = np.abs(as_points(points) - self._center) - self._half
        return _combine(beyond)

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return math.prod(self.size)

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """Twelve triangles, whatever the resolution."""
        corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
        quads = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
        triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        return TriangleMesh(corners * self._half + self._center, triangles)

    @property
    def _half(self) -> Floats:
        return 0.5 * np.array(self.size)

    @property
    def _center(self) -> Floats:
        return np.array(self.center)


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball.

    Attributes:
        radius: Radius [m].
        center: Centre [m].
    """

    radius: float
    center: Vector = _ORIGIN
    kind: ClassVar[int] = SPHERE

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", require_positive("radius of the sphere", self.radius))
        object.__setattr__(self, "center", as_vector("center", self.center))

    @property
    def sizes(self) -> Vector:
        """The radius [m]."""
        return self.radius, 0.0, 0.0

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner [m]."""
        return np.array(self.center) - self.radius, np.array(self.center) + self.radius

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        return np.linalg.norm(as_points(points) - np.array(self.center), axis=1) - self.radius

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return 4.0 / 3.0 * math.pi * self.radius**3

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """Circles of latitude, `resolution` segments around and half as many from pole to pole."""
        segments = _segments(resolution)
        angle = np.linspace(-0.5 * math.pi, 0.5 * math.pi, max(segments // 2, 2) + 1)
        profile = self.radius * np.column_stack([np.cos(angle), np.sin(angle)])
        return _revolved(profile, segments, axis=(0.0, 0.0, 1.0), center=self.center)


class Axial(Shape):
    """A shape that is the same all around an axis.

    Attributes:
        axis: Direction of the axis: 'x', 'y', 'z' or any vector; kept as a unit vector.
        center: Middle of the axis [m].
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    axis: str | Vector
    center: Vector

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """Moments along and across the axis over the mass [m²]."""

    def _check(self, *lengths: str) -> None:
        """Keep what was given as numbers and vectors."""
        name = type(self).__name__.lower()
        for length in lengths:
            object.__setattr__(self, length, require_positive(f"{length} of the {name}", getattr(self, length)))
        object.__setattr__(self, "axis", as_axis(self.axis))
        object.__setattr__(self, "center", as_vector("center", self.center))

    def _coordinates(self, points: ArrayLike) -> tuple[Floats, Floats]:
        """Coordinate along the axis and distance from it [m], each of shape [n]."""
        local = as_points(points) - np.array(self.center)
        axis = np.array(self.axis)
        along = local @ axis
        return along, np.linalg.norm(local - along[:, None] * axis, axis=1)


@dataclass(frozen=True)
class Cylinder(Axial):
    """A circular cylinder with flat ends.

    Attributes:
        radius: Radius [m].
        length: Distance between the two ends [m].
        axis: Direction of the axis: 'x', 'y', 'z' or any vector; kept as a unit vector.
        center: Middle of the axis [m].
    """

    radius: float
    length: float
    axis: str | Vector = "z"
    center: Vector = _ORIGIN
    kind: ClassVar[int] = CYLINDER

    def __post_init__(self) -> None:
        self._check("radius", "length")

    @property
    def sizes(self) -> Vector:
        """Radius and half length [m]."""
        return self.radius, 0.5 * self.length, 0.0

    @property
    def moments(self) -> tuple[float, float]:
        """Moments along and across the axis over the mass [m²]."""
        return 0.5 * self.radius**2, self.radius**2 / 4.0 + self.length**2 / 12.0

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner [m]."""
        axis = np.array(self.axis)
        reach = 0.5 * self.length * np.abs(axis) + self.radius * np.sqrt(np.maximum(1.0 - axis**2, 0.0))
        return np.array(self.center) - reach, np.array(self.center) + reach

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        along, across = self._coordinates(points)
        return _combine(np.column_stack([across - self.radius, np.abs(along) - 0.5 * self.length]))

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return math.pi * self.radius**2 * self.length

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """A prism of `resolution` sides."""
        half, radius = 0.5 * self.length, self.radius
        profile = np.array([(0.0, -half), (radius, -half), (radius, half), (0.0, half)])
        return _revolved(profile, _segments(resolution), axis=self.axis, center=self.center)


@dataclass(frozen=True)
class Capsule(Axial):
    """A cylinder with half a ball on each end.

    Attributes:
        radius: Radius of the cylinder and of the ends [m].
        length: Length of the cylindrical part [m]; the whole is 2 radii longer.
        axis: Direction of the axis: 'x', 'y', 'z' or any vector; kept as a unit vector.
        center: Middle of the axis [m].
    """

    radius: float
    length: float
    axis: str | Vector = "z"
    center: Vector = _ORIGIN
    kind: ClassVar[int] = CAPSULE

    def __post_init__(self) -> None:
        self._check("radius", "length")

    @property
    def sizes(self) -> Vector:
        """Radius and half length [m]."""
        return self.radius, 0.5 * self.length, 0.0

    @property
    def moments(self) -> tuple[float, float]:
        """Moments along and across the axis over the mass [m²]; the ends are half balls."""
        radius, length = self.radius, self.length
        balls = 4.0 * radius / (4.0 * radius + 3.0 * length)  # share of the mass
        ball_across = 0.4 * radius**2 + 0.375 * radius * length + 0.25 * length**2
        across = (1 - balls) * (radius**2 / 4.0 + length**2 / 12.0) + balls * ball_across
        return ((1 - balls) * 0.5 + balls * 0.4) * radius**2, across

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner [m]."""
        reach = 0.5 * self.length * np.abs(np.array(self.axis)) + self.radius
        return np.array(self.center) - reach, np.array(self.center) + reach

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        along, across = self._coordinates(points)
        beyond = np.maximum(np.abs(along) - 0.5 * self.length, 0.0)
        return np.hypot(beyond, across) - self.radius

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """`resolution` segments around, a quarter as many from each pole to the cylinder."""
        segments = _segments(resolution)
        angle = np.linspace(0.0, 0.5 * math.pi, max(segments // 4, 1) + 1)
        upper = self.radius * np.column_stack([np.cos(angle), np.sin(angle)]) + (0.0, 0.5 * self.length)
        return _revolved(np.concatenate([upper[::-1] * (1, -1), upper]), segments, axis=self.axis, center=self.center)


def beam(length: float, width: float, height: float) -> Box:
    """A box from x = 0 to x = length [m], its width along y and its height along z, both centred."""
    length = require_positive("length of the beam", length)
    return Box((length, width, height), center=(0.5 * length, 0.0, 0.0))


def _combine(beyond: Floats) -> Floats:
    """Signed distance to a product of slabs from the distance beyond each slab, shape [n, slabs]."""
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    return outside + np.minimum(beyond.max(axis=1), 0.0)


def _segments(resolution: int) -> int:
    return require_count("resolution", resolution, least=3, most=10_000)


def _revolved(profile: Floats, segments: int, *, axis: str | Vector, center: Vector) -> TriangleMesh:
    """The closed surface of a profile turned about an axis.

    The profile is radius and height [m], from the lowest to the highest point, both on the axis, shape [n, 2].
    """
    angle = 2.0 * math.pi * np.arange(segments) / segments
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    radius, height = profile[1:-1, 0], profile[1:-1, 1]
    sides = np.empty((len(radius), segments, 3))
    sides[:, :, :2] = radius[:, None, None] * ring
    sides[:, :, 2] = height[:, None]
    poles = [(0.0, 0.0, profile[0, 1]), (0.0, 0.0, profile[-1, 1])]
    vertices = np.concatenate([sides.reshape(-1, 3), poles])
    return TriangleMesh(vertices @ frame(as_axis(axis)).T + np.array(center), _rings(len(radius), segments))


def _rings(rings: int, segments: int) -> Indices:
    """Triangles between rings of vertices and to the two poles, which follow the rings; shape [n, 3]."""
    here = np.arange(rings * segments).reshape(rings, segments)
    there = np.roll(here, -1, axis=1)
    low, low_next, high, high_next = (a.ravel() for a in (here[:-1], there[:-1], here[1:], there[1:]))
    bottom, top = np.full(segments, rings * segments), np.full(segments, rings * segments + 1)
    parts = [
        (low, low_next, high_next),
        (low, high_next, high),
        (bottom, there[0], here[0]),
        (top, here[-1], there[-1]),
    ]
    return np.concatenate([np.column_stack(part) for part in parts])
