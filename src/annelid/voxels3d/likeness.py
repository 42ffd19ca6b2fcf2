"""How unlike two bodies are, whichever way they are turned about the vertical, mirrored or placed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue


def body_key(grid: np.ndarray) -> bytes:
    """What bodies that are the same up to turns about the vertical, mirrors and places have in common.

    Args:
        grid: Material of each cell, -1: empty, shape [x, y, z].
    """
    return min(bytes(str(each.shape), "ascii") + each.tobytes() for each in _turned(_cut(grid)))


def body_distance(one: np.ndarray, other: np.ndarray) -> int:
    """Cells in which two bodies differ, at least, however the other is turned about the vertical and mirrored.

    Bodies stand on the same ground, with the middles of their boxes over each other.

    Args:
        one: Material of each cell, -1: empty, shape [x, y, z].
        other: The other body.
    """
    first = _cut(one)
    return min(_differing(first, each) for each in _turned(_cut(other)))


def _differing(one: np.ndarray, other: np.ndarray) -> int:
    """Cells that differ; where middles are half a cell apart, the best of the places beside them counts."""
    shape = np.maximum(one.shape, other.shape)
    spots = [_middles(int(shape[axis]), body.shape[axis]) for body in (one, other) for axis in (0, 1)]
    return min(
        int((_put(one, shape, a, b) != _put(other, shape, c, d)).sum()) for a, b, c, d in itertools.product(*spots)
    )


def _middles(room: int, size: int) -> set[int]:
    """Where what is as long as `size` begins in the middle of a room."""
    return {(room - size) // 2, (room - size + 1) // 2}


def _put(body: np.ndarray, shape: np.ndarray, x: int, y: int) -> np.ndarray:
    whole = np.full(shape, -1, body.dtype)
    whole[x : x + body.shape[0], y : y + body.shape[1], : body.shape[2]] = body
    return whole


def _cut(grid: np.ndarray) -> np.ndarray:
    """The grid without empty layers at its sides."""
    body = as_numbers("a body", grid)
    if body.ndim != 3 or not (body >= 0).any():
        raise InvalidValue(f"a body needs voxels in a grid of shape [x, y, z], not {list(body.shape)} without.")
    filled = np.argwhere(body >= 0)
    low, high = filled.min(axis=0), filled.max(axis=0) + 1
    return np.maximum(body[low[0] : high[0], low[1] : high[1], low[2] : high[2]], -1).astype(np.int32)


def _turned(body: np.ndarray) -> Iterator[np.ndarray]:
    """The body in four directions, as it is and mirrored."""
    for each in (body, body[::-1]):
        for turns in range(4):
            yield np.ascontiguousarray(np.rot90(each, turns))
