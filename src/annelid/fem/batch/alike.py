"""Cells that are alike: the same tetrahedra between the same of their nodes, in a fitting order of the nodes."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np

from annelid.fem.kernels.batch_cells import Shape

_MOST_SHAPES = 3  # kernels take seconds to compile: a mesh with more shapes has its places in memory
_MOST_NAMED = 32  # cells that differ in their own names, beyond which fitting ones are not looked for
_MOST_COMPARED = 8  # tetrahedra of a cell for which they are

Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Alike:
    """Cells of one shape.

    Attributes:
        shape: The shape.
        nodes: Nodes of each cell, -1 where it has fewer, shape [c, m].
        members: Its tetrahedra, -1 where it has fewer, shape [c, t].
        corners: In which order their corners come, shape [c, t, 4].
        places: Places of these corners among the nodes of the cell, shape [c, t, 4].
    """

    shape: Shape
    nodes: np.ndarray
    members: np.ndarray
    corners: np.ndarray
    places: np.ndarray


@dataclass(frozen=True)
class _Named:
    """A cell whose nodes were named anew.

    Attributes:
        rows: Tetrahedra by their new names.
        nodes: Old name of each new one.
        order: Which tetrahedron each row was.
        corners: Which corner each place of a row was.
    """

    rows: Rows
    nodes: tuple[int, ...]
    order: tuple[int, ...]
    corners: Rows


def alike_cells(elements: np.ndarray, numbers: np.ndarray) -> list[Alike]:
    """Cells by their shapes, or all of them as one group where there are many shapes.

    Args:
        elements: Nodes of each tetrahedron, shape [t, 4].
        numbers: Cell of each, shape [t].
    """
    order = np.argsort(numbers, kind="stable")
    first = np.unique(numbers[order], return_index=True)[1]
    first_named = [(members, *_by_turns(elements[members])) for members in np.split(order, first[1:])]
    fitting = len({rows for _, _, rows in first_named}) <= _MOST_NAMED
    found: dict[Rows, list[tuple[list[int], list[int], Rows]]] = {}
    for members, own, rows in first_named:
        cell = _named(rows) if fitting and len(rows) <= _MOST_COMPARED else _as_it_is(rows)
        chosen = [own[k] for k in cell.nodes], [int(members[k]) for k in cell.order], cell.corners
        found.setdefault(cell.rows, []).append(chosen)
    if len(found) > _MOST_SHAPES:
        every = [(rows, *cell) for rows, cells in found.items() for cell in cells]
        return [_filled(every)]
    return [_filled([(rows, *cell) for cell in cells], rows) for rows, cells in found.items()]


def _filled(cells: list[tuple[Rows, list[int], list[int], Rows]], common: Rows | None = None) -> Alike:
    """One group of cells, each filled up to the largest with tetrahedra of no volume."""
    width, height = max(len(nodes) for _, nodes, _, _ in cells), max(len(own) for _, _, own, _ in cells)
    nodes, members = np.full((len(cells), width), -1), np.full((len(cells), height), -1)
    corners, places = np.zeros((len(cells), height, 4), int), np.zeros((len(cells), height, 4), int)
    for cell, (rows, some, own, turned) in enumerate(cells):
        nodes[cell, : len(some)], members[cell, : len(own)] = some, own
        corners[cell, : len(own)], places[cell, : len(own)] = turned, rows
    constant = None if common is None else tuple((a, b, c, d) for a, b, c, d in common)
    return Alike(Shape(width, height, constant), nodes, members, corners, places)


def _by_turns(tetrahedra: np.ndarray) -> tuple[list[int], Rows]:
    """Nodes of a cell in the order in which they come, and its tetrahedra by their places in it."""
    names: dict[int, int] = {}
    rows = tuple(tuple(names.setdefault(node, len(names)) for node in row) for row in tetrahedra.tolist())
    return list(names), rows


def _as_it_is(rows: Rows) -> _Named:
    """A cell that keeps its names."""
    return _Named(rows, tuple(range(1 + max(map(max, rows)))), tuple(range(len(rows))), ((0, 1, 2, 3),) * len(rows))


@functools.lru_cache(maxsize=1024)
def _named(rows: Rows) -> _Named:
    """The cell with the least names: begun at any tetrahedron and any order of its corners, and led on from there."""
    starts = itertools.product(range(len(rows)), itertools.permutations(range(4)))
    return min((_led_on(rows, tet, corners) for tet, corners in starts), key=lambda cell: cell.rows)


def _led_on(rows: Rows, tet: int, corners: tuple[int, ...]) -> _Named:
    """Names from one tetrahedron on: next is always the one whose names so far are least."""
    names: dict[int, int] = {rows[tet][k]: place for place, k in enumerate(corners)}
    order, left = [tet], [k for k in range(len(rows)) if k != tet]
    while left:
        best = min(left, key=lambda k: sorted(names.get(node, len(names) + 4) for node in rows[k]))
        left.remove(best)
        order.append(best)
        for node in rows[best]:
            names.setdefault(node, len(names))
    turned = tuple(tuple(sorted(range(4), key=lambda k: names[rows[t][k]])) for t in order)
    renamed = tuple(tuple(names[rows[t][k]] for k in turn) for t, turn in zip(order, turned, strict=True))
    return _Named(renamed, tuple(names), tuple(order), turned)
