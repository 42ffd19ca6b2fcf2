"""Triangles of a surface as ground that resists feels them: those of a corner that look the same way together."""

from __future__ import annotations

import numpy as np

from annelid.core.distinct import distinct_rows

_ALIKE = 0.1  # components of unit normals that differ by less may count as one direction
_FACING = (-0.5, -0.1, 0.1, 0.5)  # upward parts of normals between which sand does about the same


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
    directions = distinct_rows(np.round(normals / _ALIKE).astype(int), return_inverse=True)[1].ravel()
    points, facets = corners.ravel(), np.repeat(np.arange(len(corners)), 3)
    order = np.lexsort((facets, directions[facets], points))
    points, facets = points[order], facets[order]
    groups = np.stack([points, directions[facets]])
    return points, facets, np.append((groups[:, 1:] != groups[:, :-1]).any(axis=0), True)


def by_facing(positions: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Points that have triangles, from those that look down at rest to those that look up.

    Sand has little to do with points that look up: threads of a GPU that wait for each other then have equal work.

    Args:
        positions: Points [m], shape [n, 3].
        corners: Points of each triangle, outward, shape [k, 3].
    """
    p, q, r = (positions[corners[:, k]] for k in range(3))
    areas = np.cross(q - p, r - p)
    upward, size = (
        np.bincount(corners.ravel(), np.repeat(part, 3), len(positions))
        for part in (areas[:, 2], np.linalg.norm(areas, axis=1))
    )
    points = np.unique(corners)
    facing = np.digitize(upward[points] / np.maximum(size[points], 1e-300), _FACING)
    return np.asarray(points[np.argsort(facing, kind="stable")])
