"""A hand of few nodes, for thousands of worlds: fingers are tubes of soft silicone that plates divide into chambers.

Plates and the inner side are of a stiffer one: the plates keep the tube from widening, so that air lengthens its outer
side and curls it inwards, as windings do in fingers of Galloway et al. 2016 (doi:10.1089/soro.2015.0019). Worlds that
are stepped together have no threads and no fabrics.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

from annelid import fem
from annelid.materials import Material, NeoHooke
from annelid.robots.soft_gripper import SoftGripper
from annelid.shapes import Surface, TetMesh
from annelid.shapes.tet.sections import rectangle, steps
from annelid.shapes.tet.sweep import swept
from annelid.shapes.values import require_count, require_positive

_SOFT, _STIFF = 0, 1  # regions of a finger
_POISSON, _DENSITY = 0.45, 1070.0  # [-], [kg/m³]
_MOST_FINGERS, _MOST_CHAMBERS = 8, 100


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
    """
    count = require_count("fingers", fingers, least=1, most=_MOST_FINGERS)
    opening, height = require_positive("opening", opening), require_positive("height", height)
    one = _finger(length, width, thickness, wall, chambers)
    hanging = one.rotated("y", 0.5 * math.pi).moved((opening, 0.0, height))
    mesh = reduce(add, [hanging.rotated("z", 2.0 * math.pi * k / count) for k in range(count)])
    materials = {_SOFT: _silicone("tube", moduli[0]), _STIFF: _silicone("plate", moduli[1])}
    solid = fem.Solid(mesh, materials, surface=Surface(friction=friction))
    solid.fix(np.tile(one.nodes[:, 0] < wall + 1e-9, count))
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


def _finger(length: float, width: float, thickness: float, wall: float, chambers: int) -> TetMesh:
    """A finger along x with its stiffer side at z = 0, to be held at x = 0."""
    rooms = require_count("chambers", chambers, least=1, most=_MOST_CHAMBERS)
    wall = require_positive("wall", wall)
    wide = require_positive("width of a finger less two walls", width - 2.0 * wall)
    high = require_positive("thickness of a finger less two walls", thickness - 2.0 * wall)
    long = require_positive("length of a chamber", (length - (rooms + 1) * wall) / rooms)
    section = rectangle(steps([wall, wide, wall], [1, 1, 1]) - 0.5 * width, steps([wall, high, wall], [1, 1, 1]))
    layers = steps([wall, *[long, wall] * rooms], [1] * (2 * rooms + 1))
    plate = np.arange(len(layers) - 1) % 2 == 0
    column, row = section.patches.T
    hollow = ~plate[:, None] & (column == 1) & (row == 1)
    regions = np.where(plate[:, None] | (row == 0), _STIFF, _SOFT)
    return swept(section, layers, keep=~hollow, regions=regions, place=lambda at: at[:, [2, 0, 1]])


def _silicone(name: str, modulus: float) -> Material:
    law = NeoHooke(require_positive("a modulus", modulus) / (2.0 + 2.0 * _POISSON))
    return Material.hyperelastic(name, law, density=_DENSITY, poisson_ratio=_POISSON)
