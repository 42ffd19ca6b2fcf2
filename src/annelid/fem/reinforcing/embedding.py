"""Points embedded in a solid: the nodes that carry them, and weights; those just outside go to the surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from annelid.fem.shape_functions import values

_INSIDE = -1e-9
"""A weight above this is taken as inside: rounding, not geometry."""
_AT_ONCE = 500
"""Points whose nearest faces are sought at once: those far away are compared with every face."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """Points of a solid.

    Attributes:
        nodes: Nodes of the element around each point, shape [p, 4] or [p, 10].
        weights: How much of each node's displacement a point has, shape [p, 4] or [p, 10].
        outside: How far each point was from the solid [m], 0 inside, shape [p].
        sides: Mean side of the boundary face that is nearest to points outside [m], 0 inside, shape [p].
    """

    nodes: np.ndarray
    weights: np.ndarray
    outside: np.ndarray
    sides: np.ndarray

    def places(self, positions: np.ndarray) -> np.ndarray:
        """Where the points are [m], shape [p, 3], when the nodes are at these positions [m], shape [n, 3]."""
        return np.asarray(np.einsum("pm,pmi->pi", self.weights, positions[self.nodes]))


def embedded(nodes: np.ndarray, elements: np.ndarray, boundary: np.ndarray, points: np.ndarray) -> Embedded:
    """Embed points; one outside moves to the nearest point of the boundary, however far that is.

    Args:
        nodes: Positions of nodes at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        boundary: Nodes of the faces of its boundary, corners first, shape [k, 3] or [k, 6].
        points: Points [m], shape [p, 3].
    """
    around = Around(nodes, elements[:, :4])
    found, weights = around.locate(points)
    outside, sides = np.zeros(len(points)), np.zeros(len(points))
    away = np.flatnonzero(weights.min(axis=1) < _INSIDE)
    if len(away):
        corners = nodes[boundary[:, :3]]
        near, face = nearest_on_faces(corners, points[away])
        outside[away] = np.linalg.norm(near - points[away], axis=1)
        sides[away] = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).mean(axis=1)[face]
        found[away], weights[away] = around.locate(near)
    weights = np.clip(weights, 0.0, None)
    weights /= weights.sum(axis=1, keepdims=True)
    return Embedded(elements[found], values(elements.shape[1], weights), outside, sides)


class Around:
    """Finds the tetrahedra around points, only among those near enough to be; points outside cost no more."""

    def __init__(self, nodes: np.ndarray, tetrahedra: np.ndarray) -> None:
        corners = nodes[tetrahedra]
        centers = corners.mean(axis=1)
        self._first, self._tree = corners[:, 0], cKDTree(centers)
        self._inverses = np.linalg.inv(np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2))
        self._reach = float(np.linalg.norm(corners - centers[:, None], axis=2).max()) * (1.0 + 1e-6)

    def locate(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the tetrahedra near each point the one whose least weight is greatest, [p], and its weights, [p, 4]."""
        found, weights = np.zeros(len(points), np.int64), np.full((len(points), 4), -np.inf)
        owners, candidates = _pairs(self._tree.query_ball_point(points, self._reach))
        last = np.einsum("cij,cj->ci", self._inverses[candidates], points[owners] - self._first[candidates])
        every = np.column_stack([1.0 - last.sum(axis=1), last])
        order = np.lexsort((candidates, -every.min(axis=1), owners))
        here, first = np.unique(owners[order], return_index=True)
        found[here], weights[here] = candidates[order[first]], every[order[first]]
        return found, weights


def _pairs(lists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each entry of some lists, and the number of its list: numbers [c], entries [c]."""
    counts = [len(each) for each in lists]
    entries = np.concatenate([np.zeros(0, np.int64), *(np.asarray(each, np.int64) for each in lists)])
    return np.repeat(np.arange(len(counts)), counts), entries


def nearest_on_faces(corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest points [p, 3] of triangles [k, 3, 3] to points [p, 3], and the triangles that have them, shape [p]."""
    parts = np.array_split(points, -(-len(points) // _AT_ONCE))
    found = [_nearest_on_faces(corners, part) for part in parts]
    return np.concatenate([near for near, _ in found]), np.concatenate([faces for _, faces in found])


def _nearest_on_faces(corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centers = corners.mean(axis=1)
    reach = float(np.linalg.norm(corners - centers[:, None], axis=2).max())
    tree = cKDTree(centers)
    # A triangle can only be nearer than the nearest centre if its own centre is not further than this.
    owners, faces = _pairs(tree.query_ball_point(points, tree.query(points)[0] + reach * (1.0 + 1e-9)))
    near = _on_triangles(corners[faces], points[owners])
    distances = np.linalg.norm(near - points[owners], axis=1)
    order = np.lexsort((faces, distances, owners))
    best = order[np.unique(owners[order], return_index=True)[1]]
    return near[best], faces[best]


def _on_triangles(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Nearest point of each triangle [m, 3, 3] to each point [m, 3]: in its plane if that is inside, else on a side."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    square = np.maximum((normal * normal).sum(axis=1), 1e-300)
    flat = points - ((points - a) * normal).sum(axis=1)[:, None] / square[:, None] * normal
    best, least = flat, np.full(len(points), np.inf)
    inside = np.ones(len(points), bool)
    for start, end in ((a, b), (b, c), (c, a)):
        side = end - start
        inside &= (np.cross(side, flat - start) * normal).sum(axis=1) >= 0.0
        share = ((points - start) * side).sum(axis=1) / np.maximum((side * side).sum(axis=1), 1e-300)
        there = start + np.clip(share, 0.0, 1.0)[:, None] * side
        distance = np.linalg.norm(there - points, axis=1)
        best = np.where((distance < least)[:, None], there, best)
        least = np.minimum(distance, least)
    return np.where(inside[:, None], flat, best)
