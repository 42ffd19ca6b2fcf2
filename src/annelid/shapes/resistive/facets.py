"""Triangles of a surface as ground that resists feels them: those of a corner that look the same way together."""

from __future__ import annotations

import numpy as np

_ALIKE = 0.1  # components of unit normals that differ by less may count as one direction


def by_direction(positions: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Point and triangle of each corner, and whether it is the last of its point that looks the same way at rest.

    Corners come point by point, and those that look the same way one after the other.

    Args:
        positions: Points [m], shape [n, 3].
        corners: Points of each triangle, outward, shape [k, 3].
    """
    p, q, r = (positions[corners[:, k]] for k in range(3))
    areas = np.cross(q - p, r - p)
    normals = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-300)
    directions = np.unique(np.round(normals / _ALIKE).astype(int), axis=0, return_inverse=True)[1].ravel()
    points, facets = corners.ravel(), np.repeat(np.arange(len(corners)), 3)
    order = np.lexsort((facets, directions[facets], points))
    points, facets = points[order], facets[order]
    groups = np.stack([points, directions[facets]])
    return points, facets, np.append((groups[:, 1:] != groups[:, :-1]).any(axis=0), True)
