"""The surface of a solid: what can touch."""

from __future__ import annotations

import numpy as np

from annelid.core.distinct import distinct_rows
from annelid.fem.mesh import Hollow
from annelid.fem.solid import Solid
from annelid.shapes.tet.topology import flat_triangles

_DOUBT = 1e-13  # of the product of three lengths: volumes of less may have the wrong sign


def chambers_of(solid: Solid) -> list[np.ndarray]:
    """Triangles of the walls of cavities, shape [k, 3] each, or [k, 6] of 10-node elements."""
    return [np.asarray(cavity) for cavity in solid.mesh.cavities()] if isinstance(solid.mesh, Hollow) else []


def outer_faces(solid: Solid) -> np.ndarray:
    """Triangles of the surface that belong to no cavity, shape [k, 3]; four for each face of a 10-node element."""
    hollow = [np.unique(cavity) for cavity in chambers_of(solid)]
    faces = solid.boundary
    inner = np.isin(faces[:, :3], np.concatenate([np.zeros(0, int), *hollow])).all(axis=1)
    outer = faces[~inner]
    return np.asarray(flat_triangles(outer), np.int32)


def sides_of(solid: Solid) -> np.ndarray:
    """Which closed surface each node is on, shape [n]: from 1 on the walls of a cavity, 0 elsewhere."""
    sides = np.zeros(solid.node_count, int)
    for number, cavity in enumerate(chambers_of(solid)):
        sides[cavity] = number + 1
    return sides


def outer_nodes(solid: Solid) -> np.ndarray:
    """Nodes of the outer surface that can move, shape [k]."""
    held = np.flatnonzero(solid.held.all(axis=1))
    return np.setdiff1d(np.unique(outer_faces(solid)), held).astype(np.int32)


def edges_of(faces: np.ndarray) -> np.ndarray:
    """Edges of triangles, each once, shape [e, 2]."""
    pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.asarray(distinct_rows(pairs), np.int32)


def pierced(segments: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether segments, shape [p, 2, 3], pierce triangles, shape [p, 3, 3], by signs of volumes of tetrahedra."""
    (p, q), (a, b, c) = np.moveaxis(segments, 1, 0), np.moveaxis(corners, 1, 0)
    apart = _volumes(a, b, c, p) * _volumes(a, b, c, q) < 0.0
    sides = np.stack([_volumes(p, q, a, b), _volumes(p, q, b, c), _volumes(p, q, c, a)])
    return np.asarray(apart & ((sides > 0.0).all(axis=0) | (sides < 0.0).all(axis=0)))


def doubtful(segments: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether rounding decides if segments, shape [p, 2, 3], pierce triangles, shape [p, 3, 3]: both lie in a plane."""
    if not len(segments):
        return np.zeros(0, bool)
    every = np.concatenate([segments, corners], axis=1)
    p, q, a, b, c = np.moveaxis(every, 1, 0)
    fours = ((a, b, c, p), (a, b, c, q), (p, q, a, b), (p, q, b, c), (p, q, c, a))
    volumes = np.stack([_volumes(*four) for four in fours])
    size = np.ptp(every, axis=1).max(axis=1) + np.abs(every).max(axis=(1, 2)) * 1e-3
    return np.asarray((np.abs(volumes) <= _DOUBT * size**3).any(axis=0))


def _volumes(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Six times the signed volumes of tetrahedra."""
    return np.asarray(np.einsum("...i,...i->...", np.cross(b - a, c - a), d - a))
