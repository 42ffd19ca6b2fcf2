"""Fronts of a solid's matrices as index lists: where blocks go, where fronts lie, and how one adds to another.

Vertices are nodes with a free component; they are numbered in the order of their elimination, three unknowns each. A
front has the rows of its own vertices and of those on its edge, and the columns of its own: its panel. What its
elimination adds to the edge is its update, a square that is kept until its parent takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.core.linalg.dissection import Front


@dataclass(frozen=True, eq=False)
class Fronts:
    """Fronts with all vertices numbered by their elimination.

    Attributes:
        first: First own vertex of each front, shape [f + 1].
        edge_first: Where the edge of each front begins among all, shape [f + 1].
        edges: Vertices of all edges, shape [e].
        places: Place of each of them among the vertices of the front's parent, shape [e].
        child_first: Where the children of each front begin among all, shape [f + 1].
        children: The children of all fronts, ascending in each.
        parents: Parent of each front, -1 where there is none, shape [f].
        depths: Parents above each front, shape [f].
    """

    first: np.ndarray
    edge_first: np.ndarray
    edges: np.ndarray
    places: np.ndarray
    child_first: np.ndarray
    children: np.ndarray
    parents: np.ndarray
    depths: np.ndarray

    @property
    def count(self) -> int:
        """Number of fronts."""
        return len(self.first) - 1

    @property
    def own_counts(self) -> np.ndarray:
        """Own vertices of each front, shape [f]."""
        return np.diff(self.first)

    @property
    def edge_counts(self) -> np.ndarray:
        """Vertices on the edge of each front, shape [f]."""
        return np.diff(self.edge_first)

    @property
    def heights(self) -> np.ndarray:
        """All vertices of each front, shape [f]."""
        return self.own_counts + self.edge_counts

    @property
    def ranks(self) -> np.ndarray:
        """How many children of the same parent come before each front, shape [f]."""
        ranks = np.zeros(self.count, int)
        inner = self.children[self.child_first[0] :]
        ranks[inner] = np.arange(self.child_first[0], len(self.children)) - self.child_first[self.parents[inner]]
        return ranks

    def place_in(self, fronts: np.ndarray, vertices: np.ndarray) -> np.ndarray:
        """Place of vertices among those of fronts, one each: own ones come first; shape [k]."""
        own = vertices - self.first[fronts]
        count = self.first[-1] + 1
        keys = np.repeat(np.arange(self.count), self.edge_counts) * count + self.edges
        on_edge = np.searchsorted(keys, fronts * count + vertices) - self.edge_first[fronts]
        return np.where(vertices < self.first[fronts + 1], own, self.own_counts[fronts] + on_edge)

    def above(self, vertices: np.ndarray) -> np.ndarray:
        """Fronts that eliminate some vertices, and all their parents, ascending."""
        found = np.zeros(self.count, bool)
        found[self.front_of(vertices)] = True
        for front in range(self.count):  # parents come after their children
            if found[front] and self.parents[front] >= 0:
                found[self.parents[front]] = True
        return np.flatnonzero(found)

    def front_of(self, vertices: np.ndarray) -> np.ndarray:
        """The front that eliminates each vertex, shape [k]."""
        return np.searchsorted(self.first, vertices, side="right") - 1


def numbered(found: Sequence[Front]) -> tuple[np.ndarray, Fronts]:
    """The vertices in the order of their elimination, shape [d], and the fronts in these numbers."""
    order = np.concatenate([front.own for front in found])
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    parents = np.array([front.parent for front in found])
    first, edge_first = (np.concatenate([[0], np.cumsum([len(a) for a in side])]) for side in _sides(found))
    edges = number[np.concatenate([front.edge for front in found])]
    children = np.argsort(parents, kind="stable")
    child_first = np.searchsorted(parents[children], np.arange(len(found) + 1))
    depths = np.zeros(len(found), int)
    for i in np.flatnonzero(parents >= 0)[::-1]:
        depths[i] = depths[parents[i]] + 1
    fronts = Fronts(first, edge_first, edges, np.zeros(0, int), child_first, children, parents, depths)
    places = fronts.place_in(np.repeat(parents, fronts.edge_counts), edges)
    return order, Fronts(first, edge_first, edges, places, child_first, children, parents, depths)


def shared_out(work: np.ndarray, fronts: Fronts, count: int) -> list[np.ndarray]:
    """Fronts that can be eliminated at once, ascending, in so many groups of whole subtrees; those above come last.

    Args:
        work: Work of each front, shape [f].
        fronts: The fronts.
        count: Number of groups beside those above.
    """
    below = work.astype(float)
    for i in np.flatnonzero(fronts.parents >= 0).tolist():  # parents come after their children
        below[fronts.parents[i]] += below[i]
    tops = np.flatnonzero(fronts.parents < 0).tolist()
    while count > 1 and tops and below[heaviest := max(tops, key=lambda i: below[i])] > work.sum() / count:
        tops.remove(heaviest)
        tops += fronts.children[fronts.child_first[heaviest] : fronts.child_first[heaviest + 1]].tolist()
    loads, group = np.zeros(count), np.full(fronts.count + 1, count)
    for i in sorted(tops, key=lambda i: -below[i]):
        group[i] = loads.argmin()
        loads[group[i]] += below[i]
    for i in range(fronts.count)[::-1]:
        if group[i] == count:
            group[i] = group[fronts.parents[i]]
    return [np.flatnonzero(group[:-1] == number) for number in range(count + 1)]


def stacked(sizes: np.ndarray, fronts: Fronts, groups: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Where the update of each front can lie while it is needed, shape [f], and the room that all need together.

    Those of one group never lie where those of another one do.
    """
    begins, room = np.zeros(fronts.count, np.int64), 0
    for group in groups:
        room = _stack(sizes, fronts, group, room, begins)
    return begins, room


def _stack(sizes: np.ndarray, fronts: Fronts, group: np.ndarray, start: int, begins: np.ndarray) -> int:
    """Find where the updates of a group can lie, from a start on; where they end."""
    used, most = {-1: (start, start)}, start
    for i in group.tolist():
        taken = sorted(used.values())
        gaps = (
            end
            for (_, end), (begin, _) in zip(taken, [*taken[1:], (1 << 62, 0)], strict=True)
            if begin - end >= sizes[i]
        )
        begins[i] = next(gaps)
        used[i] = (int(begins[i]), int(begins[i] + sizes[i]))
        most = max(most, used[i][1])
        for child in fronts.children[fronts.child_first[i] : fronts.child_first[i + 1]].tolist():
            used.pop(child, None)
    return most


def _sides(found: Sequence[Front]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [front.own for front in found], [front.edge for front in found]
