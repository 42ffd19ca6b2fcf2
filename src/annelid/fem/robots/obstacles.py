"""Obstacles that a soft robot must not enter: planes, spheres, boxes. Its surface nodes are kept out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Mesh
from annelid.core.snapshot import Plane as PlanePart
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.actuation import carry
from annelid.fem.mesh import Hollow
from annelid.fem.solid import Solid
from annelid.shapes.primitives import Box as BoxShape
from annelid.shapes.primitives import Sphere as SphereShape
from annelid.shapes.values import as_axis, as_vector, require_positive

_COLOR = (0.62, 0.66, 0.70)


@dataclass(frozen=True)
class Touch:
    """How some points stand to an obstacle.

    Attributes:
        gaps: Distance from the obstacle [m], negative inside, shape [p].
        normals: Slope of that: unit vectors out of the obstacle, shape [p, 3].
        bends: Slope of the normals [1/m], shape [p, 3, 3].
    """

    gaps: np.ndarray
    normals: np.ndarray
    bends: np.ndarray


@dataclass(frozen=True)
class Plane:
    """All that lies below a plane is solid.

    Attributes:
        point: A point of the plane [m].
        normal: Direction of the free side.
        name: Name.
    """

    point: Sequence[float] = (0.0, 0.0, 0.0)
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    name: str = "plane"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", as_vector("point of the plane", self.point))
        object.__setattr__(self, "normal", as_axis(self.normal))

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""
        normal = np.asarray(self.normal, float)
        normals = np.broadcast_to(normal, points.shape)
        return Touch((points - np.asarray(self.point)) @ normal, normals, np.zeros((len(points), 3, 3)))

    def part(self) -> Mesh | PlanePart:
        """What to draw."""
        return PlanePart(self.name, tuple(self.point), tuple(self.normal))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sphere:
    """A solid ball.

    Attributes:
        radius: Radius [m].
        center: Centre [m].
        name: Name.
    """

    radius: float
    center: Sequence[float] = (0.0, 0.0, 0.0)
    name: str = "sphere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", require_positive("radius of the sphere", self.radius))
        object.__setattr__(self, "center", as_vector("centre of the sphere", self.center))

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""
        away = points - np.asarray(self.center)
        distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9 * self.radius)
        normals = away / distance[:, None]
        return Touch(distance - self.radius, normals, _round(normals, distance))

    def part(self) -> Mesh | PlanePart:
        """What to draw."""
        surface = SphereShape(self.radius, center=tuple(self.center)).surface(24)  # type: ignore[arg-type]
        return Mesh(self.name, surface.vertices.astype(np.float32), surface.triangles, color=_COLOR)


@dataclass(frozen=True)
class Box:
    """A solid box along the axes.

    Attributes:
        size: Edges [m].
        center: Centre [m].
        name: Name.
    """

    size: Sequence[float]
    center: Sequence[float] = (0.0, 0.0, 0.0)
    name: str = "box"

    def __post_init__(self) -> None:
        size = as_vector("size of the box", self.size)
        if min(size) <= 0.0:
            raise InvalidValue(f"size of the box = {self.size!r} cannot be used; give three lengths above 0 [m].")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "center", as_vector("centre of the box", self.center))

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it; beside an edge or a corner the distance is round."""
        away = points - np.asarray(self.center)
        side = np.where(away < 0.0, -1.0, 1.0)
        beyond = np.abs(away) - 0.5 * np.asarray(self.size)
        inside = (beyond <= 0.0).all(axis=1)
        out = np.maximum(beyond, 0.0)
        distance = np.linalg.norm(out, axis=1)
        face = np.eye(3)[beyond.argmax(axis=1)]
        normals = side * np.where(inside[:, None], face, out / np.maximum(distance, 1e-300)[:, None])
        # Along an edge or around a corner the normal turns within the directions that lie beyond a face.
        free = (beyond > 0.0).astype(float)
        bends = _round(normals, np.maximum(distance, 1e-12)) * free[:, :, None] * free[:, None, :]
        bends[inside | (free.sum(axis=1) < 2)] = 0.0
        return Touch(np.where(inside, beyond.max(axis=1), distance), normals, bends)

    def part(self) -> Mesh | PlanePart:
        """What to draw."""
        surface = BoxShape(tuple(self.size), center=tuple(self.center)).surface()  # type: ignore[arg-type]
        return Mesh(self.name, surface.vertices.astype(np.float32), surface.triangles, color=_COLOR)


