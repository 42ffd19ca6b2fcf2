"""Obstacles between the nodes of a solid to begin with: how deep their points are in it, and whether surfaces cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import warp as wp

from annelid.fem.contact.overlaps import Boxes
from annelid.fem.contact.surface import chambers_of, doubtful, edges_of, outer_faces, pierced
from annelid.fem.reinforcing.embedding import Around, nearest_on_faces
from annelid.fem.solid import Solid
from annelid.shapes import Box, Capsule, Cylinder, HeightField, Rigid, Sphere, TriangleMesh
from annelid.shapes.topology import winding_numbers

_INSIDE = -1e-9  # weights above are taken as inside, also where tetrahedra meet
_ON = 1e-6  # of the reach: what is nearer to the surface is on it
_ALONG = 64  # points along the axis of a capsule, at most
_AT_ONCE = 64  # points that all walls of a chamber are looked at for

Surface = tuple[np.ndarray, np.ndarray]
"""Points [m], shape [n, 3], and triangles, shape [t, 3]."""


class Touched(Protocol):
    """Obstacles where they begin."""

    rigids: list[Rigid]
    device: wp.Device

    def sharp_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Obstacles of sharp points, shape [c], and where these are [m], shape [c, 3]."""

    def in_world(self, number: int, points: np.ndarray) -> np.ndarray:
        """Where points of the frame of a geometry are [m], shape [p, 3]."""


@dataclass(frozen=True, eq=False)
class Found:
    """A point of an obstacle that is nearest to a solid, or deepest in it.

    Attributes:
        gap: How far it is off the surface [m], below 0 within.
        number: The obstacle.
        place: Where the solid is nearest [m], shape [3].
        out: Direction in which the solid would have to go, shape [3].
        deep: Whether it is in it by more than the reach of contact, or with its middle.
    """

    gap: float
    number: int
    place: np.ndarray
    out: np.ndarray
    deep: bool


