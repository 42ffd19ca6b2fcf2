"""Rigid things as a soft robot touches them: how far its nodes are from planes, spheres, boxes and capsules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Mesh
from annelid.core.snapshot import Plane as PlanePart
from annelid.shapes import Box, Capsule, Obstacle, Plane, Rigid, Sphere
from annelid.shapes.rigid import as_rigids

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


class Barrier(ABC):
    """An obstacle as a soft robot touches it.

    Args:
        rigid: The obstacle.

    Attributes:
        rigid: The obstacle.
        name: Name in pictures and messages.
    """

    def __init__(self, rigid: Rigid) -> None:
        self.rigid, self.name = rigid, rigid.name or rigid.kind.lower()

    @abstractmethod
    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""

    def part(self) -> Mesh | PlanePart:
        """What to draw."""
        where = self.rigid.where
        assert not isinstance(where, Plane)
        surface = where.surface(24)
        return Mesh(self.name, surface.vertices.astype(np.float32), surface.triangles, color=self.rigid.color or _COLOR)


class PlaneBarrier(Barrier):
    """All that lies below a plane is solid."""

    def __init__(self, rigid: Rigid) -> None:
        super().__init__(rigid)
        plane = rigid.where
        assert isinstance(plane, Plane)
        self._plane = plane

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""
        normal = np.asarray(self._plane.normal, float)
        normals = np.broadcast_to(normal, points.shape)
        return Touch((points - np.asarray(self._plane.point)) @ normal, normals, np.zeros((len(points), 3, 3)))

    def part(self) -> Mesh | PlanePart:
        """What to draw."""
        return PlanePart(self.name, self._plane.point, self._plane.normal)


class SphereBarrier(Barrier):
    """A solid ball."""

    def __init__(self, rigid: Rigid) -> None:
        super().__init__(rigid)
        sphere = rigid.where
        assert isinstance(sphere, Sphere)
        self._sphere = sphere

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""
        radius = self._sphere.radius
        away = points - np.asarray(self._sphere.center)
        distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9 * radius)
        normals = away / distance[:, None]
        return Touch(distance - radius, normals, _round(normals, distance))


class BoxBarrier(Barrier):
    """A solid box."""

    def __init__(self, rigid: Rigid) -> None:
        super().__init__(rigid)
        assert isinstance(rigid.geometry, Box)
        self._box = rigid.geometry
        self._turn = None if rigid.upright else rigid.turn.as_matrix()

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""
        if self._turn is None:
            return self._upright(points - np.asarray(self.rigid.position))
        found = self._upright((points - np.asarray(self.rigid.position)) @ self._turn)
        bends = self._turn @ found.bends @ self._turn.T
        return Touch(found.gaps, found.normals @ self._turn.T, bends)

    def _upright(self, points: np.ndarray) -> Touch:
        """The same in the frame of the box; beside an edge or a corner the distance is round."""
        away = points - np.asarray(self._box.center)
        side = np.where(away < 0.0, -1.0, 1.0)
        beyond = np.abs(away) - 0.5 * np.asarray(self._box.size)
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


class CapsuleBarrier(Barrier):
    """A solid cylinder with half a ball on each end."""

    def __init__(self, rigid: Rigid) -> None:
        super().__init__(rigid)
        capsule = rigid.where
        assert isinstance(capsule, Capsule)
        self._capsule = capsule

    def touch(self, points: np.ndarray) -> Touch:
        """How points [m], shape [p, 3], stand to it."""
        axis, radius, half = np.array(self._capsule.axis), self._capsule.radius, 0.5 * self._capsule.length
        away = points - np.asarray(self._capsule.center)
        along = away @ axis
        away = away - np.clip(along, -half, half)[:, None] * axis
        distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9 * radius)
        normals = away / distance[:, None]
        bends = _round(normals, distance)
        # Beside the cylinder the normal does not turn along the axis.
        beside = np.abs(along) < half
        bends[beside] -= np.outer(axis, axis) / distance[beside, None, None]
        return Touch(distance - radius, normals, bends)


def barriers_of(obstacles: Sequence[Obstacle]) -> tuple[Barrier, ...]:
    """Obstacles as a soft robot touches them; those that it cannot touch yet are refused by name."""
    return tuple(
        _barrier(number, rigid) for number, rigid in enumerate(as_rigids(obstacles, "soft robots of finite elements"))
    )


def _barrier(number: int, rigid: Rigid) -> Barrier:
    what = rigid.called(number)
    _require_touchable(rigid, what)
    kinds: dict[type, type[Barrier]] = {
        Plane: PlaneBarrier, Sphere: SphereBarrier, Box: BoxBarrier, Capsule: CapsuleBarrier,
    }  # fmt: skip
    found = kinds.get(type(rigid.geometry))
    if found is None:
        raise InvalidValue(
            f"soft robots cannot touch {what}, yet: use planes, spheres, boxes and "
            "capsules, or give the robot contact=fem.Contact()."
        )
    return found(rigid)


def _require_touchable(rigid: Rigid, what: str) -> None:
    if rigid.moves != "fixed":
        how = "along a path" if rigid.path is not None else rigid.moves
        raise InvalidValue(
            f"soft robots cannot touch a moving obstacle yet, and {what}, moves ({how}): use motion='fixed', or "
            "give the robot contact=fem.Contact()."
        )
    if rigid.inside:
        raise InvalidValue(
            f"soft robots cannot be kept inside a shape yet, as {what}, wants: use planes as walls, or "
            "give the robot contact=fem.Contact()."
        )
    if rigid.world != 0:
        raise InvalidValue(f"soft robots live in one world, and {what}, names world {rigid.world}: use world=0.")
    surface = rigid.surface
    for name, value in (
        ("restitution", surface.restitution), ("rolling", surface.rolling), ("cohesion", surface.cohesion),
        ("stiffness", surface.stiffness),
    ):  # fmt: skip
        if value:
            raise InvalidValue(
                f"soft robots touch obstacles without {name}, and {what}, has {value:g}: leave it out, or "
                "give 0; with contact=fem.Contact() a robot touches with friction."
            )


def _round(normals: np.ndarray, distance: np.ndarray) -> np.ndarray:
    across = np.eye(3) - normals[:, :, None] * normals[:, None, :]
    return np.asarray(across / distance[:, None, None])
