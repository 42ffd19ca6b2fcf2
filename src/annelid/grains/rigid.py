"""Rigid bodies that grains touch: planes, primitives and any closed mesh; fixed, driven, or free."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Color
from annelid.grains.kernels.layout import BALL, BOX, CAPSULE, CYLINDER, DRIVEN, FIXED, FREE, GRID, PLANE
from annelid.grains.material import Surface
from annelid.shapes import (
    Box,
    Capsule,
    Cylinder,
    MassProperties,
    Shape,
    SignedDistanceGrid,
    Sphere,
    TriangleMesh,
    baked,
    mass_properties,
)
from annelid.shapes.shape import as_vector, frame

Vector = tuple[float, float, float]

Path = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""A function of times [s], shape [k]: what `position` and `rotation` are then, shapes [k, 3] [m] and [k, 4]."""

_MOTIONS = {"fixed": FIXED, "driven": DRIVEN, "free": FREE}


@dataclass(frozen=True, kw_only=True, eq=False)
class Plane(Surface):
    """A fixed half-space; grains stay on the side of the normal.

    Attributes:
        point: A point of the plane [m].
        normal: Normal; its length does not matter.
        world: World that it belongs to, of many that are simulated side by side.
        hidden: Leave it out of pictures.
    """

    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    world: int = 0
    hidden: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "point", as_vector("point of a plane", self.point))
        normal = as_vector("normal of a plane", self.normal)
        length = math.hypot(*normal)
        if length == 0.0:
            raise InvalidValue("the normal of a plane must not be 0.")
        object.__setattr__(self, "normal", tuple(c / length for c in normal))


