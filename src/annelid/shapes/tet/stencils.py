"""The part of lattice tetrahedra inside a surface, by the stencils of isosurface stuffing (Labelle and Shewchuk, 2007).

Points are positive (inside), zero (on the surface) or negative. Every edge from a positive to a negative point has a
cut point. What is left of a tetrahedron is itself, a smaller tetrahedron, a pyramid or a prism; the diagonals of
quadrilateral faces depend on the face alone, so that neighbours agree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.values import Indices

Cut = Callable[[Indices, Indices], Indices]
"""Number of the cut point between inside points and outside points, elementwise."""
First = Callable[[Indices, Indices, Indices], NDArray[np.bool_]]
"""Of inside points p and q and an outside one: whether the diagonal of their quadrilateral starts at p."""


def stencils(tetrahedra: Indices, signs: NDArray[np.int8], cut: Cut, first: First) -> Indices:
    """What is inside of each tetrahedron, as tetrahedra of positive volume, shape [k, 4].

    Args:
        tetrahedra: Lattice tetrahedra of positive volume, shape [m, 4].
        signs: 1, 0 or -1 for each lattice point, shape [n].
        cut: Numbers of cut points.
        first: The rule for diagonals.
    """
    ranked = _ranked(tetrahedra, signs)
    of_corner = signs[ranked]
    inside, outside = (of_corner > 0).sum(axis=1), (of_corner < 0).sum(axis=1)
    parts = [ranked[(inside > 0) & (outside == 0)]]
    parts += [_tip(ranked[(inside == 1) & (outside == count)], count, cut) for count in (1, 2, 3)]
    parts += [_pyramid(ranked[(inside == 2) & (outside == 1)], cut, first)]
    parts += [_ridge(ranked[(inside == 2) & (outside == 2)], cut, first)]
    parts += [_truncated(ranked[(inside == 3) & (outside == 1)], cut, first)]
    return np.concatenate(parts)


def _ranked(tetrahedra: Indices, signs: NDArray[np.int8]) -> Indices:
    """Corners reordered, positive, zero, then negative, without mirroring a tetrahedron."""
    order = np.argsort(-signs[tetrahedra], axis=1, kind="stable")
    ranked = np.take_along_axis(tetrahedra, order, axis=1)
    swaps = sum((order[:, i] > order[:, j]).astype(int) for i in range(4) for j in range(i + 1, 4))
    odd = np.asarray(swaps) % 2 == 1
    of_corner = signs[ranked]
    twin = (of_corner[:, 1:] == of_corner[:, :-1]).argmax(axis=1)  # four corners, three signs: two are equal
    rows = np.flatnonzero(odd)  # swapping those two undoes the mirroring
    low, high = ranked[rows, twin[rows]], ranked[rows, twin[rows] + 1]
    ranked[rows, twin[rows]], ranked[rows, twin[rows] + 1] = high, low
    return ranked


def _tip(four: Indices, outside: int, cut: Cut) -> Indices:
    """One corner inside: the outside corners move to their cut points."""
    four = four.copy()
    for corner in range(4 - outside, 4):
        four[:, corner] = cut(four[:, 0], four[:, corner])
    return four


def _pyramid(four: Indices, cut: Cut, first: First) -> Indices:
    """Two corners inside, one on the surface, one outside."""
    p, q, zero, out = _swapped(four, ~first(four[:, 0], four[:, 1], four[:, 3])).T
    to_p, to_q = cut(p, out), cut(q, out)
    return _upright([(p, q, zero, to_q), (p, to_q, zero, to_p)], p != four[:, 0])


def _ridge(four: Indices, cut: Cut, first: First) -> Indices:
    """Two corners inside, two outside: a prism."""
    a, b, c, d = four.T
    at_c, at_d = first(a, b, c), first(a, b, d)
    alike = at_c == at_d
    return np.concatenate([_ridge_alike(four[alike], at_c[alike], cut), _ridge_mixed(four[~alike], at_c[~alike], cut)])


def _ridge_alike(four: Indices, at_first: NDArray[np.bool_], cut: Cut) -> Indices:
    """Both diagonals start at the same inside corner, which becomes the apex of a pyramid over the cut points."""
    a, b, c, d = np.where(at_first[:, None], four, four[:, [1, 0, 3, 2]]).T
    ac, ad, bc, bd = cut(a, c), cut(a, d), cut(b, c), cut(b, d)
    return _upright([(a, b, bc, bd), (a, bc, ac, bd), (a, ac, ad, bd)], np.zeros(len(four), dtype=bool))


def _ridge_mixed(four: Indices, at_first: NDArray[np.bool_], cut: Cut) -> Indices:
    """One diagonal starts at each inside corner; they force the third, between the cut points."""
    a, b, c, d = np.where(at_first[:, None], four, four[:, [0, 1, 3, 2]]).T
    ac, ad, bc, bd = cut(a, c), cut(a, d), cut(b, c), cut(b, d)
    return _upright([(ad, a, ac, bc), (ad, b, a, bc), (ad, bd, b, bc)], ~at_first)


def _truncated(four: Indices, cut: Cut, first: First) -> Indices:
    """Three corners inside, one outside: a prism, cut along the order in which the rule puts the corners."""
    a, b, c, out = four.T
    ab, bc, ac = first(a, b, out), first(b, c, out), first(a, c, out)
    wins = np.stack([ab.astype(int) + ac, ~ab + bc.astype(int), (~ac).astype(int) + ~bc], axis=1)
    order = np.argsort(-wins, axis=1, kind="stable")
    p, q, r = np.take_along_axis(four[:, :3], order, axis=1).T
    mirrored = (order[:, 1] - order[:, 0]) % 3 == 2
    to_p, to_q, to_r = cut(p, out), cut(q, out), cut(r, out)
    return _upright([(p, q, r, to_r), (p, q, to_r, to_q), (p, to_q, to_r, to_p)], mirrored)


def _swapped(four: Indices, swap: NDArray[np.bool_]) -> Indices:
    """The first two corners exchanged where asked."""
    return np.where(swap[:, None], four[:, [1, 0, 2, 3]], four)


def _upright(parts: list[tuple[Indices, ...]], mirrored: NDArray[np.bool_]) -> Indices:
    """The parts as rows, turned where their tetrahedron was mirrored by reordering."""
    rows = np.concatenate([np.stack(part, axis=1) for part in parts])
    turn = np.tile(mirrored, len(parts))
    return np.where(turn[:, None], rows[:, [0, 2, 1, 3]], rows)
