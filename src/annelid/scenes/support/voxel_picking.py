"""Which cell of a lattice a ray from the camera means."""

from __future__ import annotations

import numpy as np

Cell = tuple[int, int, int]


def first_hit(
    there: np.ndarray, origin: np.ndarray, direction: np.ndarray, *, layer: int, before: bool = False
) -> Cell | None:
    """The first voxel on a ray, or the empty cell on the face that the ray meets; None where there is none.

    Args:
        there: Which cells are filled, shape [x, y, z].
        origin: Where the ray begins, in cells from the corner of the lattice.
        direction: Where it goes.
        layer: Layer of cells to look for an empty one where the ray meets no voxel.
        before: Whether the empty cell before the voxel is meant.
    """
    cells = np.argwhere(there)
    enter, leave = _passage(cells, origin, direction)
    depth = enter.max(axis=1)
    met = np.flatnonzero((depth < leave.min(axis=1)) & (depth > 0.0))
    if not len(met):
        return _in_layer(there.shape, origin, direction, layer) if before else None
    first = met[np.argmin(depth[met])]
    if before:
        axis = int(np.argmax(enter[first]))
        cells[first, axis] -= int(np.sign(direction[axis]))
    return _inside(cells[first], there.shape)


def _passage(cells: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where on a ray each pair of faces of cells is entered and left, each of shape [n, 3]."""
    slow = np.where(np.abs(direction) < 1e-12, 1e-12, direction)
    low, high = (cells - origin) / slow, (cells + 1 - origin) / slow
    return np.minimum(low, high), np.maximum(low, high)


def _in_layer(shape: tuple[int, ...], origin: np.ndarray, direction: np.ndarray, layer: int) -> Cell | None:
    """The cell of a layer on whose floor the ray ends."""
    if abs(direction[2]) < 1e-12 or (along := (layer - origin[2]) / direction[2]) <= 0.0:
        return None
    x, y, _ = np.floor(origin + along * direction).astype(int)
    return _inside(np.array([x, y, layer]), shape)


def _inside(cell: np.ndarray, shape: tuple[int, ...]) -> Cell | None:
    if (cell < 0).any() or (cell >= np.array(shape)).any():
        return None
    x, y, z = cell.tolist()
    return x, y, z
