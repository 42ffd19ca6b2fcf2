"""Which rows each member of a team of CPU threads sweeps: as much work each, not as many rows.

Rows of guests that touch nothing cost next to nothing, and lie together. No result depends on who sweeps a row.
"""

import numpy as np
import warp as wp

from annelid.grains.kernels.layout import Lists, Parameters

wp.set_module_options({"enable_backward": False})

BLOCK = 16
"""Shares begin at multiples of so many rows: members do not write into the same lines of memory."""

_ROW, _PAIRS, _MORE_PAIRS, _BODY = 5, 12, 4, 14
"""What rows cost, in tens of nanoseconds or so: each, with neighbours, with each eight more, and with a body.

Those that come after the first eight are seldom close.
"""


def even_shares(count: int, members: int) -> wp.array[wp.int32]:
    """Shares of as many rows each, until something is known of these."""
    blocks = -(-count // BLOCK)
    edges = np.minimum(blocks * np.arange(members + 1) // members * BLOCK, count)
    return wp.array(edges, dtype=wp.int32, device="cpu")


@wp.func
def row_cost(i: int, lists: Lists) -> int:
    """What the sweeps over a row cost."""
    listed = lists.counts[i]
    cost = wp.static(_ROW) + wp.static(_BODY) * listed[1]
    if listed[0] > 0:
        cost += wp.static(_PAIRS) + wp.static(_MORE_PAIRS) * ((listed[0] - 1) // 8)
    return cost


@wp.func
def divide_rows(size: int, parameters: Parameters, lists: Lists, shares: wp.array[wp.int32]):
    """Find where the share of each of so many members begins, on one thread; the last number is where it all ends."""
    whole = wp.int64(0)
    for i in range(parameters.count):
        whole += wp.int64(row_cost(i, lists))
    spent = wp.int64(0)
    member = int(1)
    for i in range(parameters.count):
        if i % wp.static(BLOCK) == 0:
            while member < size and spent * wp.int64(size) >= whole * wp.int64(member):
                shares[member] = i
                member += 1
        spent += wp.int64(row_cost(i, lists))
    while member < size:
        shares[member] = parameters.count
        member += 1
