"""Direct solution of the symmetric, positive definite systems of spring networks: a banded Cholesky factorisation.

Most bodies are longer than they are thick, and a good order of the unknowns leaves a narrow band around the diagonal,
which LAPACK factorises several times faster than a general sparse solver does.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

_LARGEST_BAND = 150_000_000  # entries, 1.2 GB; a general sparse solver takes over beyond


class NotPositiveDefinite(ArithmeticError):
    """A matrix has an eigenvalue that is not above 0."""


def narrow_order(matrix: sparse.csc_array, points: np.ndarray) -> np.ndarray:
    """An order of the unknowns with a narrow band.

    Args:
        matrix: Symmetric matrix, shape [d, d].
        points: Where each unknown is [m], shape [d, 3].
    """
    keys = [np.lexsort((points[:, (axis + 2) % 3], points[:, (axis + 1) % 3], points[:, axis])) for axis in range(3)]
    orders = [*keys, reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True)]
    return min(orders, key=lambda order: _bandwidth(matrix, order))


class Factors:
    """Factors of a matrix, to solve with many right-hand sides.

    Args:
        matrix: Symmetric, positive definite matrix, shape [d, d]; any other raises `NotPositiveDefinite`.
        order: Order of the unknowns, from `narrow_order`.
    """

    def __init__(self, matrix: sparse.csc_array, order: np.ndarray) -> None:
        self._order = order
        size, width = matrix.shape[0], _bandwidth(matrix, order)
        self._band: np.ndarray | None = None
        if size * (width + 1) <= _LARGEST_BAND:
            self._band = self._cholesky(matrix, size, width)
        else:
            self._general = splu(matrix, permc_spec="COLAMD", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
            if not (self._general.U.diagonal() > 0.0).all():
                raise NotPositiveDefinite

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solution for a right-hand side, shape [d] or [d, m]."""
        if self._band is None:
            return np.asarray(self._general.solve(right))
        result = np.empty_like(right, dtype=float)
        with _one_thread():
            result[self._order] = cho_solve_banded((self._band, True), right[self._order], check_finite=False)
        return result

    def _cholesky(self, matrix: sparse.csc_array, size: int, width: int) -> np.ndarray:
        row, column = _places(matrix, self._order)
        lower = row >= column
        band = np.zeros((width + 1, size), order="F")
        band[row[lower] - column[lower], column[lower]] = matrix.tocoo().data[lower]
        try:
            with _one_thread():
                return np.asarray(cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False))
        except LinAlgError:
            raise NotPositiveDefinite from None


def _one_thread() -> AbstractContextManager[Any]:
    """BLAS on one thread: the blocks of a band are so small that threads wait for each other most of the time."""
    controller = _blas()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@functools.cache
def _blas() -> Any:
    try:
        return import_module("threadpoolctl").ThreadpoolController()
    except ImportError:  # slower on a busy machine, no more than that
        return None


def _places(matrix: sparse.csc_array, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """New row and column of every entry."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    entries = matrix.tocoo()
    return place[entries.row], place[entries.col]


def _bandwidth(matrix: sparse.csc_array, order: np.ndarray) -> int:
    row, column = _places(matrix, order)
    return int(np.abs(row - column).max(initial=0))
