"""Whether two surfaces of triangles cross: every edge of one against every triangle of the other, both ways."""

from __future__ import annotations

import numpy as np

from annelid.fem.contact.surface import edges_of


def crossings(points: np.ndarray, triangles: np.ndarray, other_points: np.ndarray, other_triangles: np.ndarray) -> int:
    """Number of edges that pierce a triangle of the other surface, of points [n, 3] and triangles [t, 3] each."""
    one = _pierced(points[edges_of(triangles)], other_points[other_triangles])
    two = _pierced(other_points[edges_of(other_triangles)], points[triangles])
    return int(one.sum() + two.sum())


def own_crossings(points: np.ndarray, triangles: np.ndarray) -> int:
    """Number of edges that pierce a triangle of the same surface, of points [n, 3] and triangles [t, 3]."""
    edges = edges_of(triangles)
    joined = (edges[:, None, :, None] == triangles[None, :, None, :]).any(axis=(2, 3))
    return int((_pierced(points[edges], points[triangles]) & ~joined).sum())


def _pierced(segments: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether segments [e, 2, 3] pierce triangles [t, 3, 3], shape [e, t]: by signs of volumes of tetrahedra."""
    p, q = segments[:, None, 0], segments[:, None, 1]
    a, b, c = corners[None, :, 0], corners[None, :, 1], corners[None, :, 2]
    apart = _volume(a, b, c, p) * _volume(a, b, c, q) < 0.0
    sides = np.stack([_volume(p, q, a, b), _volume(p, q, b, c), _volume(p, q, c, a)])
    return np.asarray(apart & ((sides > 0.0).all(axis=0) | (sides < 0.0).all(axis=0)))


def _volume(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Six times the signed volume of tetrahedra."""
    return np.asarray(np.einsum("...i,...i->...", np.cross(b - a, c - a), d - a))
