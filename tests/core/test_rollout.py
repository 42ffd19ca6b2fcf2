"""How rollouts divide motions and read parameters, whatever the physics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid.core.adjoint import Input, Plan, differentiable, reduced
from annelid.core.errors import InvalidValue, Unsupported


@pytest.mark.parametrize(("steps", "every"), [(1, 1), (10, 3), (10, 10), (12, 4), (100, 7)])
def test_stretches_cover_the_motion(steps: int, every: int) -> None:
    plan = Plan(steps, every, np.array([steps]))
    ends = [stretch.first + stretch.count for stretch in plan.stretches]
    assert [stretch.first for stretch in plan.stretches] == [0, *ends[:-1]]
    assert ends[-1] == steps
    assert [stretch.last for stretch in plan.stretches] == [False] * (plan.checkpoints - 1) + [True]
    assert max(stretch.count for stretch in plan.stretches) == plan.stretches[-1].count <= every


def test_looks_have_rows() -> None:
    assert Plan(5, 2, np.array([2, 5])).rows.tolist() == [-1, -1, 0, -1, -1, 1]


def numbers(**options: Any) -> Input:
    return Input("gain", ("world", "mass"), np.ones((2, 3)), unit="kg", **options)


@pytest.mark.parametrize("given", [2.0, [1.0, 2.0, 3.0], [[1.0], [2.0]], np.ones((2, 3))])
def test_rates_have_the_shape_that_was_given(given: Any) -> None:
    """The rate by what was given is the sum of those by what it was broadcast to."""
    one, full = numbers(), np.arange(6.0).reshape(2, 3)
    assert one.fitted(given).shape == (2, 3)
    found = reduced(full, np.shape(given))
    assert found.shape == np.shape(given)
    assert (found * np.asarray(given)).sum() == pytest.approx((full * one.fitted(given)).sum())


def test_an_axis_of_any_length() -> None:
    table = Input("controls", ("world", "interval", "control"), np.ones((2, 1, 3)), free=1)
    assert table.fitted(1.0).shape == (2, 1, 3)
    assert table.fitted(np.ones((7, 3))).shape == (2, 7, 3)
    assert table.described == "[2 worlds, any number of intervals, 3 controls]"


@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        ({"idle": "it has no masses"}, 1.0, "'gain' feeds nothing here: it has no masses"),
        ({"positive": True}, 0.0, "cannot be 0: it must be above 0 kg"),
        ({"low": 0.0, "high": 2.0}, 3.0, "cannot be 3: it must be between 0 and 2 kg"),
        ({"low": 0.0}, -1.0, "must be 0 kg or more"),
        ({}, np.nan, "cannot be nan: it must be finite"),
        ({}, "much", "must be given as numbers"),
        ({}, np.ones(4), "which does not broadcast to \\[2 worlds, 3 masses\\]"),
    ],
)
def test_values_that_cannot_be_used(options: dict[str, Any], given: Any, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        numbers(**options).fitted(given)


def test_a_physics_without_adjoint() -> None:
    class Sand:
        physics = "grains"

    sand: Any = Sand()
    with pytest.raises(Unsupported, match="a simulation of grains cannot be run back for gradients"):
        differentiable(sand)
