"""Pairs of a surface's parts that may touch while its nodes stay within boxes: vertices and triangles, two edges."""

from __future__ import annotations

import numpy as np
import warp as wp
from scipy import sparse
from scipy.sparse import csgraph

from annelid.fem.contact.overlaps import Boxes
from annelid.fem.contact.surface import edges_of


class Candidates:
    """Finds pairs, and knows for which places of the nodes they are all.

    Args:
        faces: Triangles of the surface, shape [t, 3].
        reach: Distance at which contact begins [m].
        device: Where boxes are compared.

    Attributes:
        numbers: Nodes of the surface, shape [k].
        edges: Edges of the triangles, shape [e, 2].
        nodes: Nodes of the pairs found last, shape [p, 4]: a vertex and a triangle, or two edges.
        keys: One number for each pair, ascending, shape [p].
        edges_from: The first pair of edges.
    """

    def __init__(self, faces: np.ndarray, reach: float, device: wp.Device) -> None:
        self.faces, self.edges, self.numbers = faces, edges_of(faces), np.unique(faces)
        self._reach, self._device = reach, device
        self._most = max(len(faces), len(self.edges))
        self.nodes, self.keys, self.edges_from = np.zeros((0, 4), np.int32), np.zeros(0, np.int64), 0
        self._lowers, self._uppers = (np.full((int(self.numbers.max()) + 1, 3), end) for end in (np.inf, -np.inf))

    def cover(self, x: np.ndarray, step: np.ndarray | None) -> bool:
        """Have all pairs that touch on a step of the nodes from x [m], shape [n, 3]; whether they had to be found."""
        ends = [x[self.numbers]] if step is None else [x[self.numbers], (x + step)[self.numbers]]
        lowers, uppers = np.minimum.reduce(ends), np.maximum.reduce(ends)
        if (lowers >= self._lowers[self.numbers]).all() and (uppers <= self._uppers[self.numbers]).all():
            return False
        self._lowers[self.numbers] = lowers - 0.5 * self._reach
        self._uppers[self.numbers] = uppers + 0.5 * self._reach
        self._find()
        return True

    def forget(self) -> None:
        """Find pairs anew the next time, so that they depend on what is asked then only."""
        self._lowers[:], self._uppers[:] = np.inf, -np.inf

    def crossings(self) -> np.ndarray:
        """Edges and triangles whose boxes overlap, without a common node, shape [p, 2]."""
        found = self._boxes(self.edges).overlapping(self._boxes(self.faces))
        return found[~_common(self.edges[found[:, 0]], self.faces[found[:, 1]])]

    def _find(self) -> None:
        triangles, edges = self._boxes(self.faces), self._boxes(self.edges)
        vertices = self._boxes(self.numbers[:, None])
        one, two = vertices.overlapping(triangles), edges.overlapping(edges)
        one = one[~_common(self.numbers[one[:, :1]], self.faces[one[:, 1]])]
        two = two[two[:, 0] < two[:, 1]]
        two = two[~_common(self.edges[two[:, 0]], self.edges[two[:, 1]])]
        first = np.column_stack([self.numbers[one[:, 0]], self.faces[one[:, 1]]])
        second = np.column_stack([self.edges[two[:, 0]], self.edges[two[:, 1]]])
        self.nodes = np.ascontiguousarray(np.concatenate([first, second]), np.int32)
        self.edges_from = len(one)
        most = np.int64(self._most)
        own = most * one[:, 0] + one[:, 1]
        other = most * (most + two[:, 0]) + two[:, 1]
        self.keys = np.concatenate([own, other])

    def _boxes(self, parts: np.ndarray) -> Boxes:
        half = 0.5 * self._reach
        return Boxes(self._lowers[parts].min(axis=1) - half, self._uppers[parts].max(axis=1) + half, self._device)


def pieces_of(elements: np.ndarray, node_count: int) -> np.ndarray:
    """Piece of the mesh that each node belongs to, shape [n]."""
    first, others = np.repeat(elements[:, 0], elements.shape[1] - 1), elements[:, 1:].ravel()
    graph = sparse.coo_array((np.ones(len(first), np.int8), (first, others)), shape=(node_count, node_count))
    return np.asarray(csgraph.connected_components(graph.tocsr(), directed=False)[1])


def _common(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Whether rows of nodes, shapes [p, a] and [p, b], have a node in common."""
    return np.asarray((one[:, :, None] == two[:, None, :]).any(axis=(1, 2)))
