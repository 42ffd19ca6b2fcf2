"""A round bellows: folds that open, so that it lengthens under pressure and shortens under suction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.options import spelled_out
from annelid.materials import Material
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.sections import disk, steps
from annelid.shapes.tet.sweep import along_axis, swept
from annelid.shapes.values import Floats, require_count, require_positive

_MOST, _MOST_RESOLUTION = 1000, 50


@spelled_out("a bellows")
def bellows(
    *,
    folds: int = 5,
    depth: float = 4e-3,
    length: float = 0.06,
    radius: float = 0.015,
    wall: float = 2e-3,
    silicone: str | Material = "dragon-skin-20/ogden",
    pressure: tuple[float, float] = (-3e3, 10e3),
    resolution: int = 1,
    device: Any = "auto",
    threads: int | None = None,
) -> fem.Robot:
    """The bellows along x, held at x = 0; actuator "air", effector "tip".

    Args:
        folds: Number of folds.
        depth: How far they go in from the radius [m].
        length: Length with both ends [m].
        radius: Largest outer radius [m].
        wall: Thickness of the wall, measured along the radius, and of the ends [m].
        silicone: Material.
        pressure: Lowest and highest pressure [Pa].
        resolution: Circles are polygons of 8 times as many sides.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    mesh = bellows_mesh(folds=folds, depth=depth, length=length, radius=radius, wall=wall, resolution=resolution)
    solid = fem.Solid(mesh, silicone).fix(lambda p: p[:, 0] < 1e-9)
    air = fem.Pneumatic(name="air", pressure=pressure)
    tip = fem.Point(name="tip", at=(length, 0.0, 0.0))
    return fem.Robot(solid, [air], [tip], device=device, threads=threads)


@spelled_out("a mesh of a bellows")
def bellows_mesh(
    *,
    folds: int = 5,
    depth: float = 4e-3,
    length: float = 0.06,
    radius: float = 0.015,
    wall: float = 2e-3,
    resolution: int = 1,
    rings: int = 1,
    layers: int = 4,
) -> TetMesh:
    """A closed tube along x with one cavity, whose wall is a wave that begins and ends in a valley.

    Args:
        folds: Number of waves.
        depth: From the crests to the valleys [m].
        length: Length with both ends [m].
        radius: Outer radius of the crests [m].
        wall: Thickness of the wall, measured along the radius, and of the ends [m].
        resolution: Half the cells along a side of the core of the ends; circles are polygons of 8 times as many sides.
        rings: Cells through the wall.
        layers: Cells along a fold, an even number.
    """
    number = require_count("folds", folds, least=1, most=_MOST)
    each = require_count("layers", layers, least=2, most=_MOST)
    if each % 2:
        raise InvalidValue(f"layers = {each} cannot be used; give an even number, so that folds have crests.")
    wall, depth = require_positive("wall", wall), require_positive("depth", depth)
    bore = require_positive("radius", radius) - wall - depth
    inside = require_positive("length", length) - 2.0 * wall
    if bore <= 0.0 or inside <= 0.0:
        raise InvalidValue(
            f"wall = {wall:g} m and depth = {depth:g} m leave no cavity in a bellows of radius {radius:g} m and length "
            f"{length:g} m; make them smaller."
        )
    fine = require_count("resolution", resolution, least=1, most=_MOST_RESOLUTION)
    rings = require_count("rings", rings, least=1, most=_MOST)
    section = disk([0.6 * bore, *np.linspace(bore, bore + wall, rings + 1)], cells=2 * fine)
    heights = steps([wall, inside, wall], [1, number * each, 1])
    middle = np.zeros(len(heights) - 1, bool)
    middle[1:-1] = True
    turn = along_axis("x")

    def place(positions: Floats) -> Floats:
        """Move the wall outwards by the wave, and stretch what it encloses."""
        around, along = np.hypot(positions[:, 0], positions[:, 1]), positions[:, 2]
        phase = 2.0 * math.pi * number * np.clip((along - wall) / inside, 0.0, 1.0)
        wave = 0.5 * depth * (1.0 - np.cos(phase))
        grown = 1.0 + wave / np.maximum(around, bore)
        return turn(positions * np.column_stack([grown, grown, np.ones(len(along))]))

    keep = ~(middle[:, None] & (section.patches[:, 0] <= 1))
    return swept(section, heights, keep=keep, place=place)
