"""Nested dissection: an order of elimination for sparse symmetric matrices of solids, as a tree of dense fronts.

A part of a solid is cut in two by a few vertices, its separator, which are eliminated after both halves; the halves are
cut in turn. What is eliminated together, and the vertices that this couples, is a front: a small dense matrix, large
enough for fast routines. Hollow solids need a third of the operations that a band needs, and the fronts of one depth
of the tree can be eliminated at once (George 1973; Duff and Reid 1983). A long and full one is better swept from
end to end; its fronts form a chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from annelid.core.linalg.banded import narrow_order

LEAF = 40
"""Vertices of a part that is not worth cutting."""
_CUTS = (0.4, 0.45, 0.5, 0.55, 0.6)
"""Where along a direction a part is cut, as shares of its vertices."""
_UNEVEN = 0.05
"""Vertices of a separator that a difference of one vertex between the halves is worth."""


@dataclass(frozen=True, eq=False)
class Front:
    """Vertices that are eliminated together.

    Attributes:
        own: These vertices.
        edge: Vertices that are eliminated later and that the elimination couples, in their order.
        parent: The front that what is left is added to: that of the first vertex of the edge; -1 without an edge.
    """

    own: np.ndarray
    edge: np.ndarray
    parent: int


def dissect(graph: Any, points: np.ndarray, *, leaf: int = LEAF) -> list[Front]:
    """Fronts in an order in which they can be eliminated: children before their parents.

    Args:
        graph: Symmetric sparse matrix whose entries couple vertices, shape [d, d].
        points: Where each vertex is [m], shape [d, 3].
        leaf: Vertices of a part that is not cut any more.
    """
    matrix = sparse.csr_array(graph)
    parts: list[np.ndarray] = []
    _cut(matrix, np.asarray(points, float), np.arange(matrix.shape[0]), leaf, parts)
    return _fronts(matrix, parts)


def sweep(graph: Any, points: np.ndarray, *, leaf: int = LEAF) -> list[Front]:
    """Fronts from one end of a solid to the other, in an order with a narrow band; see `dissect`."""
    matrix = sparse.csr_array(graph)
    order = narrow_order(matrix, np.asarray(points, float))
    return _fronts(matrix, np.array_split(order, max(1, len(order) // leaf)))


def operations(fronts: list[Front], *, width: int = 3) -> float:
    """Multiplications of the elimination, with so many unknowns a vertex."""
    own, edge = width * np.array([(len(front.own), len(front.edge)) for front in fronts], float).T
    return float((own**3 / 6 + own**2 * edge / 2 + own * edge**2 / 2).sum())


def _cut(
    matrix: sparse.csr_array, points: np.ndarray, vertices: np.ndarray, leaf: int, parts: list[np.ndarray]
) -> None:
    """Append the parts of some vertices in the order of their elimination."""
    if len(vertices) == 0:
        return
    if len(vertices) <= leaf:
        parts.append(vertices)
        return
    inner = matrix[vertices][:, vertices]
    halves = _halves(inner, points[vertices])
    if halves is None:
        parts.append(vertices)
        return
    separator, first, second = halves
    for half in (first, second):
        _cut(matrix, points, vertices[half], leaf, parts)
    if separator.any():
        parts.append(vertices[separator])


def _halves(inner: sparse.csr_array, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The best cut of a part: which vertices separate, and which are on either side; None if there is none."""
    count, best, found = len(points), np.inf, None
    pieces, label = connected_components(inner, directed=False)
    if pieces > 1:
        first = label == label[0]
        return np.zeros(count, bool), first, ~first
    for key in _directions(inner, points):
        for place in _CUTS:
            low = key < np.quantile(key, place, method="nearest")
            for side in (low, ~low):
                separator = side & (inner @ (~side).astype(np.int32) > 0)
                first, second = side & ~separator, ~side
                sizes = int(first.sum()), int(second.sum())
                cost = int(separator.sum()) + _UNEVEN * abs(sizes[0] - sizes[1])
                if min(sizes) > 0 and cost < best:
                    best, found = cost, (separator, first, second)
    return found


def _directions(inner: sparse.csr_array, points: np.ndarray) -> list[np.ndarray]:
    """Numbers along which a part may be cut: coordinates, diagonals, and steps from one end."""
    x, y, z = points.T
    order = breadth_first_order(inner, 0, return_predecessors=False)
    order, before = breadth_first_order(inner, order[-1])
    steps = np.zeros(len(points))
    for vertex in order[1:].tolist():
        steps[vertex] = steps[before[vertex]] + 1
    return [x, y, z, x + y, x - y, steps]


def _fronts(matrix: sparse.csr_array, parts: list[np.ndarray]) -> list[Front]:
    """Edges and parents, by elimination of the parts one after the other."""
    count = matrix.shape[0]
    place, part = np.empty(count, np.int64), np.empty(count, np.int64)
    place[np.concatenate(parts)] = np.arange(count)
    part[np.concatenate(parts)] = np.repeat(np.arange(len(parts)), [len(own) for own in parts])
    inherited: list[list[np.ndarray]] = [[] for _ in parts]
    fronts = []
    for number, own in enumerate(parts):
        reached = np.unique(np.concatenate([matrix[own].indices, *inherited[number]]))
        edge = reached[part[reached] > number]
        edge = edge[np.argsort(place[edge])]
        parent = int(part[edge[0]]) if len(edge) else -1
        if parent >= 0:
            inherited[parent].append(edge)
        fronts.append(Front(own, edge, parent))
    return fronts