@dataclass(frozen=True, kw_only=True, eq=False)
class Rigid(Surface):
    """A rigid body.

    Attributes:
        shape: A primitive or a closed mesh, in a frame of its own.
        position: Where the origin of that frame is [m].
        rotation: How it is turned: a quaternion (x, y, z, w).
        motion: "fixed"; "driven", by `velocity` and `spin`, which can be changed while it runs, or along a `path`; or
            "free", moved by gravity and by what touches it.
        density: Mass per volume of a free body [kg/m³].
        mass: Mass of a free body [kg], instead of a density.
        velocity: Velocity of the centre of mass [m/s].
        spin: Angular velocity [rad/s].
        path: Motion as a function of time, for a driven body; see `Path`. It gives where the body begins, too.
        inside: Grains are kept inside the shape, not outside.
        cells: Cells of the grid of distances along the longest side of a mesh.
        points: Points of the surface of a free body that touch other bodies.
        world: World that it belongs to, of many that are simulated side by side.
        name: Name in pictures and tables.
        color: Colour in pictures.
        hidden: Leave it out of pictures.
    """

    shape: Shape
    position: Vector = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    motion: str = "fixed"
    density: float = 1000.0
    mass: float | None = None
    velocity: Vector = (0.0, 0.0, 0.0)
    spin: Vector = (0.0, 0.0, 0.0)
    path: Path | None = None
    inside: bool = False
    cells: int = 64
    points: int = 256
    world: int = 0
    name: str = ""
    color: Color = (0.45, 0.53, 0.62)
    hidden: bool = False
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.shape, Shape):
            raise InvalidValue(f"a rigid body needs a shape or a closed mesh, not a {type(self.shape).__name__}.")
        if isinstance(self.shape, TriangleMesh):
            self.shape.require_closed()
        if self.motion not in _MOTIONS:
            raise InvalidValue(f"motion must be one of {', '.join(_MOTIONS)}, not {self.motion!r}.")
        if self.path is not None and self.motion != "driven":
            raise InvalidValue(f"only a driven body follows a path, not one that is {self.motion}.")
        if self.path is not None:
            start, turn = followed(self.path, np.zeros(1), "a rigid body")
            object.__setattr__(self, "position", tuple(start[0]))
            object.__setattr__(self, "rotation", tuple(turn[0]))
        for name in ("position", "velocity", "spin"):
            object.__setattr__(self, name, as_vector(f"{name} of a rigid body", getattr(self, name)))
        turn = np.asarray(self.rotation, float)
        if turn.shape != (4,) or not np.isfinite(turn).all() or not turn.any():
            raise InvalidValue(f"rotation must be a quaternion of four numbers, not {self.rotation}.")
        for name in ("density", "mass"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} of a rigid body must be above 0, not {value}.")

    @property
    def motion_number(self) -> int:
        """FIXED, DRIVEN or FREE."""
        return _MOTIONS[self.motion]

    @property
    def turn(self) -> Rotation:
        """The rotation from the frame of the shape to the world."""
        return Rotation.from_quat(self.rotation)

    @property
    def middle(self) -> np.ndarray:
        """Centre of mass in the frame of the shape [m], shape [3]."""
        return self._unit.center

    @property
    def _unit(self) -> MassProperties:
        """Mass properties at a density of 1, which copies of the body in other worlds share."""
        shape, known = self._cache.get("mass", (None, None))
        if shape is not self.shape:
            known = mass_properties(self.shape)
            self._cache["mass"] = self.shape, known
        assert isinstance(known, MassProperties)
        return known

    @property
    def axes(self) -> np.ndarray:
        """Rotation from the frame of the kernels, where rods lie along z, to that of the shape, shape [3, 3]."""
        if isinstance(self.shape, (Cylinder, Capsule)):
            return frame(self.shape.axis)  # type: ignore[arg-type]
        return np.eye(3)

    @property
    def place(self) -> np.ndarray:
        """Centre of mass in the world [m], shape [3]."""
        return np.asarray(self.position) + self.turn.apply(self.middle)

    @property
    def quaternion(self) -> np.ndarray:
        """Turn from the frame of the kernels to the world, shape [4]."""
        return np.asarray((self.turn * Rotation.from_matrix(self.axes)).as_quat())

    @cached_property
    def weight(self) -> tuple[float, np.ndarray]:
        """Mass [kg], and inertia in the frame of the kernels [kg m²], shape [3, 3]."""
        unit = self._unit
        mass = self.density * unit.volume if self.mass is None else self.mass
        return mass, self.axes.T @ unit.inertia @ self.axes * (mass / unit.mass)

    @cached_property
    def kind(self) -> int:
        """Kind of surface of the kernels."""
        kinds = {Sphere: BALL, Box: BOX, Cylinder: CYLINDER, Capsule: CAPSULE}
        return kinds.get(type(self.shape), GRID)

    @property
    def size(self) -> tuple[float, float, float]:
        """Half sides, or radius and half length [m]."""
        shape = self.shape
        if isinstance(shape, Box):
            x, y, z = (0.5 * side for side in shape.size)
            return x, y, z
        if isinstance(shape, Sphere):
            return shape.radius, 0.0, 0.0
        if isinstance(shape, (Cylinder, Capsule)):
            return shape.radius, 0.5 * shape.length, 0.0
        return 0.0, 0.0, 0.0

    @property
    def grid(self) -> SignedDistanceGrid | None:
        """The baked distance of a mesh, which copies of the body in other worlds share; None for a primitive."""
        if self.kind != GRID:
            return None
        shape, cells, _ = self._cache.get("grid", (None, 0, None))
        if shape is not self.shape or cells != self.cells:
            self._cache["grid"] = self.shape, self.cells, baked(self.shape, cells=self.cells)
        grid: SignedDistanceGrid = self._cache["grid"][2]
        return grid

    @cached_property
    def reach(self) -> float:
        """Radius of a ball around the centre of mass that holds the body [m]."""
        low, high = self.shape.bounds()
        corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        if isinstance(self.shape, TriangleMesh):
            corners = self.shape.vertices
        if isinstance(self.shape, Sphere):
            return self.shape.radius
        return float(np.linalg.norm(corners - self.middle, axis=1).max())

    @property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner in the world, as built [m], two arrays of shape [3]."""
        if isinstance(self.shape, Sphere):
            return self.place - self.shape.radius, self.place + self.shape.radius
        corners = self.turn.apply(np.array(self.shape.surface().vertices)) + np.asarray(self.position)
        return corners.min(axis=0), corners.max(axis=0)

    @cached_property
    def surface_mesh(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices in the frame of the kernels, about the centre of mass [m], and triangles, to draw."""
        mesh = self.shape.surface()
        return (mesh.vertices - self.middle) @ self.axes, mesh.triangles

    def sample_points(self) -> np.ndarray:
        """Points that touch other bodies, in the frame of the kernels [m], shape [k, 3].

        Corners first, then points evenly spread over the surface. Round bodies touch with balls of their radius
        instead: one in the middle of a ball, several along a capsule.
        """
        if isinstance(self.shape, Sphere):
            return np.zeros((1, 3))
        if isinstance(self.shape, Capsule):
            count = 2 + int(min(self.shape.length / self.shape.radius, max(self.points - 2, 0)))
            along = np.linspace(-0.5, 0.5, count) * self.shape.length
            return np.column_stack([np.zeros((count, 2)), along])
        mesh = self.shape.surface(16)
        vertices = (mesh.vertices - self.middle) @ self.axes
        if len(vertices) <= self.points:
            spread = _spread(vertices, mesh.triangles, self.points - len(vertices))
            return np.concatenate([vertices, spread])
        return _spread(vertices, mesh.triangles, self.points)


