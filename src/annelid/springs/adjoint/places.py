"""Where the rates by springs are booked: see `kernels.ledger`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.springs.rows import half_springs

_CHUNK = 64  # springs whose rates by the factor of their signal are summed by one thread


@dataclass(frozen=True, eq=False)
class Places:
    """Places of the half-springs of all masses.

    Attributes:
        width: Masses that lie side by side.
        first: First place of each group of masses, and the end of the last one, shape [groups + 1].
        count: Number of places.
        first_owned: First place of each group at which some mass owns its spring; none before it is read.
        of_springs: Place of each spring at its owner, shape [s].
    """

    width: int
    first: np.ndarray
    first_owned: np.ndarray
    count: int
    of_springs: np.ndarray


def places_of(mass_count: int, springs: np.ndarray, width: int) -> Places:
    """Places where `width` masses lie side by side."""
    first, other, spring = half_springs(mass_count, springs)
    counts = np.diff(first)
    groups = -(-mass_count // width)
    padded = np.concatenate([counts, np.zeros(groups * width - mass_count, counts.dtype)])
    sizes = padded.reshape(groups, width).max(axis=1).astype(np.int64) * width
    begins = np.cumsum(sizes) - sizes
    mine = np.repeat(np.arange(mass_count), counts)
    slot = np.arange(len(mine)) - first[mine]
    place = begins[mine // width] + slot * width + mine % width
    owned = other > mine
    of_springs = np.zeros(len(springs), np.int32)
    of_springs[spring[owned]] = place[owned]
    first_owned = begins + sizes
    np.minimum.at(first_owned, mine[owned] // width, place[owned] - mine[owned] % width)
    ends = np.append(begins, sizes.sum()).astype(np.int32)
    return Places(width, ends, first_owned.astype(np.int32), int(sizes.sum()), of_springs)


@dataclass(frozen=True, eq=False)
class Chunks:
    """Springs by the signal that they follow, in chunks.

    Attributes:
        table: Signal, first and last + 1 of the members of each chunk, shape [c, 3].
        first: First chunk of each signal, shape [signals + 1].
        members: Springs of one world, signal by signal, shape [m].
    """

    table: np.ndarray
    first: np.ndarray
    members: np.ndarray


def chunks_of(signal_of: np.ndarray, signal_count: int) -> Chunks:
    """Chunks of the springs of one world; passive springs, of signal 0, are in none."""
    members = np.argsort(signal_of, kind="stable")
    members = members[signal_of[members] > 0]
    counts = np.bincount(signal_of[members], minlength=signal_count)
    begins = np.cumsum(counts) - counts
    each = -(-counts // _CHUNK)
    signal = np.repeat(np.arange(signal_count), each)
    within = np.arange(len(signal)) - np.repeat(np.cumsum(each) - each, each)
    low = begins[signal] + within * _CHUNK
    high = np.minimum(low + _CHUNK, begins[signal] + counts[signal])
    table = np.stack([signal, low, high], axis=1).astype(np.int32)
    return Chunks(table, np.append(0, np.cumsum(each)).astype(np.int32), members)
