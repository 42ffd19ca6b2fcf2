"""Solids of revolution with a hole along their axis: tubes, funnels, rings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.values import Floats, as_points, require_count, require_positive


@dataclass(frozen=True)
class Revolved(Shape):
    """A polygon turned about the z axis.

    Attributes:
        profile: Corners of the polygon: radius and height [m], at least three; either way round. A cone
            ends at a radius of 0.
    """

    profile: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        corners = as_numbers("the profile of a revolved shape", self.profile)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
            raise InvalidValue("a profile must be at least three pairs of finite numbers: radius and height [m].")
        if not (corners[:, 0] >= 0.0).all():
            raise InvalidValue(f"the radii of a profile must be 0 or more, not {corners[:, 0].min():g} m.")
        area = _signed_area(corners)
        if area == 0.0:
            raise InvalidValue("a profile must enclose an area; its corners lie on one line.")
        if area < 0.0:
            corners = corners[::-1]
        object.__setattr__(self, "profile", tuple((float(r), float(z)) for r, z in corners))

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner [m]."""
        (_, low), (reach, high) = self._corners.min(axis=0), self._corners.max(axis=0)
        return np.array([-reach, -reach, low]), np.array([reach, reach, high])

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance to the surface [m], negative inside."""
        x, y, z = as_points(points).T
        flat = np.column_stack([np.hypot(x, y), z])
        nearest, crossings = np.full(len(flat), np.inf), np.zeros(len(flat), dtype=np.int64)
        for start, end in zip(self._corners, np.roll(self._corners, -1, axis=0), strict=True):  # few; many points
            away, along = flat - start, end - start
            if start[0] > 0.0 or end[0] > 0.0:  # what lies on the axis is no surface
                share = np.clip(away @ along / (along @ along), 0.0, 1.0)
                np.minimum(nearest, np.linalg.norm(away - share[:, None] * along, axis=1), out=nearest)
            # Heights themselves are compared, not differences, so that two edges agree about their common corner.
            spans = (z < start[1]) != (z < end[1])
            side = np.sign(along[1]) * (away[:, 0] * along[1] - away[:, 1] * along[0])
            crossings += spans & (side < 0.0)
        return np.where(crossings % 2 == 1, -nearest, nearest)

    @property
    def volume(self) -> float:
        """Volume [m^3], by the theorem of Pappus."""
        here = self._corners
        there = np.roll(here, -1, axis=0)
        moment = (here[:, 0] + there[:, 0]) * (here[:, 0] * there[:, 1] - there[:, 0] * here[:, 1])
        return math.pi / 3.0 * float(moment.sum())

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """`resolution` segments around."""
        segments = require_count("resolution", resolution, least=3, most=10_000)
        rings = len(self._corners)
        angle = 2.0 * math.pi * np.arange(segments) / segments
        around = np.column_stack([np.cos(angle), np.sin(angle)])
        vertices = np.empty((rings, segments, 3))
        vertices[:, :, :2] = self._corners[:, 0, None, None] * around
        vertices[:, :, 2] = self._corners[:, 1, None]
        here = np.arange(rings * segments).reshape(rings, segments)
        here[self._corners[:, 0] == 0.0] = here[self._corners[:, 0] == 0.0, :1]  # a tip is one vertex
        turned, above = np.roll(here, -1, axis=1), np.roll(here, -1, axis=0)
        both = np.roll(above, -1, axis=1)
        quads = [np.stack(q, axis=-1).reshape(-1, 3) for q in ((here, turned, both), (here, both, above))]
        faces = np.concatenate(quads)
        faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
        used, faces = np.unique(faces, return_inverse=True)
        return TriangleMesh(vertices.reshape(-1, 3)[used], faces.reshape(-1, 3).astype(np.int32))

    @property
    def _corners(self) -> Floats:
        return np.array(self.profile)


def tube(inner: float, outer: float, length: float, *, bottom: float = 0.0) -> Revolved:
    """A tube along z.

    Args:
        inner: Radius of its hole [m].
        outer: Outer radius [m].
        length: Length [m].
        bottom: Height of its lower end [m].
    """
    inner, length = require_positive("inner radius of the tube", inner), require_positive("length of the tube", length)
    if not (is_number(outer) and outer > inner):
        raise InvalidValue(f"outer = {outer!r} cannot be used; give more than the inner radius of {inner:g} m.")
    if not is_number(bottom):
        raise InvalidValue(f"bottom = {bottom!r} cannot be used; give a finite number [m].")
    return Revolved(((inner, bottom), (outer, bottom), (outer, bottom + length), (inner, bottom + length)))


def hopper(radius: float, height: float, opening: float, *, angle: float = 0.0, wall: float = 0.01) -> Revolved:
    """A silo along z whose bottom is a funnel, or flat, with a round opening; the opening lies at z = 0.

    Args:
        radius: Radius of the silo [m].
        height: Height of its upright wall [m].
        opening: Radius of the opening [m].
        angle: Slope of the bottom to the horizontal [rad]; 0 for a flat one.
        wall: Thickness of wall and bottom [m].
    """
    for name, value in (("radius", radius), ("height", height), ("opening", opening), ("wall", wall)):
        require_positive(f"{name} of the hopper", value)
    if opening >= radius:
        raise InvalidValue(f"opening = {opening!r} cannot be used; give less than the radius of {radius:g} m.")
    if not (is_number(angle) and 0.0 <= angle <= 1.4):
        raise InvalidValue(f"angle = {angle!r} cannot be used; give a slope from 0 to 1.4 rad.")
    slope = math.tan(angle)
    step = wall / math.cos(angle)
    shoulder, outer = slope * (radius - opening), radius + wall
    return Revolved(
        ((opening, 0.0), (opening, -step), (outer, slope * (outer - opening) - step), (outer, shoulder + height),
         (radius, shoulder + height), (radius, shoulder))
    )  # fmt: skip


def _signed_area(corners: Floats) -> float:
    there = np.roll(corners, -1, axis=0)
    return 0.5 * float((corners[:, 0] * there[:, 1] - there[:, 0] * corners[:, 1]).sum())
