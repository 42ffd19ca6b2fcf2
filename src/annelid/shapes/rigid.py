"""Rigid things: a geometry, how its surface responds, where it is and how it moves. Every physics takes the same ones.

    obstacles = [ground(friction=0.6), Rigid(Sphere(0.1), Surface(restitution=0.2), position=(0.0, 0.0, 0.1))]

Which of them a physics can touch is its own matter: it refuses the others by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind
from annelid.core.snapshot import Color, require_color
from annelid.core.words import with_article
from annelid.shapes.given import given_geometry
from annelid.shapes.height_field import HeightField
from annelid.shapes.implicit import ImplicitSurface
from annelid.shapes.mass import MassProperties, mass_properties
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.path import Path, followed
from annelid.shapes.placed import UPRIGHT, Quaternion, placed
from annelid.shapes.plane import Plane
from annelid.shapes.primitives import Box, Sphere
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.sdf import SignedDistanceGrid
from annelid.shapes.sdf_cache import baked
from annelid.shapes.surface import Surface
from annelid.shapes.thickness import cells_for_walls, thinnest_wall
from annelid.shapes.values import Vector, as_vector, require_count

Geometry = Shape | Plane | HeightField | ImplicitSurface
"""What a rigid thing looks like."""

MOTIONS = ("fixed", "driven", "free")


@dataclass(frozen=True, repr=False)
class Rigid(Brief, Named):
    """A rigid thing.

    Attributes:
        geometry: A primitive or a closed mesh, a `Plane`, a `HeightField` or an `ImplicitSurface`, in its own frame.
            The path of an STL, OBJ or PLY file in metres and an object of trimesh become a closed mesh.
        surface: How its surface responds to contact.
        motion: "fixed"; "driven", by `velocity` and `spin`, which can be changed while it runs; "free", moved by
            gravity and by what touches it; or a path, a function of time that drives it, see `Path`.
        position: Where the origin of the frame is [m]; a path says where it begins.
        rotation: How the frame is turned: a quaternion (x, y, z, w); see `turned_about`.
        velocity: Velocity of the centre of mass [m/s].
        spin: Angular velocity [rad/s].
        density: Mass per volume of a free body [kg/m³].
        mass: Mass of a free body [kg], instead of a density.
        inside: What touches it is kept inside the shape, not outside.
        cells: Cells of the grid of distances along the longest side of a shape that has to be baked; there are more
            where walls are thinner than 2 of them.
        points: Points of the surface of a free body that touch other bodies.
        world: World that it belongs to, of many that are simulated side by side.
        name: Name in pictures and tables.
        color: Colour in pictures; None takes that of the physics.
        hidden: Leave it out of pictures.
    """

    geometry: Geometry
    surface: Surface = field(default_factory=Surface)
    _: KW_ONLY
    motion: str | Path = "fixed"
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = UPRIGHT
    velocity: Vector = (0.0, 0.0, 0.0)
    spin: Vector = (0.0, 0.0, 0.0)
    density: float = 1000.0
    mass: float | None = None
    inside: bool = False
    cells: int = 64
    points: int = 256
    world: int = 0
    name: str = ""
    color: Color | None = None
    hidden: bool = False
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._require_geometry()
        if not isinstance(self.surface, Surface):
            raise InvalidValue(
                f"surface of a rigid thing must be a Surface, such as Surface(friction=0.5), not {self.surface!r}."
            )
        if not (callable(self.motion) or (isinstance(self.motion, str) and self.motion in MOTIONS)):
            raise InvalidValue(f"motion must be one of {', '.join(MOTIONS)}, or a path, not {self.motion!r}.")
        if self.path is not None:
            start, turn = followed(self.path, np.zeros(1), "a rigid body")
            object.__setattr__(self, "position", tuple(start[0]))
            object.__setattr__(self, "rotation", tuple(turn[0]))
        for name in ("position", "velocity", "spin"):
            object.__setattr__(self, name, as_vector(f"{name} of a rigid body", getattr(self, name)))
        try:
            turn = np.asarray(self.rotation, float)
        except (TypeError, ValueError, OverflowError):
            turn = np.zeros(0)
        if turn.shape != (4,) or not np.isfinite(turn).all() or not turn.any():
            raise InvalidValue(f"rotation must be a quaternion of four numbers, not {self.rotation!r}.")
        object.__setattr__(self, "rotation", tuple(turn.tolist()))
        if isinstance(self.world, bool) or not isinstance(self.world, int | np.integer) or self.world < 0:
            raise InvalidValue(f"world of a rigid body must be a whole number of 0 or more, not {self.world!r}.")
        for name in ("cells", "points"):
            require_count(f"{name} of a rigid body", getattr(self, name), least=1, most=10**6)
        require_kind("name of a rigid body", self.name, str, "a text")
        require_color("color of a rigid body", self.color)
        for name in ("density", "mass"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value > 0.0):
                raise InvalidValue(f"{name} of a rigid body must be a number above 0, not {value!r}.")

    def _require_geometry(self) -> None:
        object.__setattr__(self, "geometry", given_geometry(self.geometry))
        if not isinstance(self.geometry, Geometry):
            kind = with_article(type(self.geometry).__name__)
            raise InvalidValue(f"a rigid thing needs a shape, a closed mesh, a plane or a height field, not {kind}.")
        if isinstance(self.geometry, TriangleMesh):
            self.geometry.require_closed()
        if not isinstance(self.geometry, Shape):
            kind = with_article(type(self.geometry).__name__)
            if self.motion == "free":
                raise InvalidValue(f"{kind} has no end and no mass: only a closed shape can be free.")
            if self.inside:
                raise InvalidValue(f"{kind} has no inside: turn its normal, or use a closed shape.")

    @property
    def path(self) -> Path | None:
        """The motion as a function of time; None where it is none."""
        return None if isinstance(self.motion, str) else self.motion

    @property
    def moves(self) -> str:
        """How it moves: "fixed", "driven", also along a path, or "free"."""
        return self.motion if isinstance(self.motion, str) else "driven"

    @property
    def kind(self) -> str:
        """Name of the kind of geometry, for messages."""
        return "closed mesh" if isinstance(self.geometry, TriangleMesh) else type(self.geometry).__name__

    def called(self, number: int) -> str:
        """What messages call it, by its number in a list of obstacles: "obstacle 2, a Sphere"."""
        return f"obstacle {number}, {with_article(self.kind)}" + (f" named {self.name!r}" if self.name else "")

    @property
    def shape(self) -> Shape:
        """The geometry, where it is a closed shape; others are refused."""
        if isinstance(self.geometry, Shape):
            return self.geometry
        raise InvalidValue(f"{with_article(self.kind)} is no closed shape: it has no centre and no mass.")

    @property
    def turn(self) -> Rotation:
        """The rotation from the frame of the geometry to the world."""
        return Rotation.from_quat(self.rotation)

    @property
    def upright(self) -> bool:
        """Whether it is not turned."""
        return self.rotation == UPRIGHT

    @property
    def where(self) -> Shape | Plane:
        """The shape or plane in the world, as built."""
        if isinstance(self.geometry, Plane):
            return self._placed_plane(self.geometry)
        return placed(self.shape, self.position, self.rotation)

    @cached_property
    def picture(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices where it is [m], shape [n, 3], and triangles, shape [m, 3], to draw; the same arrays every time."""
        if isinstance(self.geometry, HeightField):
            vertices, triangles = self.geometry.top()
            return vertices + np.array(self.position), triangles
        mesh = placed(self.shape, self.position, self.rotation).surface()
        return mesh.vertices, mesh.triangles

    def _placed_plane(self, plane: Plane) -> Plane:
        if self.upright and self.position == (0.0, 0.0, 0.0):
            return plane
        point = self.turn.apply(np.array(plane.point)) + np.array(self.position)
        return Plane(
            point=as_vector("point of a plane", point),
            normal=as_vector("normal of a plane", self.turn.apply(np.array(plane.normal))),
        )

    # --- mass ---

    @property
    def unit(self) -> MassProperties:
        """Mass properties at a density of 1, which copies in other worlds share."""
        shape, known = self._cache.get("mass", (None, None))
        if shape is not self.shape:
            known = mass_properties(self.shape)
            self._cache["mass"] = self.shape, known
        assert isinstance(known, MassProperties)
        return known

    @property
    def middle(self) -> np.ndarray:
        """Centre of mass in the frame of the geometry [m], shape [3]."""
        return self.unit.center

    @property
    def place(self) -> np.ndarray:
        """Centre of mass in the world, as built [m], shape [3]."""
        return np.asarray(self.position) + self.turn.apply(self.middle)

    @property
    def total_mass(self) -> float:
        """Mass [kg]: as given, or from the density."""
        return self.density * self.unit.volume if self.mass is None else self.mass

    # --- extent ---

    @property
    def thinnest(self) -> float:
        """Thickness of its thinnest wall [m], inf where it has none, which copies in other worlds share."""
        if not isinstance(self.geometry, Shape):
            return math.inf
        if isinstance(self.shape, Box):
            return float(min(self.shape.size))
        if isinstance(self.shape, Sphere):
            return 2.0 * self.shape.radius
        shape, known = self._cache.get("thinnest", (None, None))
        if shape is not self.shape:
            known = thinnest_wall(self.shape)[0]
            self._cache["thinnest"] = self.shape, known
        assert isinstance(known, float)
        return known

    @property
    def grid(self) -> SignedDistanceGrid:
        """The baked distance in the frame of the geometry, which copies in other worlds share."""
        shape, cells, _ = self._cache.get("grid", (None, 0, None))
        if shape is not self.shape or cells != self.cells:
            cells = cells_for_walls(self.shape, self.cells, self.thinnest)
            made = baked(self.shape, cells=cells, coarse=self.cells if cells > self.cells else None)
            self._cache["grid"] = self.shape, self.cells, made
        grid: SignedDistanceGrid = self._cache["grid"][2]
        return grid

    @cached_property
    def reach(self) -> float:
        """Radius of a ball around the centre of mass that holds the body [m]."""
        shape = self.shape
        low, high = shape.bounds()
        corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        if isinstance(shape, TriangleMesh):
            corners = shape.vertices
        if isinstance(shape, Sphere):
            return shape.radius
        return float(np.linalg.norm(corners - self.middle, axis=1).max())

    @property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner in the world, as built [m], two arrays of shape [3]."""
        shape = self.shape
        if isinstance(shape, Sphere):
            return self.place - shape.radius, self.place + shape.radius
        corners = self.turn.apply(np.array(shape.surface().vertices)) + np.asarray(self.position)
        return corners.min(axis=0), corners.max(axis=0)


Obstacle = Rigid | Geometry | ResistiveGround
"""What a list of obstacles may hold: a bare geometry stands for a fixed thing with the default surface."""


def require_list(obstacles: Any) -> None:
    """Refuse obstacles that are no list."""
    if not isinstance(obstacles, Sequence) or isinstance(obstacles, str):
        kind = with_article(type(obstacles).__name__)
        raise InvalidValue(f"obstacles must be a list of rigid things, not {kind}: write [obstacle] for one.")


def as_rigids(obstacles: Any, physics: str) -> list[Rigid]:
    """The obstacles of a list as rigid things; what is no list, or holds something else, is refused.

    Args:
        obstacles: The list.
        physics: Who touches them, for messages: "grains".
    """
    require_list(obstacles)
    for number, one in enumerate(obstacles):
        if isinstance(one, ResistiveGround):
            raise InvalidValue(
                f"{physics} cannot move through a ResistiveGround yet, and obstacle {number} is one: springs, 3-D "
                "voxels and solids in motion can, others take a Plane, or a bed of grains where there is one."
            )
        if not isinstance(one, Obstacle):
            raise InvalidValue(
                f"obstacle {number} is {with_article(type(one).__name__)}: give a Rigid of annelid.shapes, or a bare "
                "geometry such as Plane(), Sphere(0.1) or a closed mesh; of a file, Rigid('part.stl')."
            )
    return [one if isinstance(one, Rigid) else Rigid(one) for one in obstacles]
