"""Direct solution of the symmetric, positive definite systems of spring networks: a banded Cholesky factorisation.

Most bodies are longer than they are thick, and a good order of the unknowns leaves a narrow band around the diagonal,
which LAPACK factorises several times faster than a general sparse solver does.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from annelid.core.linalg.banded import (
    NotPositiveDefinite,
    band_storage,
    bandwidth,
    factor_band,
    narrow_order,
    places_in,
    solve_band,
)

__all__ = ["Factors", "NotPositiveDefinite", "narrow_order"]

_LARGEST_BAND = 150_000_000  # entries, 1.2 GB; a general sparse solver takes over beyond


class Factors:
    """Factors of a matrix, to solve with many right-hand sides.

    Args:
        matrix: Symmetric, positive definite matrix, shape [d, d]; any other raises `NotPositiveDefinite`.
        order: Order of the unknowns, from `narrow_order`.
    """

    def __init__(self, matrix: sparse.csc_array, order: np.ndarray) -> None:
        self._order = order
        size, width = matrix.shape[0], bandwidth(matrix, order)
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
        several = np.ascontiguousarray(right[self._order].reshape(len(right), -1).T, float)
        solve_band(self._band, several)
        result = np.empty_like(right, dtype=float)
        result[self._order] = several.T.reshape(right.shape)
        return result

    def _cholesky(self, matrix: sparse.csc_array, size: int, width: int) -> np.ndarray:
        row, column = places_in(matrix, self._order)
        lower = row >= column
        band = band_storage(size, width)
        band[column[lower], row[lower] - column[lower]] = matrix.tocoo().data[lower]
        factor_band(band)
        return band
