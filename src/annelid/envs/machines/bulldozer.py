"""A tracked bulldozer with a curved blade, drawn by its dimensions: a union of closed parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid.core.parameters import Checked, documented, parameter
from annelid.shapes import Box, Cylinder, TriangleMesh
from annelid.shapes.extrusion import band, joined, prism, ring
from annelid.shapes.values import Floats, Vector


@documented
@dataclass(frozen=True)
class Bulldozer(Checked):
    """A bulldozer that looks along x and stands on z = 0, the middle of its tracks above the origin."""

    of_what: ClassVar[str] = "a bulldozer"

    length: float = parameter(
        0.8,
        "Length of the machine without blade and arms [m]; every other size is in proportion unless given here.",
        unit="m",
        above=0.0,
    )
    blade_width: float = parameter(0.66, "Width of the blade [m].", unit="m", above=0.0)
    blade_height: float = parameter(0.26, "Height of the blade [m].", unit="m", above=0.0)
    blade_thickness: float = parameter(0.03, "Thickness of the blade [m].", unit="m", above=0.0)
    ground_clearance: float = parameter(0.008, "Height of the blade's edge above the ground [m].", unit="m", above=0.0)

    @property
    def gauge(self) -> float:
        """Distance between the middles of the tracks [m]."""
        return 0.55 * self.length

    @property
    def blade_reach(self) -> float:
        """Distance of the blade's edge in front of the origin [m]."""
        return 0.68 * self.length

    @property
    def windshield(self) -> tuple[Vector, Vector]:
        """Where a driver's eye is, in front of the glass, and a point that it looks at, both [m]."""
        size = self.length
        return (0.10 * size, 0.0, 0.68 * size), (1.2 * size, 0.0, 0.1 * size)

    def parts(self) -> dict[str, TriangleMesh]:
        """The parts by name. Each is closed."""
        return {
            "tracks": joined(self._track(side) for side in (-1, 1)),
            "wheels": joined(self._wheels(side) for side in (-1, 1)),
            "chassis": self._plate([(-0.40, 0.10), (0.40, 0.10), (0.44, 0.16), (0.40, 0.30), (-0.40, 0.30)], 0.40),
            "hood": self._plate(
                [(0.00, 0.28), (0.42, 0.28), (0.44, 0.32), (0.43, 0.47), (0.38, 0.52), (0.00, 0.55)], 0.34
            ),
            "cabin": self._plate([(-0.30, 0.28), (0.03, 0.28), (0.07, 0.50), (-0.02, 0.80), (-0.30, 0.80)], 0.36),
            "roof": self._plate(
                [(-0.33, 0.785), (0.03, 0.785), (0.02, 0.83), (-0.02, 0.845), (-0.28, 0.845), (-0.33, 0.83)], 0.42
            ),
            "rear": self._plate([(-0.46, 0.18), (-0.26, 0.18), (-0.26, 0.50), (-0.43, 0.50), (-0.46, 0.44)], 0.38),
            "exhaust": self._exhaust(),
            "fenders": joined(self._fender(side) for side in (-1, 1)),
            "blade": self._blade(),
            "edge": self._edge(),
            "arms": joined(self._arm(side) for side in (-1, 1)),
            "rams": joined(self._ram(side) for side in (-1, 1)),
        }

    def mesh(self) -> TriangleMesh:
        """All of it as one mesh; its parts overlap, which signed distances of a union allow."""
        return joined(self.parts().values())

    def _plate(self, outline: list[tuple[float, float]], width: float, y: float = 0.0) -> TriangleMesh:
        """A convex outline in lengths of the machine."""
        size = self.length
        return prism(size * np.array(outline), size * width, y=size * y)

    def _track(self, side: int) -> TriangleMesh:
        """A loop around two wheels, with a cleat on every other shoe."""
        size = self.length
        outline, outward = _loop(0.60 * size, 0.13 * size, shoes=30)
        cleat = np.where(np.arange(len(outline)) % 4 < 2, 0.018 * size, 0.0)
        center = np.array([0.0, 0.148 * size])
        outer = outline + cleat[:, None] * outward + center
        return ring(outer, outline - 0.004 * size * outward + center, 0.15 * size, y=0.5 * side * self.gauge)

    def _wheels(self, side: int) -> TriangleMesh:
        """Hubs that stand out of the sides of a track, for the look of it."""
        size, y = self.length, 0.5 * side * self.gauge + side * 0.075 * self.length
        big = [(x, 0.105) for x in (-0.30, 0.30)]
        small = [(x, 0.045) for x in (-0.16, 0.0, 0.16)]
        height = {0.105: 0.148, 0.045: 0.08}
        return joined(
            Cylinder(r * size, 0.02 * size, axis="y", center=(x * size, y, height[r] * size)).surface(32)
            for x, r in big + small
        )

    def _fender(self, side: int) -> TriangleMesh:
        outline = [(-0.34, 0.31), (0.30, 0.31), (0.36, 0.285), (0.36, 0.30), (0.30, 0.335), (-0.34, 0.335)]
        size = self.length
        first, second = outline[:3], outline[:2:-1]
        return band(size * np.array(first), size * np.array(second), 0.16 * size, y=0.5 * side * self.gauge)

    def _exhaust(self) -> TriangleMesh:
        size = self.length
        pipe = Cylinder(0.022 * size, 0.22 * size, center=(0.24 * size, 0.08 * size, 0.61 * size))
        return pipe.surface(24)

    def _profile(self) -> Floats:
        """The front of the blade from the edge up, (x, z) [m]: an arc that rolls the soil forwards."""
        angle = np.radians(np.linspace(-48.0, 38.0, 25))
        arc = np.stack([-np.cos(angle), np.sin(angle)], axis=1)
        arc -= arc[0]
        arc *= self.blade_height / arc[-1, 1]
        return arc + np.array([self.blade_reach, self.ground_clearance])

    def _blade(self) -> TriangleMesh:
        front = self._profile()
        tangent = np.gradient(front, axis=0)
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        back = front - self.blade_thickness * np.stack([tangent[:, 1], -tangent[:, 0]], axis=1)
        plate = band(front, back, self.blade_width)
        lift = np.minimum(back[:, 1], front[:, 1])
        return joined([_lifted(plate, self.ground_clearance - float(lift.min())), *map(self._wing, (-1, 1))])

    def _wing(self, side: int) -> TriangleMesh:
        """An end plate that keeps soil from running off the side."""
        front = self._profile()
        nose = front.copy()
        nose[:, 0] = np.maximum(front[:, 0], self.blade_reach + 0.02 * self.length - 0.06 * self.length * _rise(front))
        y = 0.5 * side * (self.blade_width - 0.9 * self.blade_thickness)
        shift = np.array([0.6 * self.blade_thickness, 0.0])
        return band(nose + 1e-3 * self.length * np.array([1.0, 0.0]), front - shift, self.blade_thickness, y=y)

    def _edge(self) -> TriangleMesh:
        """The bar that cuts."""
        x, z, bar = self.blade_reach, self.ground_clearance, self.blade_thickness
        outline = np.array([(x - 0.8 * bar, z), (x + 0.6 * bar, z), (x + 0.2 * bar, z + bar), (x - 0.8 * bar, z + bar)])
        return prism(outline, self.blade_width)

    def _arm(self, side: int) -> TriangleMesh:
        """A beam from the side of a track to the back of the blade."""
        size = self.length
        y = side * (0.5 * self.gauge + 0.115 * size)
        ends = np.array(
            [(-0.05 * size, 0.15 * size), (0.42 * size, 0.13 * size), (self.blade_reach - 0.14 * size, 0.11 * size)]
        )
        half = np.array([0.0, 0.03 * size])
        beam = band(ends - half, ends + half, 0.045 * size, y=y)
        pin = Cylinder(0.04 * size, 0.09 * size, axis="y", center=(-0.05 * size, y - side * 0.03 * size, 0.15 * size))
        x = self.blade_reach - 0.125 * size
        foot = Box((0.05 * size, 0.075 * size, 0.10 * size), center=(x, y - side * 0.015 * size, 0.11 * size))
        return joined([beam, pin.surface(24), foot.surface()])

    def _ram(self, side: int) -> TriangleMesh:
        """A hydraulic cylinder between hood and blade: a thick half and a thin one."""
        size, y = self.length, side * 0.125 * self.length
        a = np.array([0.36 * size, y, 0.40 * size])
        b = np.array([self.blade_reach - 0.15 * size, y, 0.62 * self.blade_height])
        middle = 0.45 * a + 0.55 * b
        return joined([_rod(a, middle, 0.030 * size), _rod(middle, b, 0.018 * size)])


