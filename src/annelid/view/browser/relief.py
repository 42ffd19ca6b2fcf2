"""Light on a heap of grains that are too many to be drawn as lit balls: dots carry it in their colours.

A dot has no surface to light, but the heap has one, where grains end. Grains are counted in the cells of a grid; where
the count falls off is outwards.
"""

from __future__ import annotations

import numpy as np

_CELLS = 64  # along the longest axis at most
_RADII = 4.0  # side of a cell over the radius of a grain, if that makes few enough
_EVEN, _SLOPE = 0.54, 0.44  # brightness without direction, and what facing the light adds or takes
_GRAIN = 0.08  # by how much grains differ, each always alike: they are told apart, as lit balls are
_SURE = 0.12  # fall of the count over a cell, as a share of the fullest, from which a direction counts in full


def relief(centers: np.ndarray, radius: float, light: np.ndarray) -> np.ndarray:
    """Brightness of each grain, shape [n], up to 1.

    Args:
        centers: Centres [m], shape [n, 3].
        radius: Radius of a typical grain [m].
        light: Direction towards the light, shape [3].
    """
    finite = np.isfinite(centers).all(axis=1)
    brightness = np.full(len(centers), _EVEN, np.float32)
    if not finite.any():
        return brightness
    inside = centers[finite]
    low = inside.min(axis=0)
    side = max(_RADII * radius, float(np.ptp(inside, axis=0).max()) / _CELLS, 1e-9)
    places = ((inside - low) / side).astype(np.int64) + np.array([1, 1, 2])  # with empty cells around
    shape = tuple(places.max(axis=0) + 2)
    flat = np.ravel_multi_index(tuple(places.T), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float32)
    counts[:, :, :2] = counts[:, :, 2:3]  # but not below: they lie on something
    for axis in range(3):
        counts = counts + 0.5 * (np.roll(counts, 1, axis) + np.roll(counts, -1, axis))
    counts /= counts.max()
    outward = -np.stack([slope.ravel()[flat] for slope in np.gradient(counts)], axis=1)
    fall = np.linalg.norm(outward, axis=1)
    facing = outward @ (light / np.linalg.norm(light)) / np.maximum(fall, 1e-9)
    brightness[finite] += _SLOPE * facing * np.minimum(fall / _SURE, 1.0)
    numbers = np.arange(len(centers), dtype=np.float32)
    brightness += _GRAIN * (2.0 * np.modf(0.6180339887 * numbers)[0] - 1.0)
    return np.clip(brightness, 0.0, 1.0)
