"""Rigid things as solids touch them: what kernels need to know of them, and what is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.fem.kernels.obstacles import Forms, Poses
from annelid.shapes import ImplicitSurface, Obstacle, Rigid, Surface
from annelid.shapes.form import Form
from annelid.shapes.rigid import as_rigids
from annelid.shapes.surface import mixed, stated


def touched_by_solids(obstacles: Sequence[Obstacle]) -> list[Rigid]:
    """Obstacles as rigid things; those that solids cannot touch are refused by name."""
    rigids = as_rigids(obstacles, "solids")
    for number, rigid in enumerate(rigids):
        _require_touchable(rigid, rigid.called(number))
    return rigids


def require_surface(surface: Surface, what: str) -> None:
    """Refuse what a surface asks for and solids cannot do yet."""
    if surface.sliding_friction is not None and surface.sliding_friction != surface.friction:
        raise InvalidValue(
            f"solids cannot slide with a friction of their own yet, and {what}, has a sliding_friction of "
            f"{surface.sliding_friction:g}: leave it out."
        )
    for name, value in (
        ("restitution", surface.restitution), ("rolling", surface.rolling), ("cohesion", surface.cohesion),
    ):  # fmt: skip
        if value:
            raise InvalidValue(f"solids touch without {name} yet, and {what}, has {value:g}: leave it out, or give 0.")


def _require_touchable(rigid: Rigid, what: str) -> None:
    if isinstance(rigid.geometry, ImplicitSurface):
        raise InvalidValue(f"solids cannot touch {what}, yet: use a closed mesh.")
    if rigid.world != 0:
        raise InvalidValue(
            f"solids have one list of obstacles for all worlds, and {what}, names world {rigid.world}: use world=0."
        )
    require_surface(rigid.surface, what)


def forms_of(
    rigids: Sequence[Rigid], forms: Sequence[Form], surface: Surface, stiffness: float, device: wp.Device
) -> Any:
    """The structure of the kernels: obstacles as a solid with this surface and stiffness [N/m] touches them."""
    made: Any = Forms()
    own = stated(surface.stiffness, stiffness)
    values = [form.values for form in forms]
    columns: dict[str, tuple[Any, Any]] = {
        "kinds": (wp.int32, [form.kind for form in forms]),
        "sizes": (wp.vec3d, [form.size for form in forms]),
        "signs": (wp.float64, [form.side for form in forms]),
        "stiffnesses": (wp.float64, mixed([stated(rigid.surface.stiffness, stiffness) for rigid in rigids], own)),
        "firsts": (wp.int32, np.cumsum([0, *(len(each) for each in values)])[:-1]),
        "nodes": (wp.vec3i, [form.nodes for form in forms]),
        "origins": (wp.vec3d, [form.origin for form in forms]),
        "spacings": (wp.vec3d, [form.spacing for form in forms]),
        "values": (wp.float32, np.concatenate([np.zeros(0, np.float32), *values])),
    }
    for name, (dtype, column) in columns.items():
        setattr(made, name, wp.array(np.asarray(column), dtype=dtype, device=device))
    return made


def poses_of(places: wp.array[Any], turns: wp.array[Any]) -> Any:
    """The structure of the kernels of where obstacles are."""
    made: Any = Poses()
    made.places, made.turns = places, turns
    return made
