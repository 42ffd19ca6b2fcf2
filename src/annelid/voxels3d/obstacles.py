"""Rigid things as 3-D voxels touch them: planes, spheres, boxes and height fields that stand still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, HeightField, Plane, Rigid, Sphere
from annelid.shapes.beginning import depths_inside, warn_inside
from annelid.shapes.kernels.gaps import BOX, HEIGHTS, PLANE, SPHERE
from annelid.shapes.resistive.among import rigids_beside_sand

_OWN = -1.0  # stands for the stiffness of a voxel


class Contact:
    """A rigid thing as voxels touch it.

    Args:
        rigid: The rigid thing; one that voxels cannot touch is refused.
        number: Its number in the list of obstacles, for messages.

    Attributes:
        rigid: The rigid thing.
        called: What messages call it.
        numbers: Members of the kernels' structure.
        heights: Heights that the kernels look up [m], shape [k].
    """

    def __init__(self, rigid: Rigid, number: int) -> None:
        _require_touchable(rigid, number)
        surface = rigid.surface
        self.rigid, self.called = rigid, rigid.called(number)
        self.heights = np.zeros(0, np.float32)
        if isinstance(rigid.geometry, HeightField):
            self.heights = np.asarray(rigid.geometry.heights, np.float32).ravel()
        holds, rubs = surface.frictions
        response = {"holds": holds, "rubs": rubs, "press": surface.stiffness or _OWN}
        self.numbers: Mapping[str, Any] = {**_form(rigid, number), **response}


def contacts_of(obstacles: Any) -> tuple[Contact, ...]:
    """The rigid things of a list of obstacles as voxels touch them."""
    return tuple(Contact(rigid, number) for number, rigid in rigids_beside_sand(obstacles, "3-D voxels"))


def warn_of_beginnings(contacts: tuple[Contact, ...], centers: np.ndarray, *, stacklevel: int) -> None:
    """Tell of voxels whose centres begin inside obstacles, which throw them out."""
    remedy = "lift it with positions=(x, y, z); for a robot that stands on a slope, turn gravity instead"
    for contact in contacts:
        depths = depths_inside(contact.rigid, centers)
        warn_inside("voxels", contact.called, depths, remedy, stacklevel=stacklevel + 1)


def _require_touchable(rigid: Rigid, number: int) -> None:
    """Refuse by name what voxels cannot touch yet."""
    what, surface = rigid.called(number), rigid.surface
    if rigid.moves != "fixed":
        raise InvalidValue(
            f"3-D voxels cannot touch a moving obstacle yet, and {what}, moves ({rigid.moves}): use motion='fixed'."
        )
    if rigid.inside:
        raise InvalidValue(
            f"3-D voxels cannot be kept inside a shape yet, as {what}, wants: build its walls of planes."
        )
    if rigid.world != 0:
        raise InvalidValue(
            f"3-D voxels have one list of obstacles for all worlds, and {what}, names world {rigid.world}: use world=0."
        )
    for name, value in (
        ("restitution", surface.restitution),
        ("rolling", surface.rolling),
        ("cohesion", surface.cohesion),
    ):
        if value:
            raise InvalidValue(
                f"contacts of 3-D voxels have no {name}, and {what}, has {value:g}: leave it out; the "
                "collision_damping of a material says how it bounces."
            )


def _form(rigid: Rigid, number: int) -> Mapping[str, Any]:
    """Members of the kernels' structure that say what and where the surface is."""
    geometry, what = rigid.geometry, rigid.called(number)
    if isinstance(geometry, Plane):
        plane = rigid.where
        assert isinstance(plane, Plane)
        return {"kind": PLANE, "place": plane.normal, "size": float(np.dot(plane.normal, plane.point))}
    if isinstance(geometry, HeightField):
        if not rigid.upright:
            raise InvalidValue(f"3-D voxels cannot touch {what}, yet while it is turned.")
        (x, y), (dx, dy), (px, py, pz) = geometry.begin.tolist(), geometry.steps.tolist(), rigid.position
        return {
            "kind": HEIGHTS, "place": (x + px, y + py, pz), "extent": (dx, dy, 1.0), "counts": geometry.heights.shape,
        }  # fmt: skip
    if isinstance(geometry, Sphere):
        sphere = rigid.where
        assert isinstance(sphere, Sphere)
        return {"kind": SPHERE, "place": sphere.center, "size": sphere.radius}
    if isinstance(geometry, Box):
        center = rigid.turn.apply(np.array(geometry.center)) + np.array(rigid.position)
        half = tuple(0.5 * side for side in geometry.size)
        return {"kind": BOX, "place": tuple(center), "extent": half, "turn": rigid.turn.as_matrix()}
    raise InvalidValue(f"3-D voxels cannot touch {what}, yet: use a Plane, a Sphere, a Box or a HeightField.")
