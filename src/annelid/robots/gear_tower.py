"""The layout of a tower of gears in a cylinder, through which grains run: places, phases and speeds, no physics."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from annelid.core.described import Described
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.shapes.gear import HelicalGear
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.primitives import Cylinder
from annelid.shapes.values import Floats, require_count, seeded

MOST_GEARS = 20

STANDARD = HelicalGear(teeth=14, module=0.02, height=0.24, helix_angle=math.radians(20.0), bore=0.04, backlash=1e-3)
"""The default gear of the tower."""


@dataclass(frozen=True, eq=False, repr=False)
class GearTower(Described):
    """Gears in a tall cylinder about the z axis that stands on z = 0.

    Attributes:
        meshes: The different gears, each about its own z axis: two of opposite hand, or one.
        kinds: Which of the meshes each gear is, shape [n].
        positions: Centres [m], shape [n, 3].
        orientations: Unit quaternions (x, y, z, w) that turn a mesh into its place, shape [n, 4].
        angular_velocities: In the frame of the world [rad/s], shape [n, 3].
        container: The cylinder.
    """

    meshes: tuple[TriangleMesh, ...]
    kinds: NDArray[np.int64]
    positions: Floats
    orientations: Floats
    angular_velocities: Floats
    container: Cylinder

    def facts(self) -> dict[str, str]:
        """Gears and cylinder."""
        size = f"{2.0 * self.container.radius:.4g} × {self.container.length:.4g} m"
        return {"gears": str(len(self.kinds)), "meshes": str(len(self.meshes)), "container": size}

    def placed(self) -> list[TriangleMesh]:
        """A mesh of each gear in its place."""
        turns = Rotation.from_quat(self.orientations).as_matrix()
        meshes = (self.meshes[kind] for kind in self.kinds)
        return [
            TriangleMesh(mesh.vertices @ turn.T + place, mesh.triangles)
            for mesh, turn, place in zip(meshes, turns, self.positions, strict=True)
        ]


def gear_tower(
    count: int = 10,
    *,
    gear: HelicalGear = STANDARD,
    arrangement: Literal["pairs", "single"] = "pairs",
    clearance: float = 0.0,
    headroom: float = 0.0,
    speed: float = 2.0,
    seed: int = 0,
) -> GearTower:
    """Gears on horizontal axes, level above level, each level turned by a right angle against the one below.

    In pairs, two gears of opposite hand mesh and carry upwards between them at a speed drawn from [speed/2, speed];
    grains cannot be drawn into the teeth from above. Of an odd number the last stands alone. Single gears are drawn
    from [-speed, speed], as in the published benchmark (Millard et al., sec. III B).

    Args:
        count: Number of gears, 1 to 20.
        gear: The gear; its partner in a pair is its mirror image.
        arrangement: Two meshing gears a level, or one.
        clearance: Gap between the pitch circles of a pair beyond meshing, and least gap to the wall and between levels
            beyond half a module [m]: two grain diameters let grains through.
        headroom: Free height above the last level [m].
        speed: Largest speed of rotation [rad/s].
        seed: Seed of the speeds.
    """
    count = require_count("count", count, least=1, most=MOST_GEARS)
    require_kind("gear", gear, HelicalGear, "a shapes.HelicalGear")
    if arrangement not in ("pairs", "single"):
        raise InvalidValue(f"arrangement = {arrangement!r} cannot be used; give 'pairs' or 'single'.")
    for name, value in (("clearance", clearance), ("headroom", headroom), ("speed", speed)):
        if not (is_number(value) and value >= 0.0):
            raise InvalidValue(f"{name} = {value!r} cannot be used; give a finite number of 0 or more.")
    pairs = arrangement == "pairs"
    level, second = np.divmod(np.arange(count), 2) if pairs else (np.arange(count), np.zeros(count, dtype=np.int64))
    alone = (second == 0) & (np.arange(count) == count - 1) if pairs else np.ones(count, dtype=bool)
    gap = clearance + 0.5 * gear.module
    apart = np.where(alone, 0.0, 2.0 * gear.pitch_radius + clearance)
    axes, across = _directions(level)
    reach = 0.5 * float(apart.max()) + gear.tip_radius
    pitch = 2.0 * gear.tip_radius + gap
    places = across * (apart * (second - 0.5))[:, None]
    places[:, 2] = gap + gear.tip_radius + pitch * level
    top = gap + pitch * (int(level.max()) + 1) + headroom
    radius = math.hypot(reach, 0.5 * gear.height) + gap
    phases = np.where(
        second == 1, math.pi + math.pi / gear.teeth, 0.0
    )  # a gap of the second faces the tooth of the first
    return GearTower(
        meshes=(gear.mesh(), replace(gear, helix_angle=-gear.helix_angle).mesh()) if pairs else (gear.mesh(),),
        kinds=second,
        positions=places,
        orientations=_quaternions(level, phases),
        angular_velocities=axes * _speeds(level, second, pairs, speed, seed)[:, None],
        container=Cylinder(radius, top, axis="z", center=(0.0, 0.0, 0.5 * top)),
    )


def _directions(level: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Axis of the gears and direction from the first to the second of a pair, whose cross product is up, [n, 3]."""
    turned = (level % 2)[:, None]
    axes = np.where(turned == 0, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    return axes, np.where(turned == 0, [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0])


def _quaternions(level: NDArray[np.int64], phases: Floats) -> Floats:
    """Turns that lay local (x, y, z) on (across, up, axis) after a turn by the phase about local z, shape [n, 4]."""
    # x to y, y to z, z to x is a third of a turn about (1, 1, 1); odd levels then turn by a quarter about z.
    lay = Rotation.from_quat(np.full(4, 0.5))
    quarter = Rotation.from_euler("z", np.where(level % 2 == 1, 0.5 * math.pi, 0.0)[:, None])
    return np.asarray((quarter * lay * Rotation.from_euler("z", phases[:, None])).as_quat())


def _speeds(level: NDArray[np.int64], second: NDArray[np.int64], pairs: bool, speed: float, seed: int) -> Floats:
    draws = seeded(seed).random(MOST_GEARS)[level]
    return speed * (0.5 + 0.5 * draws) * np.where(second == 1, -1.0, 1.0) if pairs else speed * (2.0 * draws - 1.0)
