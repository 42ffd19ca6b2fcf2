"""A tube wound with thread that lengthens, shortens, twists or bends, as its winding says (Connolly et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from annelid import fem
from annelid.core.options import spelled_out
from annelid.materials import Material
from annelid.shapes import tet_hollow_cylinder
from annelid.shapes.values import require_count, require_positive

_MOST_RESOLUTION = 50


@spelled_out("a fibre actuator")
def fibre_actuator(
    *,
    angle: float = math.radians(80.0),
    double: bool = True,
    starts: int = 2,
    limited: bool = True,
    stiffness: float = 500.0,
    length: float = 0.1,
    radius: float = 0.01,
    wall: float = 2e-3,
    silicone: str | Material = "dragon-skin-20/ogden",
    ends: str | Material | None = None,
    pressure: float = 60e3,
    resolution: int = 1,
    device: Any = "auto",
    threads: int | None = None,
) -> fem.Robot:
    """The tube along x, held at x = 0; actuator "air", effector "tip", threads "winding" and "limit".

    Args:
        angle: Angle between winding and axis [rad]; above 54.7 degrees it lengthens, below it shortens.
        double: Whether threads of both hands cross; a single winding twists it.
        starts: Helices of one hand.
        limited: Whether a thread along -z keeps the length of that side, so that it bends to it.
        stiffness: EA of all threads [N].
        length: Length with both ends [m].
        radius: Outer radius, on which the winding lies [m].
        wall: Thickness of the wall and of the ends [m].
        silicone: Material of the tube.
        ends: Material of both ends, which no thread holds: plugs of a stiff one, such as "tpu", bear high pressures;
            None is that of the tube, whose ends swell like balloons.
        pressure: Highest pressure [Pa].
        resolution: The tube is a polygon of 8 times as many sides.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    cells = 2 * require_count("resolution", resolution, least=1, most=_MOST_RESOLUTION)
    wall, radius = require_positive("wall", wall), require_positive("radius", radius)
    inside = require_positive("length", length) - 2.0 * wall
    layers = max(round(2.0 * cells * inside / (math.pi * radius)), 2)
    mesh = tet_hollow_cylinder(radius, length, wall=wall, cells=cells, layers=layers, axis="x")
    middles = mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0]
    is_end = (middles < wall) | (middles > length - wall)
    materials = {0: silicone, 1: silicone if ends is None else ends}
    solid = fem.Solid(replace(mesh, regions=is_end.astype(np.int32)), materials).fix(lambda p: p[:, 0] < 1e-9)
    paths = fem.winding(
        radius, inside, angle=angle, double=double, starts=starts, axis="x", base=(wall, 0.0, 0.0), count=8 * cells
    )
    solid.reinforce(fem.Thread(paths, stiffness=stiffness, name="winding"))
    if limited:
        side = np.array([[0.0, 0.0, -radius], [length, 0.0, -radius]])
        solid.reinforce(fem.Thread(side, stiffness=stiffness, name="limit"))
    air = fem.Pneumatic(name="air", pressure=(0.0, pressure))
    tip = fem.Point(name="tip", at=(length, 0.0, 0.0))
    return fem.Robot(solid, [air], [tip], device=device, threads=threads)
