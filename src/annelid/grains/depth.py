"""How deep a bed will lie, judged from where its grains start: what the default step follows."""

from __future__ import annotations

import math

import numpy as np

from annelid.core.distinct import distinct_rows
from annelid.grains.bed import Bed
from annelid.shapes.values import Floats, frame

_PACKED = 0.55  # of a loose bed at rest
_SUDDEN = 2.0  # a load that comes suddenly presses as twice its weight
_MOST = 0.99  # of the grains: a few that fly above are no load


def bed_depth(bed: Bed, up: Floats, worlds: np.ndarray | None = None) -> float:
    """Depth of the deepest of the beds of all worlds [m].

    It is the height that all but a hundredth of the grains take up at the start, and no more than twice the height
    that the fullest column, one diameter wide, will have at rest: grains that are poured from high above do not count
    for more than they weigh.

    Args:
        bed: The grains.
        up: Unit vector against gravity, shape [3].
        worlds: World of each grain, shape [n]; None where there is only one.
    """
    numbers = np.zeros(len(bed), np.int64) if worlds is None else np.asarray(worlds, np.int64)
    return float(np.minimum(_heights(bed.positions @ up, numbers), _SUDDEN * _settled(bed, up, numbers)).max())


def _heights(heights: Floats, worlds: np.ndarray) -> Floats:
    """Height from the lowest grain of each world to that which only a hundredth lie above [m]; 0 without grains."""
    order = np.lexsort((heights, worlds))
    counts = np.bincount(worlds)
    first = np.cumsum(counts) - counts
    last = first + np.ceil(_MOST * (counts - 1)).astype(np.int64)
    rising = np.append(heights[order], 0.0)
    return np.where(counts > 0, rising[last] - rising[first], 0.0)


def _settled(bed: Bed, up: Floats, worlds: np.ndarray) -> Floats:
    """Height of the fullest column of each world once it lies [m]."""
    width = 2.0 * float(bed.radii.max())
    cells = np.floor(bed.positions @ frame(up.tolist())[:, :2] / width).astype(np.int64)
    columns, column_of = distinct_rows(np.column_stack([worlds, cells]), return_inverse=True)
    volumes = np.bincount(column_of.ravel(), weights=4.0 / 3.0 * math.pi * bed.radii**3)
    deepest = np.zeros(int(worlds.max()) + 1)
    np.maximum.at(deepest, columns[:, 0], volumes / (_PACKED * width**2))
    return deepest
