"""Rigid things as grains touch them: planes, primitives and any closed mesh; fixed, driven, or free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Color
from annelid.grains.kernels.layout import DRIVEN, FIXED, FREE
from annelid.grains.material import response_of
from annelid.shapes import (
    HeightField,
    ImplicitSurface,
    Obstacle,
    Path,
    Plane,
    Rigid,
    Shape,
    SignedDistanceGrid,
)
from annelid.shapes.form import Form
from annelid.shapes.free_bodies import touching_points, weight_of
from annelid.shapes.kernels.gaps import GRID
from annelid.shapes.rigid import as_rigids

_DEPTH = 0.125  # of the longest side of a height field: thickness of the block that stands for it
_MOTIONS = {"fixed": FIXED, "driven": DRIVEN, "free": FREE}
_COLOR: Color = (0.45, 0.53, 0.62)


class Wall:
    """A fixed half-space as grains touch it.

    Args:
        source: The obstacle as the user gave it.
        rigid: The same as a rigid thing.

    Attributes:
        source: The obstacle as the user gave it.
        rigid: The same as a rigid thing.
        point: A point of the plane [m].
        normal: Unit normal.
        numbers: Friction, restitution, rolling resistance and cohesion.
        world: World that it belongs to.
        hidden: Whether pictures leave it out.
        name: Name for messages.
    """

    def __init__(self, source: Obstacle, rigid: Rigid) -> None:
        plane = rigid.where
        assert isinstance(plane, Plane)
        self.source, self.rigid, self.point, self.normal = source, rigid, plane.point, plane.normal
        self.numbers, self.world, self.hidden = response_of(rigid.surface), rigid.world, rigid.hidden
        self.name = rigid.name or "plane"


class Solid:
    """A closed shape as grains touch it.

    Args:
        source: The obstacle as the user gave it.
        rigid: The same as a rigid thing.

    Attributes:
        source: The obstacle as the user gave it.
        rigid: The same as a rigid thing.
        numbers: Friction, restitution, rolling resistance and cohesion.
        world: World that it belongs to.
        hidden: Whether pictures leave it out.
    """

    def __init__(self, source: Obstacle, rigid: Rigid) -> None:
        self.source, self.rigid = source, rigid
        self.numbers, self.world, self.hidden = response_of(rigid.surface), rigid.world, rigid.hidden

    @property
    def name(self) -> str:
        """Name for pictures and messages; may be empty."""
        return self.rigid.name

    @property
    def color(self) -> Color:
        """Colour in pictures."""
        return self.rigid.color or _COLOR

    @property
    def shape(self) -> Shape:
        """The shape in its own frame."""
        return self.rigid.shape

    @property
    def inside(self) -> bool:
        """Whether grains are kept inside the shape."""
        return self.rigid.inside

    @property
    def free(self) -> bool:
        """Whether it is moved by what touches it."""
        return self.rigid.moves == "free"

    @property
    def path(self) -> Path | None:
        """Its motion as a function of time; None where it is none."""
        return self.rigid.path

    @property
    def motion_number(self) -> int:
        """FIXED, DRIVEN or FREE."""
        return _MOTIONS[self.rigid.moves]

    @property
    def middle(self) -> np.ndarray:
        """Centre of mass in the frame of the shape [m], shape [3]."""
        return self.rigid.middle

    @cached_property
    def form(self) -> Form:
        """What kernels know of it."""
        return Form(self.rigid)

    @property
    def axes(self) -> np.ndarray:
        """Rotation from the frame of the kernels, where axes lie along z, to that of the shape, shape [3, 3]."""
        return np.asarray(self.form.axes.as_matrix())

    @property
    def place(self) -> np.ndarray:
        """Centre of mass in the world [m], shape [3]."""
        return self.rigid.place

    @property
    def quaternion(self) -> np.ndarray:
        """Turn from the frame of the kernels to the world, shape [4]."""
        return np.asarray((self.rigid.turn * self.form.axes).as_quat())

    @cached_property
    def weight(self) -> tuple[float, np.ndarray]:
        """Mass [kg], and inertia in the frame of the kernels [kg m²], shape [3, 3]."""
        return weight_of(self.rigid, self.form.axes)

    @property
    def grid(self) -> SignedDistanceGrid | None:
        """The baked distance of a mesh, which copies of the body in other worlds share; None for a primitive."""
        return self.rigid.grid if self.form.kind == GRID else None

    @property
    def reach(self) -> float:
        """Radius of a ball around the centre of mass that holds the body [m]."""
        return self.rigid.reach

    @property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner in the world, as built [m], two arrays of shape [3]."""
        return self.rigid.extent

    @cached_property
    def surface_mesh(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices in the frame of the kernels, about the centre of mass [m], and triangles, to draw."""
        mesh = self.shape.surface()
        return (mesh.vertices - self.middle) @ self.axes, mesh.triangles

    def sample_points(self) -> np.ndarray:
        """Points that touch other bodies, in the frame of the kernels [m], shape [k, 3]; see `touching_points`."""
        return touching_points(self.rigid, self.form.axes)


Touched = Wall | Solid
"""A rigid thing as grains touch it."""


def twin(body: Touched, world: int) -> Touched:
    """The same thing in another world; it shares what was baked."""
    return type(body)(body.source, replace(body.rigid, world=world))


def bounce_together(bodies: Sequence[Touched], restitutions: Iterable[float]) -> bool:
    """Whether two of them that are in one world have a restitution: copies in other worlds are no partners."""
    worlds = [body.world for body, restitution in zip(bodies, restitutions, strict=True) if restitution > 0.0]
    return len(worlds) > len(set(worlds))


def touched_by_grains(obstacles: Sequence[Obstacle]) -> list[Touched]:
    """Obstacles as grains touch them; those that grains cannot touch yet are refused by name."""
    found: list[Touched] = []
    for number, (source, rigid) in enumerate(zip(obstacles, as_rigids(obstacles, "grains"), strict=True)):
        _require_touchable(number, rigid)
        if isinstance(rigid.geometry, HeightField):
            rigid = _block_below(rigid, rigid.geometry)
        found.append(Wall(source, rigid) if isinstance(rigid.geometry, Plane) else Solid(source, rigid))
    return found


def _block_below(rigid: Rigid, field: HeightField) -> Rigid:
    """The closed mesh under a height field, with a grid of distances as fine as half of its cells at least."""
    cells = np.array(field.heights.shape) - 1
    depth = _DEPTH * float((cells * field.steps).max())
    return replace(rigid, geometry=field.block(depth), cells=max(rigid.cells, 2 * int(cells.max())))


def _require_touchable(number: int, rigid: Rigid) -> None:
    what = rigid.called(number)
    if isinstance(rigid.geometry, ImplicitSurface):
        raise InvalidValue(f"grains cannot touch {what}, yet: use a closed mesh.")
    if isinstance(rigid.geometry, Plane) and rigid.moves != "fixed":
        raise InvalidValue(f"grains cannot touch {what}, yet while it moves: move a flat Box.")
    surface = rigid.surface
    if surface.sliding_friction is not None and surface.sliding_friction != surface.friction:
        raise InvalidValue(
            f"grains cannot slide with a friction of their own yet, and {what}, has a sliding_friction of "
            f"{surface.sliding_friction:g}: leave it out."
        )
    if surface.stiffness is not None:
        raise InvalidValue(
            f"grains cannot take the stiffness of a surface yet, and {what}, has one of {surface.stiffness:g} N/m: "
            "leave it out, and choose softness and correction of grains.World."
        )