Obstacle = Plane | Sphere | Box


def _round(normals: np.ndarray, distance: np.ndarray) -> np.ndarray:
    across = np.eye(3) - normals[:, :, None] * normals[:, None, :]
    return np.asarray(across / distance[:, None, None])


class ContactLoads(ElementSet):
    """Forces of obstacles on the outer nodes of a solid, as they were found last.

    Args:
        solid: The solid.
        device: Where it is computed.

    Attributes:
        outer: Nodes that can touch: those of the surface that belong to no cavity and are not held, shape [k].
    """

    def __init__(self, solid: Solid, device: wp.Device) -> None:
        hollow = [np.unique(cavity) for cavity in solid.mesh.cavities()] if isinstance(solid.mesh, Hollow) else []
        idle = np.concatenate([np.flatnonzero(solid.held.all(axis=1)), *hollow])
        self.outer = np.setdiff1d(np.unique(solid.boundary), idle).astype(np.int32)
        super().__init__(self.outer[:, None], device)
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._loads = wp.zeros(len(self.outer), dtype=wp.vec3d, device=device)

    def load(self, forces: np.ndarray, blocks: np.ndarray) -> None:
        """Act with these forces from now on.

        Args:
            forces: Force on each outer node [N], shape [k, 3].
            blocks: How it resists motion: minus its slope [N/m], shape [k, 3, 3].
        """
        self._loads.assign(forces)
        self.tangent.assign(blocks[:, None, None])

    def evaluate(self, positions: wp.array, *, tangent: bool = True) -> None:
        """Energy and forces; they stay as they were given."""
        arguments = [self._nodes, self._loads, positions, self.energy, self.forces]
        wp.launch(carry, self.element_count, arguments, device=self.device)


class Contacts:
    """All obstacles of a robot and the forces between them and its outer nodes.

    Args:
        obstacles: The obstacles.
        solid: The solid.
        device: Where it is computed.

    Attributes:
        forces: Force of each obstacle on each outer node, along its normal [N], shape [o, k].
        gaps: Distance of each outer node from each obstacle [m], shape [o, k], when it was last looked at.
        normals: Normals there, shape [o, k, 3].
    """

    def __init__(self, obstacles: Sequence[Obstacle], solid: Solid, device: wp.Device) -> None:
        self.obstacles = tuple(obstacles)
        self.loads = ContactLoads(solid, device)
        shape = len(self.obstacles), len(self.loads.outer)
        self.forces, self.gaps = np.zeros(shape), np.full(shape, np.inf)
        self.normals, self._bends = np.zeros((*shape, 3)), np.zeros((*shape, 3, 3))

    def look(self, positions: np.ndarray) -> None:
        """Find gaps and normals at positions of all nodes [m], shape [n, 3]."""
        points = positions[self.loads.outer]
        for i, obstacle in enumerate(self.obstacles):
            touch = obstacle.touch(points)
            self.gaps[i], self.normals[i], self._bends[i] = touch.gaps, touch.normals, touch.bends

    def near(self, margin: float) -> np.ndarray:
        """Pairs of obstacle and outer node that press or are nearer than a margin [m], shape [c, 2]."""
        return np.argwhere((self.forces > 0.0) | (self.gaps < margin))

    def press(self) -> None:
        """Act with the forces from now on, along the normals that were found last."""
        self.loads.load(
            np.einsum("ok,okx->kx", self.forces, self.normals), -np.einsum("ok,okxy->kxy", self.forces, self._bends)
        )
