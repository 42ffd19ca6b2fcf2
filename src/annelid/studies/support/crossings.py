"""Whether surfaces of triangles cross, exactly: by signs of volumes, in fractions where rounding could decide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.spatial import cKDTree

from annelid.fem.contact.surface import doubtful, edges_of, pierced


def crossings(points: np.ndarray, triangles: np.ndarray, others: np.ndarray, other_triangles: np.ndarray) -> int:
    """Number of edges that pierce a triangle of the other surface, of points [n, 3] and triangles [t, 3] each."""
    one = _count(points[edges_of(triangles)], others[other_triangles], None)
    return one + _count(others[edges_of(other_triangles)], points[triangles], None)


def own_crossings(points: np.ndarray, triangles: np.ndarray) -> int:
    """Number of edges that pierce a triangle of the same surface, of points [n, 3] and triangles [t, 3]."""
    edges = edges_of(triangles)
    return _count(points[edges], points[triangles], (edges, triangles))


def _count(segments: np.ndarray, corners: np.ndarray, numbers: tuple[np.ndarray, np.ndarray] | None) -> int:
    """How many segments [e, 2, 3] pierce triangles [t, 3, 3]; those that share a node, if numbers are given, do not."""
    near = _near(segments, corners)
    if numbers is not None:
        edges, triangles = numbers
        joined = (edges[near[:, 0], :, None] == triangles[near[:, 1], None, :]).any(axis=(1, 2))
        near = near[~joined]
    segments, corners = segments[near[:, 0]], corners[near[:, 1]]
    unsure = doubtful(segments, corners)
    sure = int(pierced(segments[~unsure], corners[~unsure]).sum())
    pairs = zip(segments[unsure].tolist(), corners[unsure].tolist(), strict=True)
    return sure + sum(_pierced_exactly(segment, triangle) for segment, triangle in pairs)


def _near(segments: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Pairs of a segment and a triangle whose boxes overlap, shape [p, 2]."""
    lower, upper = segments.min(axis=1), segments.max(axis=1)
    low, high = corners.min(axis=1), corners.max(axis=1)
    reach = 0.5 * (np.linalg.norm(upper - lower, axis=1).max() + np.linalg.norm(high - low, axis=1).max())
    if reach > np.ptp(segments, axis=(0, 1)).max():  # large triangles: all pairs are few
        pairs = np.indices((len(segments), len(corners))).reshape(2, -1).T
    else:
        tree = cKDTree(0.5 * (low + high))
        found = tree.query_ball_point(0.5 * (lower + upper), reach * (1.0 + 1e-9))
        counts = [len(each) for each in found]
        pairs = np.column_stack([np.repeat(np.arange(len(segments)), counts), np.concatenate(found).astype(int)])
    i, j = pairs[:, 0], pairs[:, 1]
    return np.asarray(pairs[((lower[i] <= high[j]) & (upper[i] >= low[j])).all(axis=1)])


def _pierced_exactly(segment: list[list[float]], triangle: list[list[float]]) -> bool:
    """Whether a segment pierces a triangle, without any rounding."""
    p, q, a, b, c = ([Fraction(x) for x in point] for point in (*segment, *triangle))
    if _side(a, b, c, p) * _side(a, b, c, q) >= 0:
        return False
    sides = _side(p, q, a, b), _side(p, q, b, c), _side(p, q, c, a)
    return all(side > 0 for side in sides) or all(side < 0 for side in sides)


def _side(a: list[Fraction], b: list[Fraction], c: list[Fraction], d: list[Fraction]) -> Fraction:
    """Six times the signed volume of a tetrahedron."""
    (x, y, z), (u, v, w), (r, s, t) = (
        [end - start for start, end in zip(a, other, strict=True)] for other in (b, c, d)
    )
    return x * (v * t - w * s) - y * (u * t - w * r) + z * (u * s - v * r)
