"""What a heap of grains is like: the part that hangs together, how far it reaches, how high it is and how steep."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue
from annelid.grains.packing import as_spheres

_CLOSE = 1.1  # of the sum of two radii: grains so near to each other belong together
_SECTORS = 36
_FEW = 8  # grains of a heap that has a shape


@dataclass(frozen=True, eq=False)
class Heap:
    """A heap on level ground about a vertical axis.

    Attributes:
        radius: Distance of its edge from the axis, the mean over all directions [m]: of the grains that hang together,
            without those that have rolled away.
        spread: Standard deviation of that distance over directions [m].
        height: Height of its top near the axis [m].
        angle: Slope of its flank to the horizontal [rad].
        strays: Grains that do not belong to it.
    """

    radius: float
    spread: float
    height: float
    angle: float
    strays: int


def heap(positions: ArrayLike, radii: ArrayLike, *, axis: tuple[float, float] = (0.0, 0.0), floor: float = 0.0) -> Heap:
    """Measure a heap.

    Args:
        positions: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n] or one for all.
        axis: Where its axis is [m].
        floor: Height of the ground [m].
    """
    points, sizes = as_spheres(positions, radii)
    if len(points) < _FEW:
        raise InvalidValue(f"a heap needs at least {_FEW} grains, not {len(points)}.")
    belongs = together(points, sizes)
    x, y, z = (points[belongs] - [axis[0], axis[1], floor]).T
    size, away = sizes[belongs], np.hypot(x, y)
    edge = _edge(x, y, away + size)
    near = away <= max(4.0 * float(size.mean()), float(away.min()))
    profile = _surface(away, z + size, 2.0 * float(size.mean()))
    return Heap(
        radius=float(edge.mean()),
        spread=float(edge.std()),
        height=float(np.quantile((z + size)[near], 0.99)),
        angle=_slope(*profile),
        strays=int((~belongs).sum()),
    )


def together(positions: ArrayLike, radii: ArrayLike) -> np.ndarray:
    """Which grains belong to the largest group in which each touches, or nearly touches, another, shape [n]."""
    points, sizes = as_spheres(positions, radii)
    pairs = cKDTree(points).query_pairs(2.0 * _CLOSE * float(sizes.max()), output_type="ndarray")
    apart = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    pairs = pairs[apart <= _CLOSE * sizes[pairs].sum(axis=1)]
    count = len(points)
    links = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, group = connected_components(links, directed=False)
    return np.asarray(group == np.bincount(group).argmax())


def _edge(x: np.ndarray, y: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Largest reach in each direction that has grains, shape [at most sectors]."""
    sector = ((np.arctan2(y, x) / (2.0 * math.pi) + 1.0) % 1.0 * _SECTORS).astype(int) % _SECTORS
    farthest = np.zeros(_SECTORS)
    np.maximum.at(farthest, sector, reach)
    return farthest[farthest > 0.0]


def _surface(away: np.ndarray, top: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Distance from the axis and height of the surface in rings, each [m], shape [rings]."""
    ring = (away / width).astype(int)
    heights = np.array([np.quantile(top[ring == k], 0.95) if (ring == k).any() else 0.0 for k in range(ring.max() + 1)])
    return (np.arange(len(heights)) + 0.5) * width, heights


def _slope(away: np.ndarray, heights: np.ndarray) -> float:
    """Angle of the flank [rad]: of a line through the surface between a fifth and four fifths of its height."""
    low, high = 0.2 * heights.max(), 0.8 * heights.max()
    flank = (heights >= low) & (heights <= high)
    if flank.sum() < 2:
        return float(math.atan2(heights.max(), away.max()))
    slope = np.polyfit(away[flank], heights[flank], 1)[0]
    return float(math.atan(-slope))
