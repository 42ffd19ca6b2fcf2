"""Rigid things as 3-D voxels touch them: planes, height fields and closed shapes; fixed, driven or free."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes import ImplicitSurface, Rigid
from annelid.shapes.beginning import depths_inside, warn_inside
from annelid.shapes.form import Form
from annelid.shapes.free_bodies import FreeBody
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
        form: What kernels know of the surface.
        holds: Static friction, see `shapes.surface`.
        rubs: Kinetic friction.
        press: Stiffness [N/m]; negative where that of the voxel counts.
        free: The free body that it is; None of others.
    """

    def __init__(self, rigid: Rigid, number: int) -> None:
        _require_touchable(rigid, number)
        surface = rigid.surface
        self.rigid, self.called = rigid, rigid.called(number)
        self.holds, self.rubs = surface.frictions
        self.form, self.press = Form(rigid), surface.stiffness or _OWN
        self.free = FreeBody(rigid, self.form) if rigid.moves == "free" else None


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
    if isinstance(rigid.geometry, ImplicitSurface):
        raise InvalidValue(f"3-D voxels cannot touch {what}, yet: use a closed mesh.")
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
