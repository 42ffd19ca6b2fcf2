"""Nested dissection: an order of elimination for sparse symmetric matrices of solids, as a tree of dense fronts.

A part of a solid is cut in two by a few vertices, its separator, which are eliminated after both halves; the halves are
cut in turn. What is eliminated together, and the vertices that this couples, is a front: a small dense matrix, large
enough for fast routines. Hollow solids need a third of the operations that a band needs, and the fronts of one depth
of the tree can be eliminated at once (George 1973; Duff and Reid 1983). A long and full one is better swept from
both ends; its fronts form two chains.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_bipartite_matching

from annelid.core.linalg.banded import narrow_order

LEAF = 40
"""Vertices of a part that is not worth cutting."""
_CUTS = (0.4, 0.45, 0.5, 0.55, 0.6)
"""Where along a direction a part is cut, as shares of its vertices."""
_UNEVEN = 0.05
"""Vertices of a separator that a difference of one vertex between the halves is worth."""
_THINNED, _CANDIDATES = 200, 10
"""Vertices of a part whose best cuts are worth thinning, and how many of them are."""


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
    """Fronts from both ends of a solid to its middle, in an order with a narrow band; see `dissect`."""
    matrix = sparse.csr_array(graph)
    order = narrow_order(matrix, np.asarray(points, float))
    first, last = np.array_split(order, 2)
    sides = [side for side in (first, last[::-1]) if len(side)]
    return _fronts(matrix, [part for side in sides for part in np.array_split(side, max(1, len(side) // leaf))])


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
    count = len(points)
    pieces, label = connected_components(inner, directed=False)
    if pieces > 1:
        first = label == label[0]
        return np.zeros(count, bool), first, ~first
    places = np.quantile(np.arange(count), _CUTS, method="nearest")
    found = [cut for key in _directions(inner, points) for cut in _cuts_along(inner, key, np.sort(key)[places])]
    found.sort(key=lambda cut: cut.cost)
    best = found[0] if found else None
    if count > _THINNED:  # a side's edge is as thin as a plane allows; vertices of both sides cover fewer
        covers = [_Cut.covering(inner, cut) for cut in found[:_CANDIDATES]]
        best = min((cut for cut in [*found[:1], *covers] if cut.divides), key=lambda cut: cut.cost, default=None)
    return None if best is None else (best.separator, best.first, best.second)


@dataclass(frozen=True, eq=False)
class _Cut:
    """Vertices that separate a part, and those on either side."""

    separator: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def covering(cls, inner: sparse.csr_array, cut: _Cut) -> _Cut:
        """The fewest vertices of both sides that cover every coupling between them."""
        side = cut.first | cut.separator
        rows = np.flatnonzero(cut.separator)
        columns = np.flatnonzero(~side & (inner @ side.astype(np.int32) > 0))
        separator = np.zeros(len(side), bool)
        of_rows, of_columns = _cover(sparse.csr_array(inner[rows][:, columns]))
        separator[rows[of_rows]] = separator[columns[of_columns]] = True
        return cls(separator, side & ~separator, ~side & ~separator)

    @property
    def divides(self) -> bool:
        """Whether there is something on either side."""
        return bool(self.first.any() and self.second.any())

    @cached_property
    def cost(self) -> float:
        """Vertices that separate, and a little for sides that are not equal."""
        uneven = abs(np.count_nonzero(self.first) - np.count_nonzero(self.second))
        return np.count_nonzero(self.separator) + _UNEVEN * uneven


def _cuts_along(inner: sparse.csr_array, key: np.ndarray, places: np.ndarray) -> list[_Cut]:
    """Cuts at these places along a direction, by all vertices of either side that are coupled with the other.

    All sides take part in one product: a product with each of them takes several times as long.
    """
    low = key < places[:, None]
    sides = np.stack([low, ~low], axis=1).reshape(-1, len(key))
    separators = sides & (inner @ (~sides).T.astype(np.int32) > 0).T
    firsts, seconds = sides & ~separators, ~sides
    divides = firsts.any(axis=1) & seconds.any(axis=1)
    return [_Cut(separators[k], firsts[k], seconds[k]) for k in np.flatnonzero(divides)]


def _cover(pairs: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Fewest rows and columns, as masks, that cover all entries of a matrix, as many as a matching has (König)."""
    partner = maximum_bipartite_matching(pairs, perm_type="column")  # column of each row, -1 for none
    row_of = np.full(pairs.shape[1], -1)
    row_of[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    rows, columns = partner < 0, np.zeros(pairs.shape[1], bool)
    fresh = rows.copy()
    while fresh.any():  # what an alternating path reaches from a row without a partner
        reached = (pairs.T @ fresh.astype(np.int32) > 0) & ~columns
        columns |= reached
        fresh = np.zeros(len(rows), bool)
        fresh[row_of[reached & (row_of >= 0)]] = True
        fresh &= ~rows
        rows |= fresh
    return ~rows, columns


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
