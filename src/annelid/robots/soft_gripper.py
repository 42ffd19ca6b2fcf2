"""A hand of pneumatic fingers that hang from a palm and curl inwards, to be lifted with what they hold.

Fingers are pneu-nets after Mosadegh et al. 2014 (doi:10.1002/adfm.201303288): chambers in a row over a sheet that does
not stretch. Hands like this are those of Ilievski et al. 2011 (doi:10.1002/anie.201006464) and Galloway et al. 2016.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from annelid import fem
from annelid.core.described import Described, listed
from annelid.core.options import spelled_out
from annelid.core.simulation import Simulation
from annelid.materials import Material
from annelid.robots.finger import finger_mesh
from annelid.shapes import Obstacle, Path, Surface, TetMesh, tet_cylinder
from annelid.shapes.values import require_count, require_positive

_SHEET = 1e9, 1e-4  # Young's modulus [Pa] and thickness [m]
_PALM = 0.008  # thickness [m]
_MOST_FINGERS = 8


@dataclass(frozen=True, eq=False, repr=False)
class SoftGripper(Described):
    """A hand of soft fingers; made by `gripper`.

    Attributes:
        solid: Fingers and palm as one solid, the palm held all through, which touches nothing; groups "finger-0",
            "finger-1"... are the nodes of fingers.
        actuators: Air in the fingers: "air", or one each, "air-0", "air-1"...
        tips: Height of the finger tips at rest [m].
    """

    solid: fem.Solid
    actuators: tuple[fem.Pneumatic, ...]
    tips: float

    def facts(self) -> dict[str, str]:
        """Size, actuators and height of the tips."""
        return {
            "nodes": str(self.solid.node_count),
            "actuators": listed(each.name for each in self.actuators),
            "tips": f"{self.tips:.4g} m",
        }

    def simulation(self, obstacles: Sequence[Obstacle], *, dt: float = 0.01, **options: Any) -> Simulation[fem.Solver]:
        """The hand among obstacles, in motion; options are those of `fem.simulation`.

        Fingers stick in the palm that carries them, and so do not touch it or each other.
        """
        options.setdefault("contact", fem.Contact(itself=False))
        return fem.simulation(self.solid, obstacles=obstacles, actuators=self.actuators, dt=dt, **options)


@spelled_out("a gripper")
def gripper(
    *,
    fingers: int = 3,
    opening: float = 0.03,
    height: float = 0.09,
    length: float = 0.08,
    width: float = 0.02,
    thickness: float = 0.018,
    chambers: int = 4,
    silicone: str | Material = "dragon-skin-10/yeoh",
    friction: float = 0.8,
    pressure: float = 20e3,
    separate: bool = False,
    motion: Path | None = None,
) -> SoftGripper:
    """Fingers that hang from a palm around the z axis, their sheets inwards.

    Args:
        fingers: Number of fingers.
        opening: Distance of the fingers from the axis [m].
        height: Height of their upper, held ends above the ground [m].
        length: Length of a finger [m].
        width: Width of a finger [m].
        thickness: Thickness of a finger [m].
        chambers: Number of chambers of a finger.
        silicone: Material.
        friction: Coulomb friction of the fingers.
        pressure: Highest pressure [Pa].
        separate: Whether each finger has a pressure of its own, or all the same.
        motion: Path that palm and held ends follow; where it begins does not matter. None leaves them where they are.
    """
    count = require_count("fingers", fingers, least=1, most=_MOST_FINGERS)
    opening, height = require_positive("opening", opening), require_positive("height", height)
    width, thickness = require_positive("width", width), require_positive("thickness", thickness)
    one = finger_mesh(
        length=length,
        width=width,
        height=thickness,
        chambers=chambers,
        channel=(0.3 * width, 0.2 * thickness),
        arch=0.0,
    )
    hanging = one.rotated("y", 0.5 * math.pi).moved((opening, 0.0, height))
    hand = reduce(add, [hanging.rotated("z", 2.0 * math.pi * k / count) for k in range(count)])
    palm = tet_cylinder(opening + thickness, _PALM, cells=2, layers=1, axis="z").moved((0.0, 0.0, height))
    rest = np.zeros(len(palm.nodes), bool)
    sheets = np.concatenate([np.tile(one.nodes[:, 2] < 1e-9, count), rest])
    ends = np.concatenate([np.tile(one.nodes[:, 0] < 1e-9, count), ~rest])
    mesh = hand + palm
    solid = fem.Solid(mesh, silicone, surface=Surface(friction=friction))
    solid.fix(ends, motion=motion)
    solid.reinforce(fem.Fabric(sheets, modulus=_SHEET[0], thickness=_SHEET[1], direction="z", name="sheet"))
    for k in range(count):
        solid.group(f"finger-{k}", np.arange(len(one.nodes)) + k * len(one.nodes))
    return SoftGripper(solid, _air(mesh, count, pressure, separate), height - length)


def _air(mesh: TetMesh, count: int, pressure: float, separate: bool) -> tuple[fem.Pneumatic, ...]:
    cavities, limits = mesh.cavities(), (0.0, require_positive("pressure", pressure))
    if not separate:
        return (fem.Pneumatic(name="air", cavity=fem.Cavity(np.concatenate(cavities), "air"), pressure=limits),)
    return tuple(fem.Pneumatic(name=f"air-{k}", cavity=k, pressure=limits) for k in range(count))
