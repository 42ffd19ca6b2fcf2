"""Which rows each member of a team of CPU threads takes: as much work each, not as many rows.

Rows of guests that touch nothing cost next to nothing, and lie together. A member that is done with its share helps
others with theirs, since cores are not equally fast and have other things to do. No result depends on who takes a row.
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


ROWS = 64
"""Rows that a member takes at a time."""

SWEEPING, MOVING, LISTING, IN_TURN = range(4)
"""What members do with rows, each with counters of their own: sweep, move, list; sweep in one of three turns."""

_USES = IN_TURN + 3
_LINE = 16  # numbers in a line of memory: no two members count in the same


def new_claims(members: int) -> wp.array[wp.int32]:
    """Counters of what was taken of each share, for each use of rows."""
    return wp.zeros(_USES * members * _LINE, dtype=wp.int32, device="cpu")


@wp.func_native(
    """
#if !defined(__CUDA_ARCH__)
    return __atomic_fetch_add(claims.data + at, 1, __ATOMIC_RELAXED);
#else
    return 0;
#endif
"""
)
def _claimed(claims: wp.array[wp.int32], at: int) -> int: ...


@wp.func
def next_rows(use: int, rank: int, size: int, shares: wp.array[wp.int32], claims: wp.array[wp.int32]) -> wp.vec2i:
    """First and last + 1 of the next rows for a member, of its own share, then of others; equal once all are taken."""
    for ahead in range(size):
        member = (rank + ahead) % size
        low = shares[member] + wp.static(ROWS) * _claimed(claims, (use * size + member) * wp.static(_LINE))
        if low < shares[member + 1]:
            return wp.vec2i(low, wp.min(low + wp.static(ROWS), shares[member + 1]))
    return wp.vec2i(0, 0)


@wp.func
def forget_claims(use: int, size: int, claims: wp.array[wp.int32]):
    """Make counters ready for the next time that rows are used so, on one thread while none does."""
    for member in range(size):
        claims[(use * size + member) * wp.static(_LINE)] = 0


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
