"""What masses can touch: planes, balls, boxes, height fields, any closed shape, and surfaces written by the user.

Contact is a linear spring and dashpot on the depth, never attractive, with Coulomb friction. The dashpot follows from
the coefficient of restitution. Obstacles stand still; masses are points to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Shape, SignedDistanceGrid, TriangleMesh
from annelid.springs.kernels.layout import BALL, BOX, GRID, HEIGHTS, PLANE

Vector = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Contact:
    """How a surface responds to contact.

    Attributes:
        stiffness: Force per depth of one mass [N/m].
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        static_friction: Coulomb coefficient that holds a resting mass.
        kinetic_friction: Coulomb coefficient on a sliding mass; None takes the static one.
    """

    stiffness: float = 1.0e4
    restitution: float = 0.5
    static_friction: float = 0.5
    kinetic_friction: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.stiffness) and self.stiffness > 0.0):
            raise InvalidValue(f"contact stiffness must be positive, not {self.stiffness}.")
        if not 0.0 <= self.restitution <= 1.0:
            raise InvalidValue(f"restitution must be between 0 and 1, not {self.restitution}.")
        for name, value in (("static_friction", self.static_friction), ("kinetic_friction", self.sliding_friction)):
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidValue(f"{name} must not be negative, not {value}.")
        if self.sliding_friction > self.static_friction:
            raise InvalidValue(
                f"kinetic_friction {self.sliding_friction} must not exceed static_friction {self.static_friction}."
            )

    @property
    def sliding_friction(self) -> float:
        """Coefficient on a sliding mass."""
        return self.static_friction if self.kinetic_friction is None else self.kinetic_friction

    @property
    def damping_ratio(self) -> float:
        """Damping ratio of the linear contact whose bounce has this restitution."""
        return damping_ratio(self.restitution)

    def numbers(self) -> Mapping[str, Any]:
        """Members of the kernels' structure that say what and where the surface is."""
        return {}

    def values(self) -> np.ndarray:
        """Heights or signed distances [m] that the kernels look up, shape [k]."""
        return np.zeros(0, np.float32)

    @property
    def picture(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Vertices [m], shape [n, 3], and triangles, shape [m, 3], where the surface is drawn as a mesh."""
        return None


@dataclass(frozen=True, kw_only=True)
class Plane(Contact):
    """A half-space; masses stay on the side of the normal.

    Attributes:
        point: A point of the plane [m].
        normal: Normal; its length does not matter.
    """

    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_direction("the normal of a plane", self.normal)
        _require_point("the point of a plane", self.point)

    @property
    def unit_normal(self) -> Vector:
        """The normal with length 1."""
        length = math.hypot(*self.normal)
        return (self.normal[0] / length, self.normal[1] / length, self.normal[2] / length)

    def numbers(self) -> Mapping[str, Any]:
        """Normal, and distance from the origin along it."""
        return {"kind": PLANE, "place": self.unit_normal, "size": float(np.dot(self.unit_normal, self.point))}


@dataclass(frozen=True, kw_only=True)
class Ball(Contact):
    """A solid ball; masses stay outside.

    Attributes:
        center: Centre [m].
        radius: Radius [m].
    """

    center: Vector
    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_point("the centre (center) of a ball", self.center)
        if not (math.isfinite(self.radius) and self.radius > 0.0):
            raise InvalidValue(f"the radius of a ball must be positive, not {self.radius}.")

    def numbers(self) -> Mapping[str, Any]:
        """Centre and radius."""
        return {"kind": BALL, "place": self.center, "size": self.radius}


@dataclass(frozen=True, kw_only=True)
class Cuboid(Contact):
    """A solid box, turned as you like; masses stay outside.

    Attributes:
        size: Lengths of its sides [m].
        center: Centre [m].
        axis: Axis around which it is turned; its length does not matter.
        angle: Angle of the turn [rad].
    """

    size: Vector
    center: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    angle: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_point("the size of a cuboid", self.size)
        if not min(self.size) > 0.0:
            raise InvalidValue(f"the size of a cuboid must be three positive lengths, not {self.size}.")
        _require_point("the centre (center) of a cuboid", self.center)
        _require_direction("the axis of a cuboid", self.axis)
        if not math.isfinite(self.angle):
            raise InvalidValue(f"the angle of a cuboid must be finite, not {self.angle}.")

    @property
    def turn(self) -> np.ndarray:
        """Rotation from the axes of the box to those of the world, shape [3, 3]."""
        unit = np.asarray(self.axis, float) / np.linalg.norm(self.axis)
        return np.asarray(Rotation.from_rotvec(self.angle * unit).as_matrix())

    def numbers(self) -> Mapping[str, Any]:
        """Centre, half sides and turn."""
        half = tuple(0.5 * side for side in self.size)
        return {"kind": BOX, "place": self.center, "spacing": half, "turn": self.turn}

    @cached_property
    def picture(self) -> tuple[np.ndarray, np.ndarray]:
        """Twelve triangles."""
        mesh = Box(self.size).surface()
        return mesh.vertices @ self.turn.T + np.asarray(self.center), mesh.triangles


@dataclass(frozen=True, kw_only=True, eq=False)
class HeightField(Contact):
    """Uneven ground: a height for each point of a grid over x and y, bilinear in between; masses stay above.

    Everything below the surface is solid. Beyond the rim the ground goes on with the height of the rim.

    Attributes:
        heights: Heights [m], shape [nx, ny]; the first index runs along x.
        spacing: Distance between neighbouring heights along x and y [m], or one number for both.
        corner: Where `heights[0, 0]` is, x and y [m]; None centres the field on the origin.
    """

    heights: Any
    spacing: float | tuple[float, float]
    corner: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        heights = np.array(self.heights, np.float32)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise InvalidValue(f"heights must have the shape [nx, ny] of at least [2, 2], not {list(heights.shape)}.")
        if not np.isfinite(heights).all():
            raise InvalidValue("heights must be finite numbers.")
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        if not (np.isfinite(self.steps).all() and (self.steps > 0.0).all()):
            raise InvalidValue(f"the spacing of a height field must be positive, not {self.spacing}.")
        if not (self.begin.shape == (2,) and np.isfinite(self.begin).all()):
            raise InvalidValue(f"the corner of a height field must be two finite numbers, not {self.corner}.")

    @property
    def steps(self) -> np.ndarray:
        """Distances between heights along x and y [m], shape [2]."""
        return np.array(np.broadcast_to(np.asarray(self.spacing, float), 2))

    @property
    def begin(self) -> np.ndarray:
        """Where `heights[0, 0]` is, x and y [m], shape [2]."""
        if self.corner is None:
            return -0.5 * self.steps * (np.array(self.heights.shape) - 1)
        return np.asarray(self.corner, float)

    def numbers(self) -> Mapping[str, Any]:
        """First node, spacing and counts."""
        (x, y), (dx, dy) = self.begin.tolist(), self.steps.tolist()
        return {"kind": HEIGHTS, "place": (x, y, 0.0), "spacing": (dx, dy, 1.0), "counts": (*self.heights.shape, 1)}

    def values(self) -> np.ndarray:
        """The heights."""
        return np.asarray(self.heights).ravel()

    @cached_property
    def picture(self) -> tuple[np.ndarray, np.ndarray]:
        """Two triangles a cell."""
        nx, ny = self.heights.shape
        grid = np.indices((nx, ny)).reshape(2, -1).T * self.steps + self.begin
        corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        across = np.stack([corner, corner + ny, corner + ny + 1, corner + 1], axis=1)
        triangles = np.concatenate([across[:, [0, 1, 2]], across[:, [0, 2, 3]]]).astype(np.int32)
        return np.column_stack([grid, self.values()]), triangles


@dataclass(frozen=True, kw_only=True, eq=False)
class Rigid(Contact):
    """Any solid shape or closed mesh, by its signed distance baked on a grid; masses stay outside.

    Parts thinner than two cells of the grid, and edges, are resolved only as finely as the grid.

    Attributes:
        shape: The shape, where it stands.
        resolution: Cells of the grid along its longest side.
    """

    shape: Shape
    resolution: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.shape, Shape):
            raise InvalidValue(f"a rigid obstacle needs a shape or a closed mesh, not a {type(self.shape).__name__}.")
        if isinstance(self.shape, TriangleMesh):
            self.shape.require_closed()
        self.grid  # noqa: B018 (a resolution that cannot be baked is refused here)

    @property
    def grid(self) -> SignedDistanceGrid:
        """The baked distance."""
        return _baked(self.shape, self.resolution)

    def numbers(self) -> Mapping[str, Any]:
        """First node, spacing and counts."""
        grid = self.grid
        return {"kind": GRID, "place": grid.origin, "size": grid.spacing, "counts": tuple(grid.values.shape)}

    def values(self) -> np.ndarray:
        """Signed distances."""
        return np.asarray(self.grid.values.numpy()).ravel()

    @cached_property
    def picture(self) -> tuple[np.ndarray, np.ndarray]:
        """The surface of the shape."""
        mesh = self.shape.surface()
        return mesh.vertices, mesh.triangles


@dataclass(frozen=True, kw_only=True)
class Surface(Contact):
    """A surface written by the user.

    Attributes:
        function: Warp function `(time, position) -> 4-vector`: unit normal towards the free side, and the gap [m],
            negative inside.
    """

    function: Any


_DEADEST = 5.0  # damping ratio where the search ends: a bounce keeps one per cent of its speed


def damping_ratio(restitution: float) -> float:
    """Damping ratio of a spring-dashpot contact that ends when its force would pull (Schwager and Pöschel, 2007)."""
    if restitution >= 1.0:
        return 0.0
    if restitution <= _restitution(_DEADEST):
        return _DEADEST
    return float(brentq(lambda ratio: _restitution(ratio) - restitution, 1e-9, _DEADEST))


def _restitution(ratio: float) -> float:
    """Restitution of a linear contact with this damping ratio, up to the moment when its force vanishes.

    The depth is exp(-ratio s) sin(w s)/w in units of the undamped frequency, with sinh above critical damping.
    """
    w = math.sqrt(abs(1.0 - ratio * ratio))
    if w < 1e-6:
        return math.exp(-2.0)
    if ratio < 1.0:
        return math.exp(-ratio / w * math.atan2(2.0 * ratio * w, 2.0 * ratio * ratio - 1.0))
    return math.exp(-ratio / w * math.atanh(2.0 * ratio * w / (2.0 * ratio * ratio - 1.0)))


@lru_cache(maxsize=16)
def _baked(shape: Shape, resolution: int) -> SignedDistanceGrid:
    """Baked once, so that a slider on the friction of a mesh does not bake it again."""
    return SignedDistanceGrid.bake(shape, resolution=resolution)


def _require_point(what: str, value: Any) -> None:
    array = np.asarray(value, float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidValue(f"{what} must be three finite numbers, not {value}.")


def _require_direction(what: str, value: Any) -> None:
    array = np.asarray(value, float)
    if array.shape != (3,) or not np.isfinite(array).all() or not array.any():
        raise InvalidValue(f"{what} must be three finite numbers that are not all 0, not {value}.")
