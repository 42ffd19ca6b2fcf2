"""Blocks of finite elements that the tests of solids among grains share."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid import coupling, fem, grains
from annelid.core.simulation import Simulation
from annelid.materials import Material, material
from annelid.shapes import tet_beam

from .conftest import SKIN, box

SIDE = 0.064


def rubber(youngs_modulus: float = 1e5, density: float = 1000.0) -> Material:
    return material("ecoflex-00-30").with_(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=density)


def soft_block(height: float, cells: int = 4, *, quadratic: bool = False, **of: float) -> fem.Solid:
    """A cube of rubber about the origin of x and y, its lowest nodes at a height [m]."""
    mesh = tet_beam(SIDE, SIDE, SIDE, cells=(cells,) * 3)
    low, high = mesh.nodes.min(axis=0), mesh.nodes.max(axis=0)
    middle = 0.5 * (low + high)
    mesh = mesh.moved((-middle[0], -middle[1], height - low[2]))
    return fem.Solid(mesh.quadratic() if quadratic else mesh, rubber(**of))


def laid(body: fem.Solid, **options: Any) -> Simulation[coupling.SolidSolver]:
    """A solid above a small bed, which has not settled yet."""
    sand = box(side=0.13, depth=0.05)
    options = {"skin": SKIN, "device": "cpu", "threads": 1, "dt": 2e-3, **options}
    return coupling.simulation(body, sand.bed(), obstacles=options.pop("obstacles", sand.walls()), **options)


def shot(speed: float) -> grains.Bed:
    """A handful of grains above the origin that fly downwards [m/s]."""
    rows = np.array([(x, y, z) for x in (-0.02, 0.0, 0.02) for y in (-0.02, 0.0, 0.02) for z in (0.09, 0.112)])
    velocities = np.tile([0.1 * speed, 0.0, -speed], (len(rows), 1))
    return grains.Bed(rows, 0.01, grains.SAND, velocities=velocities)
