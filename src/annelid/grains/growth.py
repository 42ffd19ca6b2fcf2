"""Lists that have become too short: nothing that they held is lost, on neither side of a contact."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import warp as wp

from annelid.core.state import declared, state_arrays
from annelid.grains.kernels.layout import BODY_OVERFLOW, GROUP, HALTED, OVERFLOW, STALE
from annelid.grains.state import State

_MIRRORED = ("impulses", "rollings")  # opposite on the two sides of a contact
_MADE_ANEW = ("touched",)  # with the lists of bodies, at the next step


def rounded_room(places: int) -> int:
    """Room of a list of neighbours that holds so many."""
    return -(-places // GROUP) * GROUP


def grow_lists(state: State, count: int, sizes: Mapping[str, int]) -> None:
    """Replace the arrays of a state that grow by longer ones, and let its lists be made anew.

    Args:
        state: The state.
        count: Number of grains.
        sizes: How many there are of each kind of thing that rows belong to, from now on.
    """
    growing = {name: one for name, one in declared(type(state)).items() if one.grows}
    room = len(state.neighbours) // count
    longer = len(state.neighbours) < sizes["place"]
    wide: dict[str, np.ndarray] = {}
    vectors: dict[str, tuple[int, ...]] = {}  # shape of an element
    arrays = state_arrays(state)
    for name, one in growing.items():
        old = arrays[name]
        new = wp.zeros(sizes[one.of] * one.each, dtype=old.dtype, device=old.device)
        setattr(state, name, new)
        arrays[name] = new
        if len(new) and name not in _MADE_ANEW:
            rows = old.numpy()
            vectors[name] = rows.shape[1:]
            wide[name] = widened(rows.reshape(count, -1), len(new) * math.prod(vectors[name]) // count)
    if longer:
        counts = state.counts.numpy().copy()
        mend(counts[:, 0], wide["neighbours"], [wide[name] for name in _MIRRORED if name in wide], room)
        state.counts.assign(counts)
    for name, values in wide.items():
        arrays[name].assign(values.reshape(-1, *vectors[name]))
    flags = state.flags.numpy().copy()
    flags[[OVERFLOW, BODY_OVERFLOW, HALTED]] = 0
    flags[STALE] = 1
    state.flags.assign(flags)


def widened(rows: np.ndarray, size: int) -> np.ndarray:
    """Rows with room for more at their ends, shape [n, size]."""
    wide = np.zeros((len(rows), size), rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide


def mend(counts: np.ndarray, neighbours: np.ndarray, memories: list[np.ndarray], room: int) -> None:
    """Complete lists that were cut off, in place: who is in the list of a neighbour has that neighbour in its own.

    A contact that one side forgot and the other did not would push one of them only.

    Args:
        counts: Lengths of the lists, with ghosts that fill up groups, shape [n].
        neighbours: The lists, shape [n, places], with room for all that were cut off; n is a ghost.
        memories: What contacts remember, groups of x, y, z, opposite on the two sides, each of shape [n, 3 places].
        room: Places that the lists had: those that were cut off are full.
    """
    n, places = neighbours.shape
    listed = (np.arange(places) < counts[:, None]) & (neighbours < n)
    full = np.append(counts >= room, False)  # a ghost's is not
    own, slot = np.nonzero(listed & full[neighbours])
    other = neighbours[own, slot].astype(np.int64)
    keeper, place = np.nonzero(listed & full[:n, None])
    alone = ~np.isin(other * n + own, keeper * np.int64(n) + neighbours[keeper, place])
    own, slot, other = own[alone], slot[alone], other[alone]
    order = np.argsort(other, kind="stable")
    own, slot, other = own[order], slot[order], other[order]
    rank = np.arange(len(other)) - np.searchsorted(other, other)
    at = listed.sum(axis=1)[other] + rank
    fits = at < places
    own, slot, other, at = own[fits], slot[fits], other[fits], at[fits]
    neighbours[other, at] = own
    for memory in memories:
        groups = memory.reshape(n, places // GROUP, 3, GROUP)
        groups[other, at // GROUP, :, at % GROUP] = -groups[own, slot // GROUP, :, slot % GROUP]
    lengths = listed.sum(axis=1)
    np.maximum.at(lengths, other, at + 1)
    counts[:] = -(-lengths // GROUP) * GROUP
    neighbours[(np.arange(places) >= lengths[:, None]) & (np.arange(places) < counts[:, None])] = n
