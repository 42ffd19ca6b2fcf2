"""The surface of a rigid body as small pieces, each of which ground that resists pushes at its own depth."""

from __future__ import annotations

import numpy as np

from annelid.shapes.rigid import Rigid

_FINE = 1.0 / 16.0  # longest edge of a piece of surface, in reaches of the body


def pieces_of(body: Rigid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outward normals, arms from the centre of mass [m] and areas [m²] of small pieces of the surface of a body.

    All are in the frame of its geometry; shapes [n, 3], [n, 3] and [n].
    """
    mesh = body.shape.surface()
    corners = np.asarray(mesh.vertices, float)[mesh.triangles] - body.middle
    longest = _FINE * 2.0 * body.reach
    while (long := _longest_edges(corners) > longest).any():
        corners = np.concatenate([corners[~long], _quartered(corners[long])])
    areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(areas, axis=1)
    there = sizes > 0.0
    return areas[there] / sizes[there, None], corners[there].mean(axis=1), sizes[there]


def _longest_edges(corners: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1))


def _quartered(corners: np.ndarray) -> np.ndarray:
    """Each triangle as four, shape [4 n, 3, 3]."""
    a, b, c = (corners[:, k] for k in range(3))
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([np.stack(part, axis=1) for part in parts])
