"""A triangle mesh sliced by the planes of a cubic grid, so that each triangle lies in one cell of it."""

from __future__ import annotations

import numpy as np

from annelid.shapes.values import Floats, Indices

_SNAP = 1e-6
"""A vertex as near as this to a plane [cells] is taken to lie in it: slices as thin as that cannot be told apart."""


def sliced(points: Floats, triangles: Indices, counts: tuple[int, ...]) -> tuple[Floats, Indices]:
    """The same surface in triangles that no plane between two cells cuts; its edges stay shared.

    Args:
        points: Vertices in units of the grid [cells], shape [n, 3].
        triangles: Vertex indices, shape [m, 3].
        counts: Number of cells along each axis; the outermost cells reach outwards without end.
    """
    points = _snapped(points, (0, 1, 2))
    for axis in range(3):
        points, triangles = _sliced_along(points, triangles, axis, counts[axis])
        points = _snapped(points, range(axis + 1, 3))
    return points, triangles


def cells_of(points: Floats, triangles: Indices, counts: tuple[int, ...]) -> Indices:
    """The cell in which each sliced triangle lies, on its inner side where it lies in a plane, shape [m, 3]."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    cells = np.floor(corners.mean(axis=1) - 2.0 * _SNAP * normals / lengths).astype(np.int64)
    return np.clip(cells, 0, np.array(counts) - 1)


def _snapped(points: Floats, axes: range | tuple[int, ...]) -> Floats:
    points = points.copy()
    for axis in axes:
        whole = np.round(points[:, axis])
        near = np.abs(points[:, axis] - whole) < _SNAP
        points[near, axis] = whole[near]
    return points


def _sliced_along(points: Floats, triangles: Indices, axis: int, count: int) -> tuple[Floats, Indices]:
    """Slice by the planes across one axis: in each layer that it crosses a triangle becomes a polygon of triangles."""
    order = np.argsort(points[triangles, axis], axis=1, kind="stable")
    turned = ((order[:, 1] - order[:, 0]) % 3) == 2  # the order of heights runs against that of the corners
    rising = np.take_along_axis(triangles, order, axis=1)
    heights = points[rising, axis]
    first = np.clip(np.floor(heights[:, 0]).astype(np.int64), 0, count - 1)
    last = np.clip(np.ceil(heights[:, 2]).astype(np.int64) - 1, first, count - 1)
    layers = last - first + 1
    whole = layers == 1
    if whole.all():
        return points, triangles
    rising, heights, turned = rising[~whole], heights[~whole], turned[~whole]
    first, last, layers = first[~whole], last[~whole], layers[~whole]
    which = np.repeat(np.arange(len(layers)), layers)
    layer = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(layers) - layers, layers)
    low, middle, high = rising[which].T
    bottom, mid, top = heights[which].T
    below, above = np.where(layer == first[which], bottom, layer), np.where(layer == last[which], top, layer + 1)
    edges = _Edges(points, axis)
    long_below, long_above = edges.at(low, high, below), edges.at(low, high, above)
    short_below = np.where(below < mid, edges.at(low, middle, below), edges.at(middle, high, below))
    short_above = np.where(above <= mid, edges.at(low, middle, above), edges.at(middle, high, above))
    tip = np.where((below < mid) & (mid < above), middle, short_below)
    parts = np.stack(
        [
            np.stack([tip, short_above, long_above], axis=1),
            np.stack([tip, long_above, long_below], axis=1),
            np.stack([tip, long_below, short_below], axis=1),
        ],
        axis=1,
    )
    parts[turned[which]] = parts[turned[which]][:, :, ::-1]
    parts, points = edges.finished(parts.reshape(-1, 3))
    kept = (parts != np.roll(parts, 1, axis=1)).all(axis=1)
    return points, np.concatenate([triangles[whole], parts[kept].astype(triangles.dtype)])


class _Edges:
    """Points where edges meet planes; both triangles of an edge find the same one."""

    def __init__(self, points: Floats, axis: int) -> None:
        self._points, self._axis = points, axis
        self._asked: list[np.ndarray] = []
        self._count = 0

    def at(self, a: np.ndarray, b: np.ndarray, height: np.ndarray) -> np.ndarray:
        """Numbers of the points at that height on edges a to b: those of ends, or negative ones, not yet final."""
        at_a, at_b = self._points[a, self._axis] == height, self._points[b, self._axis] == height
        new = ~(at_a | at_b)
        found = np.where(at_a, a, b)
        asked = np.stack([np.minimum(a, b)[new], np.maximum(a, b)[new], height[new].astype(np.int64)], axis=1)
        found[new] = -1 - self._count - np.arange(len(asked))
        self._asked.append(asked)
        self._count += len(asked)
        return found

    def finished(self, triangles: np.ndarray) -> tuple[np.ndarray, Floats]:
        """The triangles with final numbers, and all points."""
        asked = np.concatenate(self._asked)
        used = np.unique(-1 - triangles[triangles < 0])
        keys, number = np.unique(asked[used], axis=0, return_inverse=True)
        names = np.zeros(self._count, np.int64)
        names[used] = len(self._points) + number.ravel()
        final = np.where(triangles < 0, names[np.maximum(-1 - triangles, 0)] if self._count else 0, triangles)
        a, b = self._points[keys[:, 0]], self._points[keys[:, 1]]
        along = (keys[:, 2] - a[:, self._axis]) / (b[:, self._axis] - a[:, self._axis])
        new = a + (b - a) * along[:, None]
        new[:, self._axis] = keys[:, 2]
        return final, np.concatenate([self._points, new])
