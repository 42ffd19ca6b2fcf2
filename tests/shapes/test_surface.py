"""What two surfaces make of their values: one rule, on the host and on the device."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid.shapes import Surface
from annelid.shapes.kernels import surfaces
from annelid.shapes.surface import friction_between, mixed, stated


@wp.kernel
def mix_all(one: wp.array[Any], other: wp.array[Any], out: wp.array[Any]):
    """Mix pairs of values."""
    i = wp.tid()
    out[i] = surfaces.mixed(one[i], other[i])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(0.4, 0.9, 0.6), (None, 0.9, 0.9), (0.4, None, 0.4), (None, None, 0.5), (0.0, None, 0.0), (0.0, 0.9, 0.0)],
)
def test_what_one_states_counts_and_of_what_both_state_the_geometric_mean(
    one: float | None, other: float | None, expected: float
) -> None:
    assert friction_between(Surface(friction=one), Surface(friction=other)) == pytest.approx(expected, abs=1e-15)


def test_a_friction_of_sliding_alone_is_that_of_resting_too() -> None:
    assert Surface(sliding_friction=0.3).frictions == (0.3, 0.3)
    assert Surface(friction=0.5, sliding_friction=0.3).frictions == (0.5, 0.3)
    assert mixed(Surface().frictions, (0.5, 0.3)).tolist() == [0.5, 0.3]


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("default", [0.0, 0.5])
def test_the_device_mixes_as_the_host_does(dtype: Any, default: float) -> None:
    values = [None, 0.0, 0.2, 1.0, 100.0]
    pairs = np.array([[stated(each, default) for each in pair] for pair in itertools.product(values, values)])
    one, other = (wp.array(column, dtype=dtype, device="cpu") for column in pairs.T)
    found = wp.zeros(len(pairs), dtype=dtype, device="cpu")
    wp.launch(mix_all, len(pairs), [one, other], [found], device="cpu")
    np.testing.assert_allclose(found.numpy(), mixed(*pairs.T), rtol=1e-6, atol=1e-15)
    for (a, b), value in zip(itertools.product(values, values), found.numpy(), strict=True):
        both = [each for each in (a, b) if each is not None] or [default]
        assert value == pytest.approx(math.prod(both) ** (1.0 / len(both)), rel=1e-6, abs=1e-15)
