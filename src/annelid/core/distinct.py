"""Rows of whole numbers that differ: edges, faces, cells of a grid."""

import math
from typing import Any

import numpy as np

_MOST = 2**62  # rows that a whole number of 64 bits tells apart


def distinct_rows(rows: np.ndarray, **asked: bool) -> Any:
    """The same as `np.unique(rows, axis=0, ...)` of whole numbers, several times as fast.

    Each row becomes one number, whose order is theirs, as long as there are few enough of them.

    Args:
        rows: Whole numbers, shape [n, width].
        asked: `return_index`, `return_inverse` (of shape [n]) and `return_counts` of NumPy.
    """
    wide = rows.astype(np.int64)
    low, high = wide.min(axis=0, initial=0), wide.max(axis=0, initial=0)
    spans = [1 + int(most) - int(least) for least, most in zip(low, high, strict=True)]
    unique: Any = np.unique  # its types know each combination of what may be asked
    if math.prod(spans) >= _MOST:
        return unique(rows, axis=0, **asked)
    keys = np.ravel_multi_index(tuple((wide - low).T), spans)
    found = unique(keys, **asked)
    distinct, *others = found if asked else (found,)
    chosen = (np.column_stack(np.unravel_index(distinct, spans)) + low).astype(rows.dtype)
    return (chosen, *others) if asked else chosen
