"""What counts as a number where one is asked for."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number, is_whole
from annelid.shapes import Furrow, Surface


@pytest.mark.parametrize("value", [0, -1.5, np.float32(2.0), np.int64(3), Fraction(1, 3)])
def test_numbers(value: Any) -> None:
    assert is_number(value)


@pytest.mark.parametrize(
    "value", [True, False, np.bool_(True), float("nan"), float("inf"), 10**400, "1", None, [1.0], 1j]
)
def test_no_numbers(value: Any) -> None:
    assert not is_number(value)


def test_truth_values_are_refused_where_a_number_is_asked_for() -> None:
    truth: Any = True
    with pytest.raises(InvalidValue, match="friction of a surface must be a number of 0 or more, not True"):
        Surface(friction=truth)
    with pytest.raises(InvalidValue, match="repose.* not True"):
        Furrow(friction_way=0.01, repose=truth)


@pytest.mark.parametrize("value", [1, 7, np.int64(3), 10**400])
def test_whole_numbers(value: Any) -> None:
    assert is_whole(value, 1)


@pytest.mark.parametrize("value", [0, -1, 2.0, 2.5, True, np.bool_(True), float("nan"), "1", None, [1]])
def test_no_whole_numbers_of_1_or_more(value: Any) -> None:
    assert not is_whole(value, 1)
