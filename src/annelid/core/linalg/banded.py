"""Cholesky factors of symmetric banded matrices, by LAPACK and BLAS without the interpreter lock.

LAPACK's own solution takes right-hand sides one by one. Here a column of the band is padded by a panel's width, so that
every panel is a plain rectangle for BLAS, and eight right-hand sides cost half as much. Calls go through SciPy's table
of functions by pointer, so that another thread can compute meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from annelid.core.linalg.blas import one_thread, routine

PANEL = 64
"""Columns that are solved for at once."""
_SEVERAL = 3  # right-hand sides from which on panels are faster than one after the other


class NotPositiveDefinite(ArithmeticError):
    """A matrix has an eigenvalue that is not above 0."""


def narrow_order(matrix: Any, points: np.ndarray) -> np.ndarray:
    """An order of the unknowns with a narrow band.

    Args:
        matrix: Symmetric sparse matrix, shape [d, d].
        points: Where each unknown is [m], shape [d, 3].
    """
    keys = [np.lexsort((points[:, (axis + 2) % 3], points[:, (axis + 1) % 3], points[:, axis])) for axis in range(3)]
    orders = [*keys, reverse_cuthill_mckee(sparse.csr_array(matrix), symmetric_mode=True)]
    return min(orders, key=lambda order: bandwidth(matrix, order))


def places_in(matrix: Any, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """New row and column of every entry of a sparse matrix."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    entries = matrix.tocoo()
    return place[entries.row], place[entries.col]


def bandwidth(matrix: Any, order: np.ndarray) -> int:
    """Largest distance of an entry from the diagonal in this order."""
    row, column = places_in(matrix, order)
    return int(np.abs(row - column).max(initial=0))


def band_storage(size: int, width: int) -> np.ndarray:
    """Zeros for a band: entry (i, j), j <= i <= j + width, is at [j, i - j]; shape [size, width + PANEL]."""
    return np.zeros((size, width + PANEL))


def factor_band(band: np.ndarray) -> None:
    """Replace the lower half of a symmetric matrix in band storage by its Cholesky factor."""
    size, stride = band.shape
    info = ctypes.c_int(0)
    with one_thread():
        routine("lapack", "dpbtrf")(
            b"L", _int(size), _int(stride - PANEL), _at(band, 0, 0), _int(stride), ctypes.byref(info)
        )
    if info.value != 0:
        raise NotPositiveDefinite


def solve_band(factor: np.ndarray, right: np.ndarray) -> None:
    """Replace right-hand sides, shape [k, size], by the solutions; both float64, or both rounded to float32."""
    if len(right) < _SEVERAL:
        _solve_one_by_one(factor, right)
        return
    size, stride = factor.shape
    with one_thread():
        panels = list(_panels(size, stride - PANEL))
        for column, count, below in panels:
            _solve_panel(factor, right, column, count, b"N")
            if below:
                _multiply(factor, right, column, count, below, b"N")
        for column, count, below in reversed(panels):
            if below:
                _multiply(factor, right, column, count, below, b"T")
            _solve_panel(factor, right, column, count, b"T")


def _solve_one_by_one(factor: np.ndarray, right: np.ndarray) -> None:
    size, stride = factor.shape
    info = ctypes.c_int(0)
    with one_thread():
        routine("lapack", _typed(factor, "pbtrs"))(
            b"L", _int(size), _int(stride - PANEL), _int(len(right)), _at(factor, 0, 0), _int(stride),
            _at(right, 0, 0), _int(size), ctypes.byref(info),
        )  # fmt: skip


def _panels(size: int, width: int) -> Iterator[tuple[int, int, int]]:
    """First column and number of columns of each panel, and how many rows it has below its square."""
    for column in range(0, size, PANEL):
        count = min(PANEL, size - column)
        yield column, count, min(width, size - column - count)


def _solve_panel(factor: np.ndarray, right: np.ndarray, column: int, count: int, way: bytes) -> None:
    lead, many = factor.shape[1] - 1, len(right)
    routine("blas", _typed(factor, "trsm"))(
        b"L", b"L", way, b"N", _int(count), _int(many), _real(factor, 1.0), _at(factor, column, 0), _int(lead),
        _at(right, 0, column), _int(right.shape[1]),
    )  # fmt: skip


def _multiply(factor: np.ndarray, right: np.ndarray, column: int, count: int, below: int, way: bytes) -> None:
    """Take the solved part out of what is still to solve."""
    panel, here, there = _at(factor, column, count), _at(right, 0, column), _at(right, 0, column + count)
    forward = way == b"N"
    rows, inner = (below, count) if forward else (count, below)
    source, target = (here, there) if forward else (there, here)
    lead, tall = _int(factor.shape[1] - 1), _int(right.shape[1])
    routine("blas", _typed(factor, "gemm"))(
        way, b"N", _int(rows), _int(len(right)), _int(inner), _real(factor, -1.0), panel, lead, source, tall,
        _real(factor, 1.0), target, tall,
    )  # fmt: skip


def _at(array: np.ndarray, row: int, column: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data + array.itemsize * (row * array.shape[1] + column))


def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _real(like: np.ndarray, value: float) -> Any:
    return ctypes.byref(ctypes.c_double(value) if like.itemsize == 8 else ctypes.c_float(value))


def _typed(like: np.ndarray, name: str) -> str:
    """The routine for the precision of an array."""
    return ("d" if like.itemsize == 8 else "s") + name
