"""The two arrays of a mesh as users give them: points, and cells of so many points each; checked with their names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidMesh
from annelid.shapes.values import Floats, Indices

_LARGEST = 1e30
"""No coordinate may be larger [m], so that volumes stay finite."""


def checked_points(points: ArrayLike, one: str, many: str) -> Floats:
    """A copy of the points of a mesh as floats of shape [n, 3].

    Args:
        points: What was given.
        one: What a point is called in messages, such as "vertex".
        many: What points are called.
    """
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidMesh(f"the {many} must be numbers of shape [n, 3].")
    usable = (np.abs(array) < _LARGEST).all(axis=1)
    if not usable.all():
        row = int(np.flatnonzero(~usable)[0])
        bad = f"{(~usable).sum()} of {len(array)} {many} have coordinates that are not finite or above {_LARGEST:g} m"
        raise InvalidMesh(f"{bad}; the first is {one} {row} at {coordinates(array[row])}.")
    return array


def checked_cells(cells: ArrayLike, corners: int, size: int, one: str, many: str, points: str) -> Indices:
    """The cells of a mesh as integers of shape [m, corners].

    Args:
        cells: What was given.
        corners: Points of a cell.
        size: Number of points.
        one: What a cell is called in messages, such as "triangle".
        many: What cells are called.
        points: What points are called.
    """
    array = array_or_none(cells)
    if array.size == 0:
        raise InvalidMesh(f"the mesh is empty; give at least one {one}.")
    if array.ndim != 2 or array.shape[1] != corners or not np.issubdtype(array.dtype, np.integer):
        raise InvalidMesh(
            f"the {many} must be integers of shape [m, {corners}], not {array.dtype} of shape {list(array.shape)}."
        )
    if array.min() < 0 or array.max() >= size:
        row = int(np.flatnonzero(((array < 0) | (array >= size)).any(axis=1))[0])
        raise InvalidMesh(f"{one} {row} is {array[row].tolist()}, but there are {points} 0 to {size - 1} only.")
    return array.astype(np.int32)


def coordinates(point: Floats) -> str:
    """A point for a message."""
    return "(" + ", ".join(f"{x:.6g}" for x in point) + ")"
