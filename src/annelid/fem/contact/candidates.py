"""Pairs of a surface's parts that may touch while its nodes stay near a way: vertices and triangles, two edges."""

from __future__ import annotations

import numpy as np
import warp as wp
from scipy import sparse
from scipy.sparse import csgraph

from annelid.fem.contact.overlaps import Boxes
from annelid.fem.contact.surface import edges_of
from annelid.fem.kernels.pairs import near_pairs

_MARGIN = 0.5
"""Of the reach: how far nodes may go off the way for which pairs were found."""


class Candidates:
    """Finds pairs, and knows for which places of the nodes they are all.

    Args:
        faces: Triangles of the surface, shape [t, 3].
        reach: Distance at which contact begins [m].
        device: Where boxes are compared.
        sides: Piece of the mesh of each node, and which of its closed surfaces the node is on, shape [n, 2]; None where
            there is one. Surfaces of one piece are apart by its walls and never touch each other.

    Attributes:
        numbers: Nodes of the surface, shape [k].
        edges: Edges of the triangles, shape [e, 2].
        nodes: Nodes of the pairs found last, shape [p, 4]: a vertex and a triangle, or two edges.
        keys: One number for each pair, ascending, shape [p].
        edges_from: The first pair of edges.
    """

    def __init__(self, faces: np.ndarray, reach: float, device: wp.Device, sides: np.ndarray | None = None) -> None:
        self._sides = np.zeros((int(faces.max()) + 1, 2), int) if sides is None else sides
        self.faces, self.edges, self.numbers = faces, edges_of(faces), np.unique(faces)
        self._reach, self._margin, self._device = reach, _MARGIN * reach, device
        self._most = max(len(faces), len(self.edges))
        self._from: np.ndarray | None
        self.forget()
        self._lowers, self._uppers, self._middles, self._halves = (
            np.zeros((int(self.numbers.max()) + 1, 3)) for _ in range(4)
        )

    def cover(self, x: np.ndarray, step: np.ndarray | None) -> bool:
        """Have all pairs that touch on a step of the nodes from x [m], shape [n, 3]; whether they had to be found.

        How all nodes move together brings no pair nearer, so nothing here depends on it.
        """
        here = _centred(x[self.numbers])
        way = np.zeros_like(here) if step is None else _centred(step[self.numbers])
        if self._covers(here) and (step is None or self._covers(here + way)):
            return False
        self._from, self._way = here, way
        ends = here, here + way
        self._lowers[self.numbers] = np.minimum(*ends) - self._margin
        self._uppers[self.numbers] = np.maximum(*ends) + self._margin
        self._find()
        return True

    def _covers(self, places: np.ndarray) -> bool:
        """Whether all nodes are near where they would be at some moment of the way for which pairs were found."""
        if self._from is None:
            return False
        off, square = places - self._from, np.vdot(self._way, self._way)
        part = np.clip(np.vdot(self._way, off) / square, 0.0, 1.0) if square > 0.0 else 0.0
        return float(((off - part * self._way) ** 2).sum(axis=1).max(initial=0.0)) <= self._margin**2

    def forget(self) -> None:
        """Know of no pairs and find them anew the next time, so that they depend on what is asked then only."""
        self.nodes, self.keys, self.edges_from, self._from = np.zeros((0, 4), np.int32), np.zeros(0, np.int64), 0, None

    def crossings(self) -> np.ndarray:
        """Edges and triangles whose boxes overlap, without a common node, shape [p, 2]."""
        found = self._boxes(self.edges).overlapping(self._boxes(self.faces))
        return found[~_common(self.edges[found[:, 0]], self.faces[found[:, 1]])]

    def _find(self) -> None:
        triangles, edges = self._boxes(self.faces), self._boxes(self.edges)
        vertices = self._boxes(self.numbers[:, None])
        one, two = vertices.overlapping(triangles), edges.overlapping()
        one = one[~_common(self.numbers[one[:, :1]], self.faces[one[:, 1]])]
        two = two[~_common(self.edges[two[:, 0]], self.edges[two[:, 1]])]
        first = np.column_stack([self.numbers[one[:, 0]], self.faces[one[:, 1]]])
        second = np.column_stack([self.edges[two[:, 0]], self.edges[two[:, 1]]])
        nodes = np.ascontiguousarray(np.concatenate([first, second]), np.int32)
        most = np.int64(self._most)
        own = most * one[:, 0] + one[:, 1]
        other = most * (most + two[:, 0]) + two[:, 1]
        near = self._near(nodes, len(one)) & ~self._through_walls(nodes)
        self.nodes, self.keys = nodes[near], np.concatenate([own, other])[near]
        self.edges_from = int(near[: len(one)].sum())

    def _through_walls(self, nodes: np.ndarray) -> np.ndarray:
        """Which pairs are of two surfaces of one piece, shape [p]."""
        one, two = self._sides[nodes[:, 0]], self._sides[nodes[:, 2]]
        return np.asarray((one[:, 0] == two[:, 0]) & (one[:, 1] != two[:, 1]))

    def _near(self, nodes: np.ndarray, edges_from: int) -> np.ndarray:
        """Which pairs can come within reach where nodes may be, shape [p]: boxes overlap long before."""
        assert self._from is not None
        self._middles[self.numbers], self._halves[self.numbers] = self._from + 0.5 * self._way, 0.5 * self._way
        middles, halves = (wp.array(a, dtype=wp.vec3d, device=self._device) for a in (self._middles, self._halves))
        found = wp.zeros(len(nodes), dtype=wp.bool, device=self._device)
        pairs = [wp.array(nodes, dtype=wp.vec4i, device=self._device), edges_from]
        inputs = [*pairs, wp.float64(self._reach + 2.0 * self._margin), middles, halves]
        wp.launch(near_pairs, len(nodes), inputs, [found], device=self._device)
        return np.array(found.numpy(), bool)

    def _boxes(self, parts: np.ndarray) -> Boxes:
        half = 0.5 * self._reach
        return Boxes(self._lowers[parts].min(axis=1) - half, self._uppers[parts].max(axis=1) + half, self._device)


def pieces_of(elements: np.ndarray, node_count: int) -> np.ndarray:
    """Piece of the mesh that each node belongs to, shape [n]."""
    first, others = np.repeat(elements[:, 0], elements.shape[1] - 1), elements[:, 1:].ravel()
    graph = sparse.coo_array((np.ones(len(first), np.int8), (first, others)), shape=(node_count, node_count))
    return np.asarray(csgraph.connected_components(graph.tocsr(), directed=False)[1])


def _centred(vectors: np.ndarray) -> np.ndarray:
    """Vectors less their mean, shape [k, 3]."""
    return np.asarray(vectors - vectors.mean(axis=0))


def _common(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Whether rows of nodes, shapes [p, a] and [p, b], have a node in common."""
    return np.asarray((one[:, :, None] == two[:, None, :]).any(axis=(1, 2)))
