"""A hanging soft pendulum with four hydraulic cavities around its axis (Rodríguez et al., Fig. 6)."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import spelled_out
from annelid.materials import Law, material
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.sections import MOST_CELLS, disk, steps
from annelid.shapes.tet.sweep import along_axis, swept
from annelid.shapes.values import Floats, Vector, require_count, require_positive

SIDES = ("left", "back", "front", "right")
"""Names of the four cavities, at -x, +y, -y, +x."""

LENGTH = 0.15
"""Length of the pendulum [m]."""

_RADIUS, _CORE, _WALL, _CAP = 0.02, 6e-3, 3e-3, 6e-3
_HOOPS, _HOOP_MODULUS = 5, 1e6
_MOST_RESOLUTION = 50


@spelled_out("a pendulum")
def pendulum(
    *,
    weight: Literal["hydrostatic", "columns"] = "hydrostatic",
    pressure: tuple[float, float] = (-2e3, 20e3),
    growth: float = 18e-6,
    resolution: int = 1,
    layers: int | None = None,
    cells: int = 100,
    law: Law | None = None,
    device: Any = "auto",
    threads: int | None = None,
) -> fem.Robot:
    """The pendulum with a hydraulic actuator a cavity, named as `SIDES`, and its lower end as the effector "tip".

    Args:
        weight: How the weight of the water is found.
        pressure: Lowest and highest pressure [Pa].
        growth: Most that a cavity may grow or shrink [m³].
        resolution: Cells through a wall.
        layers: Cells along the axis.
        cells: Columns along each side of the grid, where weights are found by columns.
        law: How it resists large strains, see `pendulum_solid`.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    chambers = [
        fem.Hydraulic(name=side, cavity=number, weight=weight, cells=cells, pressure=pressure, growth=(-growth, growth))
        for number, side in enumerate(SIDES)
    ]
    tip = fem.Point(name="tip", at=(0.0, 0.0, -LENGTH))
    solid = pendulum_solid(resolution=resolution, layers=layers, law=law)
    return fem.Robot(solid, chambers, [tip], device=device, threads=threads)


def pendulum_solid(*, resolution: int = 1, layers: int | None = None, law: Law | None = None) -> fem.Solid:
    """The pendulum: soft silicone with stiffer hoops in its wall, held at its top.

    Args:
        resolution: Cells through a wall: 1 gives 399 nodes; 2 with 24 layers about 5,000.
        layers: Cells along the axis; 6 times the resolution by default.
        law: How it resists large strains, scaled to its modulus; None for co-rotational elasticity.
    """
    mesh = pendulum_mesh(
        radius=_RADIUS, length=LENGTH, core=_CORE, wall=_WALL, cap=_CAP, resolution=resolution, layers=layers
    )
    middle = mesh.nodes[mesh.tetrahedra].mean(axis=1)
    depth = (-middle[:, 2] - _CAP) / (LENGTH - 2.0 * _CAP)
    hoops = min(_HOOPS, (layers or 6 * resolution) // (2 * resolution) - 1)
    hoop = (np.floor(2 * hoops * depth) % 2 == 0) & (depth > 0.0) & (depth < 1.0)
    wall = np.hypot(middle[:, 0], middle[:, 1]) > _RADIUS - _WALL
    parts = TetMesh(mesh.nodes, mesh.tetrahedra, regions=(hoop & wall).astype(np.int32), cells=mesh.cells)
    soft = material("ecoflex-00-30").with_(poisson_ratio=0.45)
    if law is not None:
        soft = soft.with_(law=law).with_(youngs_modulus=soft.youngs_modulus)
    return fem.Solid(parts, [soft, soft.with_(youngs_modulus=_HOOP_MODULUS)]).fix(lambda p: p[:, 2] > -1e-9)


@spelled_out("a mesh of a pendulum")
def pendulum_mesh(
    *,
    radius: float = 0.025,
    length: float = 0.08,
    core: float = 0.012,
    wall: float = 4e-3,
    cap: float = 8e-3,
    share: float = 0.7,
    resolution: int = 1,
    layers: int | None = None,
    axis: str | Vector = (0.0, 0.0, -1.0),
) -> TetMesh:
    """A round pendulum that hangs from z = 0 and has four closed cavities around its axis.

    `cavities()` gives them in the order -x, +y, -y, +x.

    Args:
        radius: Outer radius [m].
        length: Along the axis, with both caps [m].
        core: Radius of the full middle [m].
        wall: Thickness of the wall around the cavities [m].
        cap: Thickness of the upper and lower end [m].
        share: How much of each quarter turn its cavity takes, between 0 and 1.
        resolution: Cells through a wall: 1 gives 399 nodes; 2 with 24 layers about 5,000.
        layers: Cells along the axis, both caps included; 6 times the resolution by default.
        axis: Where the body extends from the origin: 'x', 'y', 'z' or a vector.
    """
    fine = require_count("resolution", resolution, least=1, most=_MOST_RESOLUTION)
    count = require_count("layers", 6 * fine if layers is None else layers, least=2 * fine + 1, most=MOST_CELLS)
    inner, outer = _cavity_radii(radius, length, core, wall, cap)
    if not (is_number(share) and 0.0 < share < 1.0):
        raise InvalidValue(f"share = {share!r} cannot be used; give a number between 0 and 1.")
    section = disk(_spaced([inner, outer, radius], fine), cells=4 * fine)
    borders = steps([cap, length - 2.0 * cap, cap], [fine, count - 2 * fine, fine])
    ring, place = section.patches.T
    beside = (ring >= 1) & (ring <= fine) & (place // fine % 4 >= 1) & (place // fine % 4 <= 2)
    layer = np.arange(count)[:, None]
    keep = ~(beside & (layer >= fine) & (layer < count - fine))
    onto = along_axis(axis)
    return swept(section, borders, keep=keep, place=lambda positions: onto(_widened(positions, inner, share)))


def _cavity_radii(radius: float, length: float, core: float, wall: float, cap: float) -> tuple[float, float]:
    inner, outer = require_positive("core", core), require_positive("radius", radius) - require_positive("wall", wall)
    if inner >= outer or 2.0 * require_positive("cap", cap) >= require_positive("length", length):
        raise InvalidValue(
            f"core = {core:g} m, wall = {wall:g} m and cap = {cap:g} m leave no room for cavities in a radius of "
            f"{radius:g} m and a length of {length:g} m; make them thinner."
        )
    return inner, outer


def _spaced(radii: list[float], count: int) -> list[float]:
    """The radii with `count` equal steps between each and the next."""
    gaps = np.diff(radii)
    return [radii[0], *(radii[0] + np.cumsum(np.repeat(gaps / count, count))).tolist()]


def _widened(positions: Floats, inner: float, share: float) -> Floats:
    """Turn the nodes around the axis so that the middle half of each quarter is its `share`, less so in the core."""
    distance = np.hypot(positions[:, 0], positions[:, 1])
    angle = np.arctan2(positions[:, 1], positions[:, 0])
    middle = np.round(angle / (0.5 * math.pi)) * 0.5 * math.pi
    beside = (angle - middle) / (0.25 * math.pi)
    spread = np.interp(beside, [-1.0, -0.5, 0.5, 1.0], [-1.0, -share, share, 1.0])
    turned = middle + 0.25 * math.pi * (beside + (spread - beside) * np.minimum(distance / inner, 1.0))
    return np.column_stack([distance * np.cos(turned), distance * np.sin(turned), positions[:, 2]])
