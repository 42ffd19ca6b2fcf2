"""Involute helical gears as closed meshes: the exact transverse profile, twisted along the axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.values import Floats, require_count, require_positive

_DEDENDUM = 1.25  # depth of the root below the pitch circle, in modules; the tip stands one module above it
_TWIST = math.radians(3.0)  # of a layer at most: a chord then leaves the helix by less than 4e-4 of the radius


@dataclass(frozen=True)
class HelicalGear:
    """An involute gear about the z axis, centred at the origin, a tooth pointing along x at half its height.

    The circles lie in the transverse plane; r = m_t z / 2 with m_t = m / cos β, base circle r cos α_t with
    tan α_t = tan α / cos β. At the radius ρ half a tooth covers the angle π/2z + inv α_t − inv acos(r_b/ρ).

    Attributes:
        teeth: Number of teeth z.
        module: Normal module m [m]: the tip is one module above the pitch circle, the root 1.25 below.
        height: Length along the axis [m].
        pressure_angle: Normal pressure angle α [rad].
        helix_angle: Angle β of the teeth to the axis at the pitch circle [rad]; right-handed if positive, 0 for a spur.
        bore: Radius of a hole along the axis [m]; 0 for none.
        backlash: Play of two such gears along the pitch circle [m].
    """

    teeth: int
    module: float
    height: float
    pressure_angle: float = math.radians(20.0)
    helix_angle: float = math.radians(20.0)
    bore: float = 0.0
    backlash: float = 0.0

    def __post_init__(self) -> None:
        require_count("teeth", self.teeth, least=5, most=1000)
        require_positive("module of the gear", self.module)
        require_positive("height of the gear", self.height)
        _require_angle("pressure_angle", self.pressure_angle, 0.1, 0.7)
        _require_angle("helix_angle", self.helix_angle, -1.2, 1.2)
        least, most = 0.05 * self.root_radius, 0.9 * self.root_radius
        if not is_number(self.bore) or (self.bore != 0.0 and not least <= self.bore <= most):
            raise InvalidValue(
                f"bore = {self.bore!r} cannot be used; give 0 or a radius from {least:.3g} to {most:.3g} m."
            )
        if not is_number(self.backlash) or not 0.0 <= self.backlash <= self.module:
            raise InvalidValue(f"backlash = {self.backlash!r} cannot be used; give 0 to one module, {self.module:g} m.")
        if self._half_tooth(np.array(self.tip_radius)) <= 0.0:
            raise InvalidValue(
                f"teeth = {self.teeth} with a pressure angle of {self.pressure_angle:.3g} rad come to a point below "
                "the tip; use more teeth or a smaller pressure angle."
            )

    @property
    def transverse_module(self) -> float:
        """Module in the plane across the axis [m]."""
        return self.module / math.cos(self.helix_angle)

    @property
    def pitch_radius(self) -> float:
        """Radius of the circle that rolls on that of another gear [m]."""
        return 0.5 * self.transverse_module * self.teeth

    @property
    def base_radius(self) -> float:
        """Radius of the circle that the involute unwinds from [m]."""
        return self.pitch_radius * math.cos(self._transverse_pressure_angle)

    @property
    def tip_radius(self) -> float:
        """Largest radius [m]."""
        return self.pitch_radius + self.module

    @property
    def root_radius(self) -> float:
        """Radius between the teeth [m]."""
        return self.pitch_radius - _DEDENDUM * self.module

    @property
    def twist(self) -> float:
        """Angle by which the top is turned against the bottom [rad]."""
        return self.height * math.tan(self.helix_angle) / self.pitch_radius

    def mesh(self, *, flank_points: int = 10, arc_points: int = 3) -> TriangleMesh:
        """The gear as a closed mesh.

        Args:
            flank_points: Points on each involute.
            arc_points: Points on the arc of a tip and on that between two teeth, without their ends.
        """
        flank = require_count("flank_points", flank_points, least=2, most=1000)
        arc = require_count("arc_points", arc_points, least=0, most=1000)
        radius, angle, tooth = self._contour(flank, arc)
        layers = max(math.ceil(abs(self.twist) / _TWIST), 1)
        heights = np.linspace(-0.5, 0.5, layers + 1)
        walls = [_Wall(radius, angle, outwards=True)]
        if self.bore > 0.0:
            walls.append(_Wall(np.full(len(tooth.root), self.bore), angle[tooth.root], outwards=False))
        vertices, triangles = _extruded(walls, heights * self.height, heights * self.twist)
        ring = len(radius) * len(heights) + np.arange(len(tooth.root)) if self.bore > 0.0 else None
        lid = np.concatenate([tooth.triangles, _hub(tooth.root, ring, len(vertices))])
        above = np.array([layers * len(radius), layers * len(tooth.root), 1])  # contour, bore or centre, second centre
        top = lid + _offsets(lid, len(radius) * len(heights), len(vertices), above)
        if self.bore == 0.0:
            vertices = np.concatenate([vertices, [(0.0, 0.0, -0.5 * self.height), (0.0, 0.0, 0.5 * self.height)]])
        return TriangleMesh(vertices, np.concatenate([triangles, lid[:, ::-1], top]))

    @cached_property
    def _transverse_pressure_angle(self) -> float:
        return math.atan(math.tan(self.pressure_angle) / math.cos(self.helix_angle))

    def _half_tooth(self, radius: Floats) -> Floats:
        """Half the angle that a tooth covers at a radius [rad]."""
        involute = np.arccos(np.minimum(self.base_radius / radius, 1.0))
        at_pitch = math.pi / (2 * self.teeth) - self.backlash / (4.0 * self.pitch_radius)
        return at_pitch + _inv(self._transverse_pressure_angle) - _inv(involute)

    def _contour(self, flank_points: int, arc_points: int) -> tuple[Floats, Floats, _Teeth]:
        """Radius [m] and angle [rad] around the transverse section, shape [n], and how its teeth are triangulated."""
        start = max(self.base_radius, self.root_radius)
        flank = np.linspace(start, self.tip_radius, flank_points)
        half = self._half_tooth(flank)
        if self.root_radius < start * (1.0 - 1e-9):  # straight to the root, below the base circle
            flank, half = np.concatenate([[self.root_radius], flank]), np.concatenate([half[:1], half])
        pitch = 2.0 * math.pi / self.teeth
        if half[0] >= 0.5 * pitch:
            raise InvalidValue(f"teeth = {self.teeth} leave no room between them at the root; use more teeth.")
        between = np.linspace(-1.0, 1.0, arc_points + 2)[1:-1]
        tip, root = half[-1] * between, 0.5 * pitch + (0.5 * pitch - half[0]) * between
        tips, roots = np.full(arc_points, self.tip_radius), np.full(arc_points, self.root_radius)
        radius = np.concatenate([flank, tips, flank[::-1], roots])
        angle = np.concatenate([-half, tip, half[::-1], root])
        angles = (pitch * np.arange(self.teeth)[:, None] + angle).ravel()
        return np.tile(radius, self.teeth), angles, _Teeth.of(self.teeth, len(flank), arc_points)


def helical_gear(
    teeth: int,
    module: float,
    height: float,
    *,
    pressure_angle: float = math.radians(20.0),
    helix_angle: float = math.radians(20.0),
    bore: float = 0.0,
    backlash: float = 0.0,
) -> TriangleMesh:
    """An involute helical gear about the z axis as a closed mesh; see `HelicalGear` for the arguments."""
    return HelicalGear(teeth, module, height, pressure_angle, helix_angle, bore, backlash).mesh()


@dataclass(frozen=True, eq=False)
class _Teeth:
    """Where the teeth are in the contour: their triangles, and the points of the root circle that the hub begins at."""

    triangles: NDArray[np.int64]
    root: NDArray[np.int64]

    @classmethod
    def of(cls, teeth: int, flank: int, arc: int) -> _Teeth:
        """A tooth is strips between its flanks and a fan below its tip, all counter-clockwise."""
        per_tooth = 2 * (flank + arc)
        low, high = np.arange(flank), 2 * flank + arc - 1 - np.arange(flank)
        strips = [(low[:-1], high[1:], high[:-1]), (low[:-1], low[1:], high[1:])]
        tip = np.arange(flank - 1, flank + arc)
        fan = (np.full(arc, flank - 1), tip[1:], tip[1:] + 1)
        one = np.concatenate([np.stack(part, axis=1) for part in (*strips, fan)])
        root = np.concatenate([[0], 2 * flank + arc - 1 + np.arange(arc + 1)])
        shift = per_tooth * np.arange(teeth)
        return cls((one + shift[:, None, None]).reshape(-1, 3), (root + shift[:, None]).ravel())


@dataclass(frozen=True, eq=False)
class _Wall:
    """A closed curve around the axis that is extruded."""

    radius: Floats
    angle: Floats
    outwards: bool


def _extruded(walls: list[_Wall], heights: Floats, twists: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Vertices, wall by wall and layer by layer, and the triangles between layers."""
    vertices, triangles, first = [], [], 0
    for wall in walls:
        angle = wall.angle + twists[:, None]
        place = np.broadcast_to(heights[:, None], angle.shape)
        vertices.append(np.stack([wall.radius * np.cos(angle), wall.radius * np.sin(angle), place], -1).reshape(-1, 3))
        here = first + np.arange(angle.size).reshape(angle.shape)
        on = np.roll(here, -1, axis=1)
        quads = [(here[:-1], on[:-1], on[1:]), (here[:-1], on[1:], here[1:])]
        faces = np.concatenate([np.stack(quad, axis=-1).reshape(-1, 3) for quad in quads])
        triangles.append(faces if wall.outwards else faces[:, ::-1])
        first += angle.size
    return np.concatenate(vertices), np.concatenate(triangles)


def _hub(root: NDArray[np.int64], ring: NDArray[np.int64] | None, center: int) -> NDArray[np.int64]:
    """Triangles between the root circle and the bore, or the centre where there is none, counter-clockwise."""
    on = np.roll(root, -1)
    if ring is None:
        return np.stack([np.full(len(root), center), root, on], axis=1)
    inner = np.roll(ring, -1)
    return np.concatenate([np.stack([root, on, inner], axis=1), np.stack([root, inner, ring], axis=1)])


def _offsets(lid: NDArray[np.int64], contour: int, all_rings: int, above: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far the vertices of the top lie behind those of the bottom: those of the contour, the bore, the centre."""
    return above[(lid >= contour).astype(int) + (lid >= all_rings)]


def _inv(angle: Floats | float) -> Floats:
    """The involute function tan a − a."""
    return np.tan(angle) - angle


def _require_angle(name: str, value: float, least: float, most: float) -> None:
    if not (isinstance(value, (int, float)) and least <= value <= most):
        raise InvalidValue(f"{name} = {value!r} cannot be used; give an angle from {least:g} to {most:g} rad.")
