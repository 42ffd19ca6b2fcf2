"""Where points lie in a tetrahedral mesh: the nearest node, the element around a point and its weights."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from annelid.shapes.values import Floats, Indices, as_points

_FIRST_GUESSES = 16
_FARTHEST = 1e100  # [m]: farther away, squares of distances overflow
_INSIDE = -1e-9
"""A weight above this is taken as inside: rounding, not geometry."""
_PAIRS_AT_ONCE = 1 << 21


class Locator:
    """Search trees over the nodes and elements of one mesh."""

    def __init__(self, nodes: Floats, tetrahedra: Indices) -> None:
        self._nodes = nodes
        self._tetrahedra = tetrahedra

    def nearest(self, points: ArrayLike) -> Indices:
        """The node closest to each point, shape [p]."""
        return np.asarray(self._node_tree.query(as_points(points))[1], dtype=np.int32)

    def locate(self, points: ArrayLike) -> tuple[Indices, Floats]:
        """Element around each point, shape [p], and the weights of its nodes, shape [p, 4].

        The elements with the nearest centres are tried first; points in none of them are tried against all elements.
        """
        where = np.clip(as_points(points), -_FARTHEST, _FARTHEST)
        if len(where) == 0:
            return np.empty(0, dtype=np.int32), np.empty((0, 4))
        count = min(_FIRST_GUESSES, len(self._tetrahedra))
        near = np.reshape(self._center_tree.query(where, k=count)[1], (len(where), count))
        found, weights = self._best(where, near)
        missed = np.flatnonzero(weights.min(axis=1) < _INSIDE)
        everything = np.arange(len(self._tetrahedra))[None]
        rows = max(_PAIRS_AT_ONCE // len(self._tetrahedra), 1)
        for start in range(0, len(missed), rows):
            part = missed[start : start + rows]
            found[part], weights[part] = self._best(where[part], np.repeat(everything, len(part), axis=0))
        return found.astype(np.int32), weights

    def _best(self, points: Floats, candidates: Indices) -> tuple[Indices, Floats]:
        """Of candidates [p, c], the element whose least weight is greatest, and its weights."""
        offset = points[:, None] - self._nodes[self._tetrahedra[candidates, 0]]
        last = np.einsum("pcij,pcj->pci", self._inverses[candidates], offset)
        weights = np.concatenate([1.0 - last.sum(axis=2, keepdims=True), last], axis=2)
        best = weights.min(axis=2).argmax(axis=1)
        row = np.arange(len(points))
        return candidates[row, best], weights[row, best]

    @cached_property
    def _node_tree(self) -> cKDTree:
        return cKDTree(self._nodes)

    @cached_property
    def _center_tree(self) -> cKDTree:
        return cKDTree(self._nodes[self._tetrahedra].mean(axis=1))

    @cached_property
    def _inverses(self) -> Floats:
        corners = self._nodes[self._tetrahedra]
        return np.asarray(np.linalg.inv(np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)), dtype=np.float64)
