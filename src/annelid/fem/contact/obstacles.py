"""Rigid things as solids touch them: what kernels need to know of them, and what is refused by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.fem.kernels.obstacles import Forms, Poses
from annelid.shapes import Box, Capsule, Cylinder, HeightField, ImplicitSurface, Obstacle, Plane, Rigid, Sphere, Surface
from annelid.shapes.kernels.gaps import BOX, CAPSULE, CYLINDER, GRID, HEIGHTS, PLANE, SPHERE
from annelid.shapes.rigid import as_rigids
from annelid.shapes.values import frame

FRICTION = 0.5
"""Coulomb coefficient of a surface that does not say."""


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


class Form:
    """What a rigid thing is to the kernels.

    Args:
        rigid: The rigid thing.

    Attributes:
        kind: Kind of surface.
        size: Half sides, or radius and half length, or the normal [m], shape [3].
        axes: Rotation from the frame of the kernels, where rods lie along z, to that of the geometry.
        middle: The origin of that frame in the frame of the geometry [m], shape [3]: the centre of mass of a shape.
        grid: Nodes, origin, spacing and values that are looked up.
    """

    def __init__(self, rigid: Rigid) -> None:
        geometry = rigid.geometry
        self.kind, self.size, self.axes = GRID, np.zeros(3), Rotation.identity()
        self.grid: tuple[Any, Any, Any, np.ndarray] = ((0, 0, 0), np.zeros(3), np.ones(3), np.zeros(0, np.float32))
        if isinstance(geometry, Plane):
            self.kind, self.size, self.middle = PLANE, np.array(geometry.normal), np.array(geometry.point)
        elif isinstance(geometry, HeightField):
            self.kind, self.middle, self.grid = HEIGHTS, np.zeros(3), _heights(geometry)
        else:
            self.middle = rigid.middle
            self._shape(rigid)

    def _shape(self, rigid: Rigid) -> None:
        shape = rigid.shape
        if isinstance(shape, Box):
            self.kind, self.size = BOX, 0.5 * np.array(shape.size)
        elif isinstance(shape, Sphere):
            self.kind, self.size = SPHERE, np.array([shape.radius, 0.0, 0.0])
        elif isinstance(shape, Cylinder | Capsule):
            self.kind = CYLINDER if isinstance(shape, Cylinder) else CAPSULE
            self.size = np.array([shape.radius, 0.5 * shape.length, 0.0])
            if not isinstance(shape.axis, str):
                self.axes = Rotation.from_matrix(frame(shape.axis))
        else:
            grid = rigid.grid
            values = np.asarray(grid.values.numpy())
            origin = np.array(grid.origin) - self.middle
            self.grid = values.shape, origin, np.full(3, grid.spacing), values.ravel()

    def pose(self, position: np.ndarray, turn: Rotation) -> tuple[np.ndarray, np.ndarray]:
        """Place [m] and quaternion of the frame of the kernels, for a place and turn of that of the geometry."""
        return position + turn.apply(self.middle), (turn * self.axes).as_quat()


def _heights(field: HeightField) -> tuple[Any, Any, Any, np.ndarray]:
    heights, steps = np.asarray(field.heights, float), field.steps
    steepest = np.hypot(*(np.abs(np.diff(heights, axis=a)).max(initial=0.0) / steps[a] for a in (0, 1)))
    origin = np.array([*field.begin, math.cos(math.atan(steepest))])
    return (*heights.shape, 1), origin, np.array([*steps, 1.0]), heights.ravel().astype(np.float32)


def friction_of(*surfaces: Surface) -> float:
    """Coulomb coefficient of two surfaces: the geometric mean of theirs."""
    return math.sqrt(math.prod(FRICTION if one.friction is None else one.friction for one in surfaces))


def forms_of(
    rigids: Sequence[Rigid], forms: Sequence[Form], surface: Surface, stiffness: float, device: wp.Device
) -> Any:
    """The structure of the kernels: obstacles as a solid with this surface and stiffness [N/m] touches them."""
    made: Any = Forms()
    values = [form.grid[3] for form in forms]
    columns: dict[str, tuple[Any, Any]] = {
        "kinds": (wp.int32, [form.kind for form in forms]),
        "sizes": (wp.vec3d, [form.size for form in forms]),
        "signs": (wp.float64, [-1.0 if rigid.inside else 1.0 for rigid in rigids]),
        "stiffnesses": (wp.float64, [rigid.surface.stiffness or surface.stiffness or stiffness for rigid in rigids]),
        "firsts": (wp.int32, np.cumsum([0, *(len(each) for each in values)])[:-1]),
        "nodes": (wp.vec3i, [form.grid[0] for form in forms]),
        "origins": (wp.vec3d, [form.grid[1] for form in forms]),
        "spacings": (wp.vec3d, [form.grid[2] for form in forms]),
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