def _loop(length: float, radius: float, shoes: int) -> tuple[Floats, Floats]:
    """Points around two half circles and two straights, (x, z), and unit vectors outwards; four points a shoe."""
    perimeter = 2.0 * length + 2.0 * math.pi * radius
    way = np.arange(4 * shoes) / (4 * shoes) * perimeter
    # Cleats have upright sides: the points of a pair lie close together.
    way = way.reshape(-1, 2) + np.array([0.0, 0.8]) * perimeter / (4 * shoes)
    way = np.sort(way.ravel()) % perimeter
    arc = math.pi * radius
    knots = np.cumsum([0.0, length, arc, length, arc])
    bottom, front, top = (way >= knots[0]) & (way < knots[1]), (way >= knots[1]) & (way < knots[2]), way < knots[3]
    top &= ~(bottom | front)
    angle = np.where(front, (way - knots[1]) / radius, np.where(top, math.pi, (way - knots[3]) / radius + math.pi))
    angle = np.where(bottom, 0.0, angle) - 0.5 * math.pi
    middle = np.where(bottom, way - 0.5 * length, np.where(front, 0.5 * length, np.where(top, knots[2] - way, 0.0)))
    middle = np.where(top, middle + 0.5 * length, middle)
    middle = np.where(bottom | front | top, middle, -0.5 * length)
    outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.stack([middle, np.zeros_like(middle)], axis=1) + radius * outward, outward


def _rise(profile: Floats) -> Floats:
    """0 at the edge of the blade, 1 at its top."""
    return (profile[:, 1] - profile[0, 1]) / (profile[-1, 1] - profile[0, 1])


def _lifted(mesh: TriangleMesh, height: float) -> TriangleMesh:
    return mesh.moved((0.0, 0.0, max(height, 0.0)))


def _rod(a: Floats, b: Floats, radius: float) -> TriangleMesh:
    way, middle = b - a, 0.5 * (a + b)
    axis = (float(way[0]), float(way[1]), float(way[2]))
    center = (float(middle[0]), float(middle[1]), float(middle[2]))
    return Cylinder(radius, float(np.linalg.norm(way)), axis=axis, center=center).surface(24)
