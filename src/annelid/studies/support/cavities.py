"""Closed surfaces for studies of fluids: an icosphere, a knotted tube, a box with divided faces."""

from __future__ import annotations

import numpy as np

from annelid.shapes.topology import edges_of
from annelid.shapes.values import Floats, Indices

_GOLDEN = (1.0 + 5.0**0.5) / 2.0
_TWENTY = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6)]
_TWENTY += [(7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10)]
_TWENTY += [(8, 6, 7), (9, 8, 1)]

Surface = tuple[Floats, Indices]
"""Vertices [m], shape [n, 3], and triangles that face outwards, shape [k, 3]."""


def icosphere(subdivisions: int, radius: float) -> Surface:
    """An icosahedron whose faces are quartered again and again, new vertices moved out to the sphere each time."""
    corners = [(-1.0, _GOLDEN, 0.0), (1.0, _GOLDEN, 0.0), (-1.0, -_GOLDEN, 0.0), (1.0, -_GOLDEN, 0.0)]
    vertices = np.array([np.roll(corner, shift) for shift in range(3) for corner in corners])
    triangles = np.array(_TWENTY, dtype=np.int32)
    for _ in range(subdivisions):
        vertices, triangles = _quartered(vertices, triangles)
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return radius * vertices / np.linalg.norm(vertices, axis=1, keepdims=True), triangles


def knot(along: int, around: int, *, size: float, thickness: float) -> Surface:
    """A tube of 2 x along x around triangles, knotted as a trefoil, with bumps.

    Args:
        along: Rings of vertices along the tube.
        around: Vertices of a ring.
        size: Radius of the circle that the knot winds around [m].
        thickness: Mean radius of the tube [m].
    """
    angle = 2.0 * np.pi * np.arange(along) / along
    reach = 1.0 + 0.45 * np.cos(3 * angle)
    line = size * np.column_stack([reach * np.cos(2 * angle), reach * np.sin(2 * angle), 0.45 * np.sin(3 * angle)])
    tangent = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    # Across the line, towards the axis of the knot: never along the tangent, and closed after a full turn.
    side = np.cross(tangent, np.column_stack([np.zeros((along, 2)), np.ones(along)]))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    other = np.cross(tangent, side)
    turn = 2.0 * np.pi * np.arange(around) / around
    radius = thickness * (1.0 + 0.12 * np.sin(24 * angle[:, None]) * np.cos(5 * turn[None, :]))
    ring = np.cos(turn)[None, :, None] * side[:, None] + np.sin(turn)[None, :, None] * other[:, None]
    vertices = line[:, None] + radius[:, :, None] * ring
    return vertices.reshape(-1, 3), _wrapped(along, around)


def divided_box(size: tuple[float, float, float], divisions: int) -> Surface:
    """A box around the origin, its twelve triangles quartered so many times."""
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    quads = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    vertices, triangles = corners, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)
    for _ in range(divisions):
        vertices, triangles = _quartered(vertices, triangles)
    return 0.5 * np.array(size) * vertices, triangles


def _quartered(vertices: Floats, triangles: Indices) -> Surface:
    """Each triangle divided into four at the middles of its sides."""
    edges = edges_of(triangles)
    middle = len(vertices) + edges.of_triangles
    a, b, c = triangles.T
    ab, bc, ca = middle.T
    parts = [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    finer = np.concatenate([np.column_stack(part) for part in parts]).astype(np.int32)
    return np.concatenate([vertices, vertices[edges.pairs].mean(axis=1)]), finer


def _wrapped(along: int, around: int) -> Indices:
    """Triangles between neighbouring rings of a closed tube."""
    here = np.arange(along * around).reshape(along, around)
    right, next_ring = np.roll(here, -1, axis=1), np.roll(here, -1, axis=0)
    far = np.roll(next_ring, -1, axis=1)
    quads = [(here, right, far), (here, far, next_ring)]
    return np.concatenate([np.stack(part, axis=-1).reshape(-1, 3) for part in quads]).astype(np.int32)
