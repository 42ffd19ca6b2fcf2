"""How far a camera must step back, and aside, to see a set of points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from annelid.core.snapshot import Lines, Mesh, Plane, Snapshot, Spheres, host_array

_MOST_POINTS = 20_000  # of a part; the outline of more is not worth the time
_STRAY = 0.02  # part of the grains at either end of each axis that need not be in the picture


def corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The corners of a box, shape [8, 3]."""
    pair = np.stack([np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)])
    pick = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T
    return pair[pick, np.arange(3)]


def outline(snapshot: Snapshot) -> np.ndarray:
    """Points that hold the geometry of a snapshot, planes left out, shape [n, 3]."""
    clouds = [_cloud(part) for part in snapshot.parts if not isinstance(part, Plane)]
    clouds = [cloud[np.isfinite(cloud).all(axis=1)] for cloud in clouds]
    clouds = [cloud for cloud in clouds if len(cloud)]
    return np.concatenate(clouds) if clouds else corners(*snapshot.bounds())


def without_strays(frame: Snapshot) -> Snapshot:
    """The frame with single grains that have rolled away brought back to the others."""
    return replace(frame, parts=tuple(_crowd(part) if isinstance(part, Spheres) else part for part in frame.parts))


def _crowd(grains: Spheres) -> Spheres:
    centers = host_array(grains.centers)
    if len(centers) * _STRAY < 1.0:
        return grains
    low, high = np.quantile(centers, [_STRAY, 1.0 - _STRAY], axis=0)
    return Spheres(grains.name, np.clip(centers, low, high), grains.radii)


def _cloud(part: Mesh | Spheres | Lines) -> np.ndarray:
    if isinstance(part, Spheres):
        centers = host_array(part.centers)
        stride = 1 + len(centers) // _MOST_POINTS
        reach = float(np.max(host_array(part.radii))) if len(centers) else 0.0
        ends = np.concatenate([np.eye(3), -np.eye(3)]) * reach
        return (centers[::stride, None] + ends).reshape(-1, 3).astype(np.float64)
    points = host_array(part.vertices if isinstance(part, Mesh) else part.points)
    return points[:: 1 + len(points) // _MOST_POINTS].astype(np.float64)


def fit(
    points: np.ndarray, aspect: float, slope: float, margin: float, orthographic: bool, free_right: float = 0.0
) -> tuple[np.ndarray, float, float | None]:
    """Where to look, from how far, and how high the image is.

    Args:
        points: Points to be seen, in the camera's axes (right, up, forward) about some middle, shape [n, 3].
        aspect: Width of the image over its height.
        slope: Tangent of half the vertical field of view.
        margin: Room around the points, 1 for none.
        orthographic: Parallel rays.
        free_right: Part of the image's width to keep free on the right.

    Returns:
        Target in the same axes, distance of the camera from it [m], and height of the image [m] if orthographic.
    """
    tiny = 1e-6 * (1.0 + float(np.abs(points).max()))
    shift = np.zeros(3)
    for _ in range(4):  # in perspective the middle of the image depends on the distance, and that on the middle
        side, rise, ahead = (points - shift).T
        half = np.maximum(margin * np.maximum(np.abs(rise), np.abs(side) / (aspect * (1.0 - free_right))), tiny)
        reach = float((half / slope - ahead).max())
        depth = np.ones_like(ahead) if orthographic else ahead + reach
        flat = np.stack([side, rise]) / depth
        middle = 0.5 * (flat.min(axis=1) + flat.max(axis=1)) * (1.0 if orthographic else reach)
        shift[:2] += middle
    image_height = 2.0 * (float(half.max()) if orthographic else reach * slope)
    shift[0] += 0.5 * free_right * aspect * image_height
    return shift, reach, image_height if orthographic else None
