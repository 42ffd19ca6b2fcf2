"""What counts as a number where one is asked for."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from annelid import Rollout, springs, voxels
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_count, is_number, is_whole
from annelid.evolve.ea import EA
from annelid.optimise import minimise
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


@pytest.mark.parametrize(
    ("value", "counted"), [(1, True), (10**18, True), (10**18 + 1, False), (10**400, False), (0, False)]
)
def test_what_can_be_counted_to(value: int, counted: bool) -> None:
    assert is_count(value, 1) is counted


def _body() -> springs.Body:
    return springs.block((2, 2, 2), 0.1)


def _still(parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return np.zeros(len(parameters["x"])), parameters


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (lambda n: Rollout(springs.simulation(_body(), device="cpu", threads=1), steps=n), "at most 1e\\+18"),
        (lambda n: Rollout(springs.simulation(_body(), device="cpu", threads=1), 9, every=n), "at most 1e\\+18"),
        (lambda n: minimise(_still, {"x": 1.0}, starts=n), "starts needs about .* of memory"),
        (lambda n: minimise(_still, {"x": 1.0}, starts=n // 10**13), "starts needs about .* of memory"),
        (lambda n: springs.truss(np.eye(3), np.array([[0, n]]), "steel", 0.1), "join two of the 3 points"),
        (lambda n: voxels.simulation(_robot(), substeps=n, device="cpu"), "between 1 and 46340 or None"),
        (lambda n: voxels.simulation(_robot(), dt=n, device="cpu"), "between 1e-15 and 1000 s or 'auto'"),
        (lambda n: voxels.simulation(_robot(), control_interval=n, device="cpu"), "between 0 and 2147483646"),
        (lambda n: EA(sigma=n**20), "sigma of ea must be a finite number"),
    ],
)
def test_whole_numbers_beyond_all_use_are_refused_in_a_sentence(refused: Callable[[int], Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        refused(10**30)


def _robot() -> voxels.Robot:
    return voxels.Robot.from_array(np.ones((2, 2), bool))


def test_whole_numbers_are_as_good_as_floats_where_lengths_are_asked_for() -> None:
    whole, same = springs.block((2, 2, 2), 10**9), springs.block((2, 2, 2), 1e9)
    np.testing.assert_array_equal(whole.volumes, same.volumes)
    np.testing.assert_array_equal(whole.rest_lengths, same.rest_lengths)
    assert EA(sigma=10**30) == EA(sigma=1e30)
    assert isinstance(EA(sigma=1).sigma, float)
