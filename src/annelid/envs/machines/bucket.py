"""A digging bucket for the flange of an arm: curved shell, cheeks, mount and teeth, closed and of some thickness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.shapes import Box, Cylinder, TriangleMesh
from annelid.shapes.extrusion import band, joined, prism
from annelid.shapes.values import Floats, Vector

_MOUNT = 0.030  # height of the mount below the flange [m]
_POINTS = 33


@documented
@dataclass(frozen=True)
class Bucket(Checked):
    """A bucket below a flange: the flange is at z = 0 and looks along z, the mouth opens along x."""

    of_what: ClassVar[str] = "a bucket"

    width: float = parameter(0.15, "Width along y, outside [m].", unit="m", above=0.0)
    depth: float = parameter(0.15, "Length of the floor from the back to the edge, outside [m].", unit="m", above=0.0)
    height: float = parameter(0.12, "Height of the mouth, outside [m].", unit="m", above=0.0)
    thickness: float = parameter(0.008, "Thickness of the walls [m].", unit="m", above=0.0)
    teeth: int = parameter(4, "Number of teeth at the edge.", limits=(0, 20))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thickness > 0.2 * min(self.width, self.depth, self.height):
            least = 0.2 * min(self.width, self.depth, self.height)
            raise InvalidValue(
                f"thickness = {self.thickness:g} leaves no room in the bucket; give at most {least:.3g} m."
            )

    @property
    def lip(self) -> Vector:
        """Middle of the cutting edge [m], without teeth."""
        x, z = self._outside()[-1]
        return float(x), 0.0, float(z)

    @property
    def capacity(self) -> float:
        """Volume that it holds, filled to the plane of its mouth [m^3]."""
        return self.hold().volume

    def hold(self) -> TriangleMesh:
        """The space inside, up to the plane of its mouth: what lies in it is carried."""
        return prism(self._inside(), self.width - 2.0 * self.thickness)

    def parts(self) -> dict[str, TriangleMesh]:
        """The parts by name, each closed: shell, cheeks, mount, teeth."""
        parts = {
            "shell": band(self._outside(), self._inside(), self.width - self.thickness),
            "cheeks": self._cheeks(),
            "mount": self._mount(),
        }
        if self.teeth:
            parts["teeth"] = joined(self._tooth(y) for y in self._places())
        return parts

    def mesh(self) -> TriangleMesh:
        """All of it as one mesh; its parts overlap, which signed distances of a union allow."""
        return joined(self.parts().values())

    def _outside(self) -> Floats:
        """The outer wall from the upper rim around the back to the edge, (x, z) [m]: a straight, an arc, a straight."""
        radius = 0.5 * self.height
        turn = np.linspace(-0.5 * math.pi, 0.5 * math.pi, _POINTS - 2)
        arc = np.stack([-radius * np.cos(turn), radius + radius * np.sin(turn)], axis=1)
        ends = np.array([(0.75 * self.depth - radius, 0.0), (self.depth - radius, self.height)])
        curve = np.concatenate([ends[:1], arc, ends[1:]])
        return curve + np.array([-0.5 * (0.75 * self.depth - radius), _MOUNT])

    def _inside(self) -> Floats:
        """The inner wall, point by point beside the outer one."""
        outside = self._outside()
        tangent = np.gradient(outside, axis=0)
        tangent[0], tangent[-1] = outside[1] - outside[0], outside[-1] - outside[-2]
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        inside = outside + self.thickness * np.stack([tangent[:, 1], -tangent[:, 0]], axis=1)
        inside[0, 1] = outside[0, 1] + self.thickness
        return inside

    def _cheeks(self) -> TriangleMesh:
        y = 0.5 * (self.width - self.thickness)
        return joined(prism(self._outside(), self.thickness, y=side * y) for side in (-1, 1))

    def _mount(self) -> TriangleMesh:
        """A round flange and a block that sinks into the shell's upper wall."""
        top = _MOUNT + self.thickness
        flange = Cylinder(0.0315, 0.010, center=(0.0, 0.0, 0.005)).surface(40)
        block = Box((0.045, 0.05, top - 0.008), center=(0.0, 0.0, 0.5 * (top + 0.004)))
        return joined([flange, block.surface()])

    def _places(self) -> Floats:
        edge = 0.38 * self.width
        return np.linspace(-edge, edge, self.teeth) if self.teeth > 1 else np.zeros(1)

    def _tooth(self, y: float) -> TriangleMesh:
        """A wedge on the floor's edge."""
        (x, z), wall = self._outside()[-1], self.thickness
        outline = [(x - 0.02, z), (x + 0.028, z - 0.1 * wall), (x - 0.004, z - 1.3 * wall), (x - 0.02, z - 1.3 * wall)]
        return prism(np.array(outline), 0.09 * self.width, y=y)
