"""The springs as each mass sees them, with equal surroundings stored once.

Every mass walks a *row*: the springs that hold it, each as an offset to the other mass's index with its constants. In a
lattice most masses have the same row, and so do the copies of a robot; a row that many share stays in the cache, and a
step moves little more than the state through memory. Where no two rows are alike they lie in the order of the masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

_WARP = 32


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of half-springs.

    Attributes:
        row_of: Row of each mass, shape [n].
        extents: First entry and number of entries of each row, shape [r, 2].
        stride: Distance between two entries of one row.
        examples: One mass of each row, shape [r].
        offsets: Index of the other mass less one's own, shape [e].
        springs: Index of the spring behind each entry of the example mass, -1 for padding, shape [e].
    """

    row_of: np.ndarray
    extents: np.ndarray
    stride: int
    examples: np.ndarray
    offsets: np.ndarray
    springs: np.ndarray

    def entries(self, spring_values: np.ndarray, dtype: Any) -> np.ndarray:
        """A value of each spring laid out by entries, 0 in the padding, shape [e, ...]."""
        values = np.asarray(spring_values, dtype)
        laid = np.zeros((len(self.springs), *values.shape[1:]), dtype)
        held = self.springs >= 0
        laid[held] = values[self.springs[held]]
        return laid


def compile_rows(
    mass_count: int,
    springs: np.ndarray,
    constants: list[np.ndarray],
    *,
    interleaved: bool,
    fast: np.ndarray | None = None,
) -> Rows:
    """Find the distinct rows of a network.

    Args:
        mass_count: Number of masses.
        springs: The two masses of each spring, shape [s, 2].
        constants: Arrays over the springs that must agree for two rows to be one, each of shape [s].
        interleaved: Lay 32 rows side by side (neighbouring GPU threads then read neighbouring memory), not end to end.
        fast: Whether each spring takes smaller steps: these lie first in their rows, shape [s].
    """
    first, other, spring = half_springs(mass_count, springs)
    if fast is not None:
        order = np.lexsort((other, ~fast[spring], np.repeat(np.arange(mass_count), np.diff(first))))
        other, spring, constants = other[order], spring[order], [*constants, fast]
    offsets = (other - np.repeat(np.arange(mass_count, dtype=np.int32), np.diff(first))).astype(np.int32)
    row_of, examples = _distinct(first, [offsets, *(np.ascontiguousarray(c)[spring] for c in constants)])
    counts = np.diff(first)[examples].astype(np.int32)
    starts, stride, size = _layout(counts, interleaved)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    source = np.repeat(first[examples], counts) + within
    target = np.repeat(starts, counts) + within * stride
    laid_offsets, laid_springs = np.zeros(size, np.int32), np.full(size, -1, np.int32)
    laid_offsets[target], laid_springs[target] = offsets[source], spring[source]
    extents = np.stack([starts, counts], axis=1).astype(np.int32)
    return Rows(row_of.astype(np.int32), extents, stride, examples, laid_offsets, laid_springs)


def half_springs(mass_count: int, springs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half-springs sorted by mass, then by the other mass: where each mass's begin, the other mass, the spring."""
    mine, other = np.concatenate([springs[:, 0], springs[:, 1]]), np.concatenate([springs[:, 1], springs[:, 0]])
    spring = np.tile(np.arange(len(springs), dtype=np.int32), 2)
    table = sparse.csr_array((spring + 1, (mine, other)), shape=(mass_count, mass_count))
    if table.nnz == len(mine):  # sorting through a sparse matrix is several times faster than np.lexsort
        table.sort_indices()
        return table.indptr, table.indices, table.data - 1
    order = np.lexsort((spring, other, mine))  # two springs between the same masses: the matrix has merged them
    first = np.concatenate([[0], np.cumsum(np.bincount(mine, minlength=mass_count))])
    return first, other[order], spring[order]


def _distinct(first: np.ndarray, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows in the order of their first mass: row of each mass, and that first mass of each row."""
    counts = np.diff(first)
    keys = entry_keys(columns)
    sums = np.concatenate([[np.uint64(0)], np.cumsum(keys, dtype=np.uint64)])
    hashes = sums[first[1:]] - sums[first[:-1]] + counts.astype(np.uint64)
    _, example, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    rank = np.empty(len(example), np.int64)
    rank[np.argsort(example)] = np.arange(len(example))
    row_of, examples = rank[inverse], np.sort(example)
    twin = examples[row_of]
    if (counts != counts[twin]).any() or not _same(first, counts, twin, columns):  # two rows with one hash
        return np.arange(len(counts)), np.arange(len(counts))
    return row_of, examples


def _same(first: np.ndarray, counts: np.ndarray, twin: np.ndarray, columns: list[np.ndarray]) -> bool:
    """Whether every mass's entries equal those of its twin."""
    partner = np.repeat(first[twin] - first[:-1], counts) + np.arange(int(first[-1]))
    return all(np.array_equal(column, column[partner]) for column in columns)


def entry_keys(columns: list[np.ndarray]) -> np.ndarray:
    """One 64-bit hash an entry."""
    keys = np.zeros(len(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            bits = column.view(f"u{column.dtype.itemsize}").astype(np.uint64)
            keys = (keys ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
        keys *= np.uint64(0xBF58476D1CE4E5B9)
    return keys ^ (keys >> np.uint64(32))


def _layout(counts: np.ndarray, interleaved: bool) -> tuple[np.ndarray, int, int]:
    """First entry of each row, distance between entries, and room for all of them."""
    if not interleaved:
        ends = np.cumsum(counts)
        return ends - counts, 1, int(ends[-1])
    rows = np.arange(len(counts))
    padded = np.concatenate([counts, np.zeros(-len(counts) % _WARP, counts.dtype)])
    widths = padded.reshape(-1, _WARP).max(axis=1).astype(np.int64) * _WARP
    begins = np.cumsum(widths) - widths
    return begins[rows // _WARP] + rows % _WARP, _WARP, int(widths.sum())
