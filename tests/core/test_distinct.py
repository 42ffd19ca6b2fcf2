"""Rows of whole numbers that differ, as NumPy finds them."""

from typing import Any

import numpy as np
import pytest

from annelid.core.distinct import distinct_rows

ALL: dict[str, Any] = {"return_index": True, "return_inverse": True, "return_counts": True}


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, np.uint32])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_what_numpy_finds(kind: type, width: int) -> None:
    generator = np.random.default_rng(width)
    low = 0 if np.dtype(kind).kind == "u" else -9
    rows = generator.integers(low, 12, (500, width)).astype(kind)
    found, wanted = distinct_rows(rows, **ALL), np.unique(rows, axis=0, **ALL)
    assert found[0].dtype == kind
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other.reshape(one.shape))
    np.testing.assert_array_equal(distinct_rows(rows), wanted[0])


def test_rows_of_numbers_that_are_far_apart() -> None:
    for far in (2**40, 2**62 + 2**61):
        rows = np.array([[far, -far, 3], [0, 1, 2], [far, -far, 3]])
        np.testing.assert_array_equal(distinct_rows(rows), rows[[1, 0]])


def test_no_rows() -> None:
    found, inverse = distinct_rows(np.zeros((0, 2), np.int32), return_inverse=True)
    assert found.shape == (0, 2)
    assert len(inverse) == 0
