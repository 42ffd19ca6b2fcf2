"""Banded Cholesky factors against dense ones."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import sparse

from annelid.core.linalg.banded import (
    NotPositiveDefinite,
    band_storage,
    bandwidth,
    factor_band,
    narrow_order,
    places_in,
    solve_band,
)


def banded_matrix(size: int, width: int, seed: int = 0) -> np.ndarray:
    """A random positive definite matrix with this bandwidth."""
    lower = np.tril(np.random.default_rng(seed).standard_normal((size, size)))
    lower[np.subtract.outer(np.arange(size), np.arange(size)) > width] = 0.0
    return lower @ lower.T + size * np.eye(size)


def stored(matrix: np.ndarray, width: int) -> np.ndarray:
    band = band_storage(len(matrix), width)
    for offset in range(width + 1):
        band[: len(matrix) - offset, offset] = np.diagonal(matrix, -offset)
    return band


@pytest.mark.parametrize(("size", "width"), [(1, 0), (5, 4), (40, 3), (150, 20), (200, 130)])
@pytest.mark.parametrize("many", [1, 2, 8])
def test_solves_as_a_dense_matrix_does(size: int, width: int, many: int) -> None:
    matrix = banded_matrix(size, width)
    band = stored(matrix, width)
    factor_band(band)
    right = np.random.default_rng(1).standard_normal((many, size))
    solution = right.copy()
    solve_band(band, solution)
    np.testing.assert_allclose(matrix @ solution.T, right.T, atol=1e-11)


@pytest.mark.parametrize("many", [1, 5])
def test_single_precision(many: int) -> None:
    matrix = banded_matrix(150, 20)
    band = stored(matrix, 20)
    factor_band(band)
    right = np.random.default_rng(1).standard_normal((many, 150))
    solution = right.astype(np.float32)
    solve_band(band.astype(np.float32), solution)
    np.testing.assert_allclose(matrix @ solution.T.astype(float), right.T, atol=1e-4)


def test_indefinite_matrix_is_refused() -> None:
    matrix = banded_matrix(30, 4) - 400.0 * np.eye(30)
    with pytest.raises(NotPositiveDefinite):
        factor_band(stored(matrix, 4))


def test_order_of_a_shuffled_chain_is_narrow() -> None:
    count = 60
    shuffled = np.random.default_rng(2).permutation(count)
    ends = shuffled[:-1], shuffled[1:]
    chain = sparse.coo_array((np.ones(count - 1), ends), shape=(count, count))
    matrix = sparse.csr_array(chain + chain.T)
    points = np.zeros((count, 3))
    points[shuffled, 0] = np.arange(count)
    order = narrow_order(matrix, points)
    assert bandwidth(matrix, order) == 1
    row, column = places_in(matrix, order)
    assert (np.abs(row - column) == 1).all()


def test_two_threads_factor_at_once() -> None:
    matrices = [banded_matrix(300, 60, seed) for seed in range(2)]
    bands = [stored(matrix, 60) for matrix in matrices]
    alone = [band.copy() for band in bands]
    for band in alone:
        factor_band(band)
    threads = [threading.Thread(target=factor_band, args=(band,)) for band in bands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(alone, bands, strict=True))
