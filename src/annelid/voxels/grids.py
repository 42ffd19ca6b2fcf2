"""Operations on many grids of voxels at once, shape [robots, width, height]; -1 is an empty cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage

from annelid.core.errors import InvalidValue

_BODIES = np.array([0, 1, 1, 1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1], np.int8)
"""Rigid bodies about a node by the quadrants that are filled: lower left 1, upper left 2, lower right 4, the last 8."""
_POINTS = np.array([0, 4, 4, 4, 4, 4, 8, 5, 4, 8, 4, 5, 4, 5, 5, 4], np.int8)
"""Convex corners of their outlines."""
_BESIDE = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])


def labelled(grids: np.ndarray) -> tuple[np.ndarray, int]:
    """Number of the connected part of each cell, from 1, 0 where it is empty; and how many there are in all."""
    apart = np.stack([0 * _BESIDE, _BESIDE, 0 * _BESIDE])  # cells of different robots do not touch
    labels, count = ndimage.label(grids >= 0, structure=apart)
    return labels, int(count)


def largest_parts(grids: np.ndarray) -> np.ndarray:
    """Grids with only their largest connected part; of equal ones the first."""
    labels, _ = labelled(grids)
    flat = labels.reshape(len(grids), -1)
    sizes = np.bincount(flat.ravel()).astype(np.int32)
    sizes[0] = 0
    here = np.argmax(sizes[flat], axis=1)
    kept = flat[np.arange(len(flat)), here]
    return np.where(labels == kept[:, None, None], grids, -1).astype(np.int8)  # empty cells are -1 already


def margins(grids: np.ndarray) -> np.ndarray:
    """Empty columns on the left and empty rows below, shape [robots, 2]; 0 for an empty grid."""
    filled = grids >= 0
    return np.stack([filled.any(axis=2).argmax(axis=1), filled.any(axis=1).argmax(axis=1)], axis=1)


def moved(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Values of cells, moved left and down by some cells a robot; what leaves comes in again on the other side.

    Args:
        values: Values of the cells, shape [robots, width, height].
        cells: Cells to move by, shape [robots, 2].
    """
    count, width, height = values.shape
    x = (np.arange(width) + cells[:, :1]) % width
    y = (np.arange(height) + cells[:, 1:]) % height
    return values[np.arange(count)[:, None, None], x[:, :, None], y[:, None, :]]


def require_robots(grids: np.ndarray, materials: int) -> None:
    """Refuse grids that are empty, in parts, or of unknown materials."""
    if grids.ndim != 3 or not len(grids):
        raise InvalidValue(f"grids of robots need shape [robots, width, height], not {grids.shape}.")
    if grids.max() >= materials:
        raise InvalidValue(f"a grid refers to material {grids.max()}, but there are {materials}.")
    labels, count = labelled(grids)
    found = labels.reshape(len(grids), -1).max(axis=1)
    if (empty := np.flatnonzero(found == 0)).size:
        raise InvalidValue(f"the grid of robot {empty[0]} has no voxels.")
    if count > len(grids):
        parts = np.flatnonzero(np.diff(found, prepend=0) > 1)
        raise InvalidValue(f"the grid of robot {parts[0]} has several parts; take the largest with largest_parts.")


@dataclass(frozen=True)
class Grids:
    """Numbers of a batch of connected grids that do not depend on materials.

    Attributes:
        cells: Material of each cell, shape [robots, width, height].
    """

    cells: np.ndarray

    @cached_property
    def filled(self) -> np.ndarray:
        """Which cells hold a voxel."""
        return self.cells >= 0

    @cached_property
    def voxel_counts(self) -> np.ndarray:
        """Voxels of each robot."""
        return np.asarray(self.filled.sum(axis=(1, 2)))

    @cached_property
    def voxel_numbers(self) -> np.ndarray:
        """Number of the voxel in each cell within its robot, in the order of `Robot.cells`."""
        flat = self.filled.reshape(len(self.cells), -1)
        return (np.cumsum(flat, axis=1, dtype=np.int32) - 1).reshape(self.cells.shape)

    @cached_property
    def starts(self) -> np.ndarray:
        """First body, voxel and contact point of each robot, and their totals, shape [robots + 1, 3]."""
        padded = np.pad(self.filled, ((0, 0), (1, 1), (1, 1))).astype(np.int8)
        about = padded[:, :-1, :-1] + 2 * padded[:, :-1, 1:] + 4 * padded[:, 1:, :-1] + 8 * padded[:, 1:, 1:]
        flat = about.reshape(len(about), -1)
        bodies, points = (table[flat].sum(axis=1, dtype=np.int32) for table in (_BODIES, _POINTS))
        counts = [bodies, self.voxel_counts, points]
        return np.concatenate([np.zeros((1, 3), int), np.cumsum(np.stack(counts, axis=1), axis=0)]).astype(np.int32)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Width and height in cells, shape [robots, 2]."""
        across, up = (np.asarray(self.filled.any(axis=axis)) for axis in (2, 1))
        return np.stack([_extent(across), _extent(up)], axis=1)

    def lowest(self) -> np.ndarray:
        """Lowest voxel of each column, a large number where there is none, shape [robots, width]."""
        return np.where(self.filled.any(axis=2), self.filled.argmax(axis=2), np.iinfo(np.int32).max)


def _extent(line: np.ndarray) -> np.ndarray:
    """From the first to the last true value of each row, both counted."""
    return np.asarray(line.shape[1] - line[:, ::-1].argmax(axis=1) - line.argmax(axis=1))