class Probes:
    """Points of obstacles that a solid must be off: sharp ones, and middles of round ones with their radii.

    What is held touches nothing: tetrahedra, chambers and faces of held nodes alone are left out, and faces with any
    held node where surfaces are asked whether they cross. Walls of chambers touch nothing either, so that what is in a
    chamber is in the solid.

    Args:
        solid: The solid.
        touched: The obstacles.
        reach: Gap at which contact begins [m].
    """

    def __init__(self, solid: Solid, touched: Touched, reach: float) -> None:
        free = ~np.asarray(solid.held.all(axis=1))
        faces, elements = outer_faces(solid), solid.elements[:, :4]
        self._faces, self._loose = faces[free[faces].any(axis=1)], faces[free[faces].all(axis=1)]
        elements = elements[free[elements].any(axis=1)]
        owners, places = touched.sharp_places()
        rounds = [_round(rigid, number, touched, reach) for number, rigid in enumerate(touched.rigids)]
        counts = [len(places), *(len(points) for points, _ in rounds)]
        self._owners = np.concatenate([owners, np.repeat(np.arange(len(rounds)), counts[1:])]).astype(int)
        self._places = np.concatenate([places, *(points for points, _ in rounds)])
        self._radii = np.repeat([0.0, *(radius for _, radius in rounds)], counts)
        self._sharp = np.arange(len(self._places)) < len(places)
        self._solid, self._reach = solid, reach
        self._around = Around(solid.nodes, elements) if len(elements) else None
        self._chambers = [walls[:, :3] for walls in chambers_of(solid) if free[walls].any()]

    def worst(self, shift: np.ndarray) -> Found | None:
        """The point with the least gap to the solid, moved by so much [m], of those that matter; None where none does.

        Round things touch nodes only, which are looked at elsewhere: they matter where they are deep in it.
        """
        if not len(self._faces) or self._around is None:
            return None
        nodes = self._solid.nodes[np.unique(self._faces)]
        places, room = self._places - shift, (self._reach + self._radii)[:, None]
        near = np.flatnonzero(((places >= nodes.min(axis=0) - room) & (places <= nodes.max(axis=0) + room)).all(axis=1))
        if not len(near):
            return None
        places, radii = places[near], self._radii[near]
        surface, _ = nearest_on_faces(self._solid.nodes[self._faces], places)
        apart = np.linalg.norm(surface - places, axis=1)
        on = apart <= _ON * self._reach
        filled = self._around.locate(places)[1].min(axis=1) > _INSIDE
        within = (filled | self._in_chambers(places)) & ~on
        gaps = np.where(on, 0.0, np.where(within, -apart, apart)) - radii
        deep = (gaps <= -self._reach) | (within & ~self._sharp[near])
        counted = np.where(deep | self._sharp[near], gaps, np.inf)
        k = int(counted.argmin())
        if not np.isfinite(counted[k]):
            return None
        way = (places[k] - surface[k]) if within[k] else (surface[k] - places[k])
        out = self._normal(places[k]) if on[k] else way / apart[k]
        return Found(float(gaps[k]), int(self._owners[near[k]]), surface[k] + shift, out, bool(deep[k]))

    def _in_chambers(self, places: np.ndarray) -> np.ndarray:
        """Whether places are in the hollow of a cavity, shape [p]."""
        found, nodes = np.zeros(len(places), bool), self._solid.nodes
        for walls in self._chambers:
            low, high = nodes[walls].min(axis=(0, 1)), nodes[walls].max(axis=(0, 1))
            near = np.flatnonzero(((places > low) & (places < high)).all(axis=1))
            for some in np.array_split(near, -(-len(near) // _AT_ONCE)) if len(near) else ():
                found[some] |= np.abs(winding_numbers(nodes, walls, places[some])) > 0.5
        return found

    def _normal(self, place: np.ndarray) -> np.ndarray:
        """Into the solid from the face that is nearest to a place right on it, shape [3]."""
        face = nearest_on_faces(self._solid.nodes[self._faces], place[None])[1][0]
        a, b, c = self._solid.nodes[self._faces[face]]
        normal = np.cross(b - a, c - a)
        return np.asarray(-normal / max(float(np.linalg.norm(normal)), 1e-300))

    def surface(self, shift: np.ndarray) -> Surface:
        """The outer surface without what is held, moved by so much [m]."""
        return self._solid.nodes + shift, self._loose


def _round(rigid: Rigid, number: int, touched: Touched, reach: float) -> tuple[np.ndarray, float]:
    """Middles of a round obstacle [m], shape [p, 3], and its radius [m]; tops of a height field, with none."""
    geometry = rigid.geometry
    if rigid.inside:
        return np.zeros((0, 3)), 0.0
    if isinstance(geometry, Sphere):
        return touched.in_world(number, np.array([geometry.center])), geometry.radius
    if isinstance(geometry, Capsule):
        count = 1 + int(np.clip(np.ceil(geometry.length / reach), 1, _ALONG))
        along = geometry.length * np.linspace(-0.5, 0.5, count)
        axis = np.asarray(geometry.axis, float) / np.linalg.norm(geometry.axis)
        return touched.in_world(number, np.asarray(geometry.center) + np.outer(along, axis)), geometry.radius
    if isinstance(geometry, HeightField):
        return touched.in_world(number, np.array(geometry.top()[0])), 0.0
    return np.zeros((0, 3)), 0.0


def surface_of(rigid: Rigid, number: int, touched: Touched) -> Surface | None:
    """The surface of an obstacle with corners or edges that others must not cross; None of others."""
    if rigid.inside or not isinstance(rigid.geometry, Box | Cylinder | TriangleMesh):
        return None
    mesh = rigid.geometry.surface()
    return touched.in_world(number, np.array(mesh.vertices)), np.array(mesh.triangles)


def crossing(one: Surface, other: Surface, device: wp.Device) -> np.ndarray | None:
    """Where two surfaces cross [m], shape [3]; None where they do not."""
    for (points, triangles), (others, faces) in ((one, other), (other, one)):
        segments, corners = points[edges_of(triangles)], others[faces]
        if not len(segments) or not len(corners):
            return None
        boxes = [Boxes(each.min(axis=1), each.max(axis=1), device) for each in (segments, corners)]
        pairs = boxes[0].overlapping(boxes[1])
        segments, corners = segments[pairs[:, 0]], corners[pairs[:, 1]]
        through = np.flatnonzero(pierced(segments, corners) & ~doubtful(segments, corners))
        if len(through):
            return _pierced_at(segments[through[0]], corners[through[0]])
    return None


def _pierced_at(segment: np.ndarray, triangle: np.ndarray) -> np.ndarray:
    """Where a segment, shape [2, 3], goes through the plane of a triangle, shape [3, 3]."""
    normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
    one, two = (segment - triangle[0]) @ normal
    return np.asarray(segment[0] + one / (one - two) * (segment[1] - segment[0]))