WALL = (PLANE, FIXED)


def followed(path: Path, times: np.ndarray, whose: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions [m], shape [k, 3], and quaternions, shape [k, 4], that a path gives for times [s], shape [k]."""
    count = len(times)
    wanted = f"the path of {whose} must give positions of shape [k, 3] and quaternions of shape [k, 4] for k times"
    try:
        positions, rotations = (np.asarray(part, float) for part in path(times))
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"{wanted}, and does not ({error}).") from error
    if positions.shape != (count, 3) or rotations.shape != (count, 4):
        raise InvalidValue(f"{wanted}, not {list(positions.shape)} and {list(rotations.shape)} for {count}.")
    if not (np.isfinite(positions).all() and np.isfinite(rotations).all()):
        raise InvalidValue(f"the path of {whose} is not finite between {times[0]:.4g} and {times[-1]:.4g} s.")
    if not rotations.any(axis=1).all():
        raise InvalidValue(f"the path of {whose} gives a quaternion of 0, which is no rotation.")
    return positions, rotations


def _spread(vertices: np.ndarray, triangles: np.ndarray, count: int) -> np.ndarray:
    """Points on triangles, the same every time, in proportion to their areas, shape [count, 3]."""
    corners = vertices[triangles]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng(0)
    edges = np.cumsum(areas) / areas.sum()
    which = np.minimum(np.searchsorted(edges, (np.arange(count) + 0.5) / max(count, 1)), len(triangles) - 1)
    u, v = np.sqrt(rng.random(count)), rng.random(count)
    weights = np.column_stack([1.0 - u, u * (1.0 - v), u * v])
    return np.asarray(np.einsum("nk,nki->ni", weights, corners[which]))


def box_walls(
    low: Vector, high: Vector, *, top: bool = False, surface: Surface | None = None, world: int = 0
) -> list[Plane]:
    """Floor and four walls of a box that is open above, or closed.

    Args:
        low: Lowest corner [m].
        high: Highest corner [m].
        top: Close it.
        surface: How its walls respond to contact; the default is that of sand-like grains.
        world: World that they belong to.
    """
    (x0, y0, z0), (x1, y1, z1) = as_vector("low", low), as_vector("high", high)
    if not (x0 < x1 and y0 < y1 and z0 < z1):
        raise InvalidValue(f"the corner {high} of a box must lie above {low} along every axis.")
    faces: list[tuple[Vector, Vector]] = [
        ((x0, y0, z0), (0.0, 0.0, 1.0)),
        ((x0, y0, z0), (1.0, 0.0, 0.0)),
        ((x1, y1, z1), (-1.0, 0.0, 0.0)),
        ((x0, y0, z0), (0.0, 1.0, 0.0)),
        ((x1, y1, z1), (0.0, -1.0, 0.0)),
    ]
    if top:
        faces.append(((x1, y1, z1), (0.0, 0.0, -1.0)))
    response = surface or Surface()
    return [
        Plane(
            point=point, normal=normal, world=world, hidden=normal[2] != 1.0, friction=response.friction,
            restitution=response.restitution, rolling=response.rolling, cohesion=response.cohesion,
        )
        for point, normal in faces
    ]  # fmt: skip
