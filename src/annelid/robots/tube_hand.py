"""A hand of few nodes, for thousands of worlds: its fingers are tubes of silicone between plates (`robots.tubes`)."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

from annelid import fem
from annelid.core.options import spelled_out
from annelid.materials import Material
from annelid.robots.soft_gripper import SoftGripper
from annelid.robots.things import SOFT_THING
from annelid.robots.tubes import tube_materials, tube_mesh
from annelid.shapes import Surface, TetMesh
from annelid.shapes.values import require_count, require_positive

_MOST_FINGERS = 8


@spelled_out("a hand of tubes")
def tube_hand(
    *,
    fingers: int = 2,
    opening: float = 0.04,
    height: float = 0.09,
    length: float = 0.08,
    width: float = 0.02,
    thickness: float = 0.018,
    wall: float = 2e-3,
    chambers: int = 5,
    moduli: tuple[float, float] = (70e3, 1e6),
    friction: float = 0.8,
    pressure: float = 25e3,
    pressure_rate: float = math.inf,
    soft_thing: tuple[TetMesh, Material] | None = None,
) -> SoftGripper:
    """Fingers that hang around the z axis and curl inwards, held by their uppermost plates, with a pressure each.

    Args:
        fingers: Number of fingers; the first is at x > 0.
        opening: Distance of the fingers from the axis [m].
        height: Height of their upper, held ends above the ground [m].
        length: Length of a finger [m].
        width: Width of a finger [m].
        thickness: Thickness of a finger [m].
        wall: Thickness of walls and plates [m].
        chambers: Chambers of a finger, which have one pressure; it has 32 nodes for each of them, and 32 more.
        moduli: Young's modulus of the tube, and of plates and inner side [Pa].
        friction: Coulomb friction of the fingers.
        pressure: Highest pressure [Pa].
        pressure_rate: Largest change of a pressure in a second [Pa/s].
        soft_thing: A mesh such as `egg_mesh` makes, and its material: another piece of the same solid, group "object",
            which fingers touch where the solid touches itself.
    """
    count = require_count("fingers", fingers, least=1, most=_MOST_FINGERS)
    opening, height = require_positive("opening", opening), require_positive("height", height)
    one = tube_mesh(length, width, thickness, wall, chambers)
    hanging = one.rotated("y", 0.5 * math.pi).moved((opening, 0.0, height))
    mesh = reduce(add, [hanging.rotated("z", 2.0 * math.pi * k / count) for k in range(count)])
    materials = tube_materials(*moduli)
    if soft_thing is not None:
        mesh, materials = mesh + soft_thing[0], {**materials, SOFT_THING: soft_thing[1]}
    solid = fem.Solid(mesh, materials, surface=Surface(friction=friction))
    held = np.tile(one.nodes[:, 0] < wall + 1e-9, count)
    solid.fix(np.flatnonzero(held))
    if soft_thing is not None:
        solid.group("object", np.arange(len(held), len(mesh.nodes)))
    tip, air = np.flatnonzero(one.nodes[:, 0] > length - 1e-9), np.concatenate(one.cavities())
    actuators = []
    for k in range(count):
        first = k * len(one.nodes)
        solid.group(f"finger-{k}", np.arange(len(one.nodes)) + first).group(f"tip-{k}", tip + first)
        cavity = fem.Cavity(air + first, f"air-{k}")
        limits = 0.0, pressure
        air_inside = fem.Pneumatic(name=f"air-{k}", cavity=cavity, pressure=limits, pressure_rate=pressure_rate)
        actuators.append(air_inside)
    return SoftGripper(solid, tuple(actuators), height - length)
