"""How far masses of a surface are apart, and bodies that have parts without a surface."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.springs import Body, contact_radii


def hole_reach(corners: np.ndarray) -> np.ndarray:
    """How far the point of a triangle that is furthest from its corners is from the nearest of them [m], shape [t]."""
    sides = np.sort(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2), axis=1)
    a, b, c = np.maximum(sides.T, 1e-100)
    half = 0.5 * (a + b + c)
    area = np.sqrt(np.maximum(half * (half - a) * (half - b) * (half - c), 1e-300))
    # In a triangle with an obtuse angle it lies on the longest side, where the bisector of a short side meets it.

    def cosine(side: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray((side**2 + c**2 - other**2) / (2.0 * side * c))

    beside = np.maximum(b / (2.0 * np.maximum(cosine(b, a), 1e-9)), a / (2.0 * np.maximum(cosine(a, b), 1e-9)))
    around = np.maximum(a * b * c / (4.0 * area), 0.5 * c)  # radius of the circle through the corners
    return np.where(a**2 + b**2 < c**2 * (1.0 - 1e-9), np.minimum(beside, 0.5 * c), around)


def require_skinned(body: Body) -> None:
    """Refuse parts without a surface: grains would fall through them."""
    bare = contact_radii(body) > 0.0
    bare |= np.bincount(body.springs.ravel(), minlength=body.mass_count) == 0
    bare[body.triangles] = False
    if bare.any():
        raise InvalidValue(
            f"{int(bare.sum())} masses, the first of them mass {int(np.flatnonzero(bare)[0])}, belong to parts without "
            "a surface, which grains would fall through: build them from a shape, or leave them out."
        )
