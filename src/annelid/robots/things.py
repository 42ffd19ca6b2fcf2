"""Things to grasp: a ball, a box, a mug and a soft egg, standing on the ground."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.shapes import (
    Box,
    Cylinder,
    Rigid,
    Shape,
    Sphere,
    Surface,
    TetMesh,
    TriangleMesh,
    tet_beam,
    tube,
    turned_about,
)
from annelid.shapes.placed import UPRIGHT
from annelid.shapes.values import require_count, require_positive

Thing = Literal["ball", "box", "mug"]

SOFT_THING = 2
"""Region of a soft thing in a mesh that it shares with a hand."""

_POINTED, _TALL = 0.15, 1.27  # of an egg: how much it narrows upwards, and its height over its width
_BESIDE = turned_about("z", 0.25 * math.pi)
_AROUND, _BENDS = 12, 10  # segments around the handle of a mug, and along it


def thing(
    kind: Thing, *, size: float = 0.05, mass: float = 0.05, friction: float = 0.8, clearance: float = 0.0
) -> Rigid:
    """A free rigid thing on the ground, named "object"; the handle of a mug is between the fingers of a `gripper`.

    Args:
        kind: What it is.
        size: Its width and height, the handle of a mug aside [m].
        mass: Mass [kg].
        friction: Coulomb friction of its surface.
        clearance: How far it is above the ground [m].
    """
    if not isinstance(kind, str) or kind not in get_args(Thing):
        raise UnknownName("thing to grasp", kind, get_args(Thing))
    size, clearance = require_positive("size", size), _height("clearance", clearance)
    shapes: dict[Thing, Shape] = {"ball": Sphere(0.5 * size), "box": Box((size, size, size)), "mug": mug(size, size)}
    turn = _BESIDE if kind == "mug" else UPRIGHT
    return Rigid(
        shapes[kind], Surface(friction=friction), motion="free", mass=mass, name="object",
        position=(0.0, 0.0, clearance - float(shapes[kind].bounds()[0][2])), color=(0.35, 0.5, 0.75), rotation=turn,
    )  # fmt: skip


def _height(name: str, value: float) -> float:
    if not is_number(value):
        raise InvalidValue(f"{name} = {value!r:.60} cannot be used; give a height [m].")
    return float(value)


def mug(width: float, height: float, *, wall: float | None = None) -> TriangleMesh:
    """A mug that stands on z = 0, its handle towards -y: a closed mesh of three shells that overlap.

    Args:
        width: Outer diameter [m].
        height: Height [m].
        wall: Thickness of wall and bottom [m]; a twelfth of the diameter unless told.
    """
    radius, thick = 0.5 * require_positive("width", width), width / 12.0 if wall is None else wall
    cup = tube(radius - require_positive("wall", thick), radius, require_positive("height", height))
    bottom = Cylinder(radius - 0.5 * thick, thick, center=(0.0, 0.0, 0.5 * thick), axis="z")
    shells = [
        cup.surface(24),
        bottom.surface(24),
        _handle(radius - 0.5 * thick, 0.5 * height, 0.3 * height, 0.5 * thick),
    ]
    firsts = np.cumsum([0, *(len(shell.vertices) for shell in shells)])
    return TriangleMesh(
        np.concatenate([shell.vertices for shell in shells]),
        np.concatenate([shell.triangles + first for shell, first in zip(shells, firsts[:-1], strict=True)]),
    )


def egg_mesh(width: float, *, cells: int = 4, clearance: float = 0.0) -> TetMesh:
    """An egg that stands on its blunt end, a fifth taller than wide, for a soft thing; its region is 2.

    Args:
        width: Its width [m].
        cells: Cells across it.
        clearance: How far it is above the ground [m].
    """
    cube = tet_beam(2.0, 2.0, 2.0, cells=(require_count("cells", cells, least=2, most=50),) * 3)
    at = cube.nodes - 0.5 * (cube.nodes.min(axis=0) + cube.nodes.max(axis=0))
    squares = at**2
    ahead, behind = np.roll(squares, -1, axis=1), np.roll(squares, -2, axis=1)
    ball = at * np.sqrt(1.0 - 0.5 * ahead - 0.5 * behind + ahead * behind / 3.0)  # a cube's surface becomes a sphere
    pointed = 1.0 - _POINTED * ball[:, 2:]
    egg = np.hstack([ball[:, :2] * pointed, _TALL * ball[:, 2:]])
    egg *= require_positive("width", width) / np.ptp(egg[:, 0])
    clearance = _height("clearance", clearance)
    return TetMesh(
        np.add(egg, (0.0, 0.0, clearance - egg[:, 2].min())), cube.tetrahedra, cells=cube.cells,
        regions=np.full(len(cube.tetrahedra), SOFT_THING, np.int32),
    )  # fmt: skip


def _handle(start: float, height: float, radius: float, thickness: float) -> TriangleMesh:
    """Half a ring in the plane x = 0 that begins and ends at a distance from the axis [m]."""
    bend = np.linspace(-0.5 * math.pi, 0.5 * math.pi, _BENDS + 1)
    around = 2.0 * math.pi * np.arange(_AROUND) / _AROUND
    out = np.column_stack([np.zeros_like(bend), np.cos(bend), np.sin(bend)])
    rings = radius * out[:, None] + thickness * (
        np.cos(around)[:, None] * out[:, None] + np.sin(around)[:, None] * np.array([1.0, 0.0, 0.0])
    )
    ends = radius * out[[0, -1]]
    vertices = (np.concatenate([rings.reshape(-1, 3), ends]) + np.array([0.0, start, height])) * (1.0, -1.0, 1.0)
    here = np.arange(rings.shape[0] * _AROUND).reshape(-1, _AROUND)
    beside = np.roll(here, -1, axis=1)
    low, low_beside, high, high_beside = here[:-1], beside[:-1], here[1:], beside[1:]
    sides = [
        np.stack(quad, axis=-1).reshape(-1, 3) for quad in ((low, low_beside, high_beside), (low, high_beside, high))
    ]
    caps = [
        np.column_stack([beside[0], here[0], np.full(_AROUND, here.size)]),
        np.column_stack([here[-1], beside[-1], np.full(_AROUND, here.size + 1)]),
    ]
    return TriangleMesh(vertices, np.concatenate([*sides, *caps]))
