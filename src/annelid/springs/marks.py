"""Which springs are behind the bits that mark entries of rows as broken, and which bits belong to springs."""

from __future__ import annotations

import numpy as np

from annelid.springs.network import Network


def broken_springs(network: Network, masks: np.ndarray) -> np.ndarray:
    """The springs behind the broken bits of masses, which both ends of a spring have set, shape [k]."""
    masses = np.flatnonzero(masks)
    rows = network.row_of[masses]
    slots = np.arange(64, dtype=np.uint64)
    which, slot = np.nonzero((masks[masses, None] >> slots) & np.uint64(1))
    entry = network.starts[rows[which]] + slot * network.stride
    mass, other = masses[which], masses[which] + network.offsets[entry]
    once = mass < other
    found = []
    for ids, at in zip(network.springs_between(mass[once], other[once]), np.flatnonzero(once), strict=True):
        same = [
            i for i in ids if all(network.constants[n][i] == network.entries[n][entry[at]] for n in network.entries)
        ]
        found.append(same)
    # Several equal springs between one pair break together; each of their bits finds all of them.
    return np.unique(np.concatenate([np.zeros(0, np.int64), *(np.asarray(ids, np.int64) for ids in found)]))


def places_in_rows(network: Network, index: np.ndarray) -> np.ndarray:
    """Where springs stand in the rows of their first masses, which is the number of the bit that marks them, shape [k].

    Of several equal springs between one pair it is the place of one: they break together.
    """
    mass, other = network.ends[index].T
    rows = network.row_of[mass]
    counts = network.counts[rows]
    place = np.arange(int(counts.max(initial=0)))
    entry = network.starts[rows][:, None] + np.minimum(place, np.maximum(counts[:, None] - 1, 0)) * network.stride
    same = (place < counts[:, None]) & (network.offsets[entry] == (other - mass)[:, None])
    for name, values in network.entries.items():
        same &= values[entry] == network.constants[name][index][:, None]
    return np.asarray(same.argmax(axis=1), np.int32)
