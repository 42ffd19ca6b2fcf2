"""Rigid things as voxel robots touch them: ground that does not change along y, and boxes in the plane of x and z."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes import Box as Cuboid
from annelid.shapes import HeightField, Plane, Rigid
from annelid.shapes import Obstacle as RigidThing
from annelid.shapes.rigid import as_rigids
from annelid.voxels.objects import Box
from annelid.voxels.terrain import Terrain

Obstacle = Terrain | Box | RigidThing

_FRICTION, _RESTITUTION = 0.2, 0.0  # of a surface that does not say
_LEVEL = 1.0e-9  # how far a direction may be from the plane of x and z


def touched_by_voxels(obstacles: Sequence[Obstacle]) -> tuple[Terrain | Box, ...]:
    """Obstacles as voxel robots touch them; those that they cannot touch yet are refused by name."""
    if not isinstance(obstacles, Sequence) or isinstance(obstacles, str):
        raise InvalidValue(f"obstacles must be a list, such as [voxels.terrain('flat')], not {obstacles!r}.")
    found = tuple(
        one if isinstance(one, (Terrain, Box)) else _flat(number, one) for number, one in enumerate(obstacles)
    )
    if sum(isinstance(one, Terrain) for one in found) > 1:
        raise InvalidValue("voxel robots walk on one terrain; join the points of several into one.")
    return found


def _flat(number: int, obstacle: RigidThing) -> Terrain | Box:
    (rigid,) = as_rigids([obstacle], "voxel robots")
    what = rigid.called(number)
    _require_touchable(rigid, what)
    if isinstance(rigid.geometry, Plane):
        return _slope(rigid, what)
    if isinstance(rigid.geometry, HeightField):
        return _profile(rigid, rigid.geometry, what)
    if isinstance(rigid.geometry, Cuboid):
        return _rectangle(rigid, rigid.geometry, what)
    raise InvalidValue(
        f"voxel robots cannot touch {what}, yet: use a Plane, a HeightField that does not change along y, a Box, or a "
        "Terrain of annelid.voxels."
    )


def _require_touchable(rigid: Rigid, what: str) -> None:
    if rigid.moves == "driven":
        raise InvalidValue(
            f"voxel robots cannot touch a driven obstacle yet, and {what}, is driven: use motion='fixed' or 'free'."
        )
    if rigid.inside:
        raise InvalidValue(
            f"voxel robots cannot be kept inside a shape yet, as {what}, wants: use a Terrain with walls."
        )
    if rigid.world != 0:
        raise InvalidValue(
            f"voxel robots have one list of obstacles for all worlds, and {what}, names world {rigid.world}: use 0."
        )
    surface = rigid.surface
    for name, value in (
        ("sliding_friction", surface.sliding_friction), ("rolling", surface.rolling), ("cohesion", surface.cohesion),
        ("stiffness", surface.stiffness),
    ):  # fmt: skip
        if value:
            raise InvalidValue(f"contacts of voxel robots have no {name} yet, and {what}, has {value:g}: leave it out.")


def _response(rigid: Rigid) -> dict[str, float]:
    surface = rigid.surface
    return {
        "friction": _FRICTION if surface.friction is None else surface.friction,
        "restitution": _RESTITUTION if surface.restitution is None else surface.restitution,
    }


def _slope(rigid: Rigid, what: str) -> Terrain:
    """The line in which a plane cuts the plane of x and z."""
    plane = rigid.where
    assert isinstance(plane, Plane)
    (x, _, z), (nx, ny, nz) = plane.point, plane.normal
    if abs(ny) > _LEVEL or nz <= _LEVEL:
        raise InvalidValue(
            f"voxel robots live in the plane of x and z and walk on a Plane whose normal lies in it and points up, not "
            f"along {plane.normal} as that of {what}: set its y to 0 and its z above 0."
        )
    rise = nx / nz
    return Terrain(np.array([[x - 1.0, z + rise], [x + 1.0, z - rise]]), **_response(rigid))


def _profile(rigid: Rigid, field: HeightField, what: str) -> Terrain:
    """The heights along x; beyond the rim the ground continues level."""
    if not rigid.upright or np.ptp(field.heights, axis=1).any():
        raise InvalidValue(
            f"voxel robots live in the plane of x and z: {what}, must not be turned, nor its heights change along y."
        )
    heights = field.heights[:, 0].astype(float) + rigid.position[2]
    step = float(field.steps[0])
    xs = field.begin[0] + rigid.position[0] + step * np.arange(-1, len(heights) + 1)
    return Terrain(np.column_stack([xs, np.concatenate([heights[:1], heights, heights[-1:]])]), **_response(rigid))


def _rectangle(rigid: Rigid, box: Cuboid, what: str) -> Box:
    turn = rigid.turn.as_matrix()
    if abs(turn[1, 1] - 1.0) > _LEVEL:
        raise InvalidValue(f"voxel robots live in the plane of x and z: turn {what}, about y only.")
    if any(rigid.velocity):
        raise InvalidValue(f"boxes among voxel robots cannot start with a velocity yet, as {what}, does: leave it out.")
    x, _, z = rigid.turn.apply(np.array(box.center)) + np.array(rigid.position)
    return Box(
        size=(box.size[0], box.size[2]),
        position=(float(x), float(z)),
        mass=rigid.total_mass,
        angle=math.atan2(turn[2, 0], turn[0, 0]),
        held=rigid.moves,
        spin=-rigid.spin[1],
        **_response(rigid),
    )
