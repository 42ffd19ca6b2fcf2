"""Which voxels may touch each other: those of the surface that few links do not join; and how far their lists reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

_HOPS = 5
"""Pairs that so many links or fewer lead from one to the other never touch, as in Voxelyze."""

_DIAMETER = 1.25
"""Of the sphere that stands for a voxel in contacts, as a part of its size."""

_MARGIN = 0.5
"""How far voxels move before lists are made anew, in sides of a voxel."""


@dataclass(frozen=True, eq=False)
class Near:
    """Voxels that few links lead to.

    Attributes:
        begins: First entry of each voxel, shape [voxels].
        counts: Number of its entries, shape [voxels].
        offsets: Their numbers less that of the voxel, rising.
    """

    begins: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray


def near_by_links(links: np.ndarray, skin: np.ndarray) -> Near:
    """Surface voxels that few links lead to from each surface voxel.

    Args:
        links: Voxels at the two ends of each link, shape [links, 2].
        skin: Which voxels are at the surface, shape [voxels].
    """
    count, shown = len(skin), np.flatnonzero(skin)
    ones = np.ones(len(links), np.int32)
    joined = sparse.coo_array((ones, tuple(links.T)), shape=(count, count)).tocsr()
    step = (joined + joined.T + sparse.eye_array(count, dtype=np.int32)).tocsr()
    found = step[shown]
    for _ in range(_HOPS - 1):
        found = found @ step
        found.data[:] = 1
    found = found.tocoo()
    rows, columns = shown[found.row], found.col
    kept = skin[columns] & (rows != columns)
    order = np.lexsort((columns[kept], rows[kept]))
    rows, columns = rows[kept][order], columns[kept][order]
    counts = np.bincount(rows, minlength=count)
    return Near(np.cumsum(counts) - counts, counts, columns - rows)


def surface(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Voxels with a face that has no link, shape [voxels], from those beyond and before each along the axes."""
    return np.asarray((after < 0).any(axis=1) | (before < 0).any(axis=1))


def reach_and_margin(sides: np.ndarray, largest: np.ndarray) -> tuple[float, float]:
    """How far lists of whom voxels may touch reach, and how far these may move before they are made anew [m].

    Args:
        sides: Sides of voxels [m].
        largest: Their largest size, as a factor.
    """
    margin = _MARGIN * float(sides.min())
    return _DIAMETER * float((sides * largest).max()) + 2.0 * margin, margin
