"""Which numbers of the stored blocks go into which front: the lower half of a matrix, entry by entry."""

from __future__ import annotations

import numpy as np

from annelid.fem.linalg.unknowns import Unknowns


def lower_entries(unknowns: Unknowns) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the stored blocks that count, one for each pair of free unknowns.

    Their places among the numbers of all blocks, the front that eliminates the column of each, and its row and column
    among the unknowns of that front, own ones first; shape [k] each, in the order of the fronts.
    """
    fronts, pattern, places = unknowns.fronts, unknowns.pattern, unknowns.order.places.numpy()
    row, column = places[pattern.rows], places[pattern.columns]
    block = np.flatnonzero((row >= 0) & (column >= 0))
    row, column = row[block], column[block]
    a, b = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    source, r, c = 9 * block[:, None] + 3 * a + b, 3 * row[:, None] + a, 3 * column[:, None] + b
    r, c = np.maximum(r, c), np.minimum(r, c)
    used = ((row != column)[:, None] | (a >= b)) & unknowns.free[r] & unknowns.free[c]
    source, r, c = source[used], r[used], c[used]
    front = fronts.front_of(c // 3)
    local = 3 * fronts.place_in(front, r // 3) + r % 3
    order = np.lexsort((local, c))
    return source[order], front[order], local[order], (c - 3 * fronts.first[front])[order]
