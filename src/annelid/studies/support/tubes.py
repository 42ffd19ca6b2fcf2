"""Closed surfaces made of rings of vertices."""

from __future__ import annotations

import numpy as np

from annelid.shapes import TriangleMesh


def tube(rings: np.ndarray, first: np.ndarray, last: np.ndarray) -> TriangleMesh:
    """A mesh through rings of vertices, closed by a point at either end.

    Args:
        rings: Vertices [m], one ring after the other, shape [rings, around, 3].
        first: The point before the first ring [m], shape [3].
        last: The point behind the last ring [m], shape [3].
    """
    count, around = rings.shape[:2]
    here = np.arange(count * around).reshape(count, around)
    there = np.roll(here, -1, axis=1)
    low, low_next, high, high_next = (a.ravel() for a in (here[:-1], there[:-1], here[1:], there[1:]))
    bottom, top = np.full(around, count * around), np.full(around, count * around + 1)
    parts = [
        (low, low_next, high_next),
        (low, high_next, high),
        (bottom, there[0], here[0]),
        (top, here[-1], there[-1]),
    ]
    vertices = np.concatenate([rings.reshape(-1, 3), [first, last]])
    return TriangleMesh(vertices, np.concatenate([np.column_stack(part) for part in parts]))


def circles(radii: np.ndarray, heights: np.ndarray, around: int) -> np.ndarray:
    """Circles about the z axis, shape [rings, around, 3], from radii and heights [m], each of shape [rings]."""
    turn = 2 * np.pi * np.arange(around) / around
    flat = radii[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.concatenate([flat, np.broadcast_to(heights[:, None, None], (*flat.shape[:2], 1))], axis=2)
