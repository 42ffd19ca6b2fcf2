"""Small soft robots that the tests of actuation and control share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid import fem
from annelid.materials import Material, NeoHooke, material
from annelid.shapes import TetMesh, tet_hollow_cylinder, tet_trunk

LENGTH = 0.15
SIDES = {"up": (0.0, 1.0), "down": (0.0, -1.0), "left": (1.0, 0.0), "right": (-1.0, 0.0)}


def silicone(modulus: float = 300e3) -> Material:
    return material("ecoflex-00-30").with_(youngs_modulus=modulus, poisson_ratio=0.45)


def trunk_mesh() -> TetMesh:
    return tet_trunk(0.015, 0.008, LENGTH, cells=2, layers=8, axis="x")


def line(mesh: TetMesh, side: str, count: int = 5) -> list[int]:
    """Nodes of a side of the trunk, from its base to its tip."""
    y, z = SIDES[side]
    x = np.linspace(0.0, LENGTH, count)
    radius = np.interp(x, [0.0, LENGTH], [0.015, 0.008])
    return [int(n) for n in mesh.nearest(np.column_stack([x, y * radius, z * radius]))]


def trunk(
    *,
    tension: Any = (0.0, 6.0),
    others: Sequence[Any] = (),
    effectors: Sequence[Any] | None = None,
    obstacles: Sequence[Any] = (),
    **cables: Any,
) -> fem.Robot:
    """A trunk along x with a cable on each side; `up={...}` gives a cable other limits."""
    mesh = trunk_mesh()
    solid = fem.Solid(mesh, silicone()).fix(lambda p: p[:, 0] < 1e-9)
    actuators = [
        fem.Cable(name=side, through=line(mesh, side), **({"tension": tension} | cables.get(side, {})))
        for side in SIDES
    ]
    points = [fem.Point(name="tip", at=(LENGTH, 0.0, 0.0))] if effectors is None else effectors
    return fem.Robot(solid, [*actuators, *others], points, obstacles=obstacles, device="cpu", threads=1)


def hollow_solid(modulus: float = 180e3) -> fem.Solid:
    mesh = tet_hollow_cylinder(0.014, 0.1, wall=3e-3, cap=4e-3, cells=2, layers=4, axis="x")
    return fem.Solid(mesh, silicone(modulus)).fix(lambda p: p[:, 0] < 1e-9)


def hyperelastic_hollow(modulus: float = 180e3) -> fem.Solid:
    """The same of a neo-Hookean material."""
    law = NeoHooke(modulus / 2.9)
    return fem.Solid(hollow_solid().mesh, silicone(modulus).with_(law=law)).fix(lambda p: p[:, 0] < 1e-9)


def hollow(chamber: Any, *others: Any, **options: Any) -> fem.Robot:
    """A hollow cylinder along x with one chamber."""
    tip = fem.Point(name="tip", at=(0.1, 0.0, 0.0))
    return fem.Robot(hollow_solid(), [chamber, *others], [tip], device="cpu", threads=1, **options)
