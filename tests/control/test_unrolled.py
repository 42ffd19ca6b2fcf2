"""Networks that are run back: the values of the networks themselves, and rates against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import control
from annelid.core.errors import InvalidValue

ROW = np.array([[-1, 1, -1, -1], [-1, 2, -1, 0], [-1, -1, -1, 1]])
"""Three channels side by side, from west to east."""

NETWORKS = {
    "joint": control.MLP(np.zeros(0), hidden=(4, 3)),
    "biased": control.MLP(np.zeros(0), hidden=(4, 3), bias_all=True, driving=None),
    "shared": control.DistributedMLP(np.zeros(0), signals=2, hidden=(3,), driving=control.Sine()),
    "own": control.DistributedMLP(np.zeros(0), signals=1, hidden=(3,), shared=False),
}


def unrolled(name: str, device: str, worlds: int) -> tuple[control.Unrolled, np.ndarray]:
    network, inputs = NETWORKS[name], [2, 2, 2]
    weights = 0.7 * np.random.default_rng(0).standard_normal((3, network.weights_needed(3, inputs)))[:worlds]
    made: Any = network.with_parameters(weights[0])
    return control.Unrolled(made, 3, inputs, worlds=worlds, device=device, neighbours=ROW), weights


def calls(network: control.Unrolled, weights: np.ndarray, readings: np.ndarray) -> np.ndarray:
    network.begin(weights)
    return np.array([network.act(0.1 * call, one) for call, one in enumerate(readings)])


@pytest.mark.parametrize("name", NETWORKS)
def test_rates_agree_with_differences(name: str, device: str) -> None:
    """Through four calls, in which neighbours hear each other."""
    network, weights = unrolled(name, device, 2)
    rng = np.random.default_rng(1)
    readings, seeds = rng.standard_normal((4, 2, 6)), rng.standard_normal((4, 2, 3))
    calls(network, weights, readings)
    network.turn()
    by_readings = np.array([network.back(seed) for seed in seeds[::-1]])[::-1]
    by_weights = network.rates()
    along = rng.standard_normal(weights.shape), rng.standard_normal(readings.shape)
    for moves, exact in (((along[0], 0.0), by_weights * along[0]), ((0.0, along[1]), by_readings * along[1])):
        ends = [
            (seeds * calls(network, weights + step * moves[0], readings + step * moves[1])).sum()
            for step in (1e-6, -1e-6)
        ]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(exact.sum(), rel=1e-7)


@pytest.mark.parametrize("name", ["joint", "biased"])
def test_values_are_those_of_the_network(name: str, device: str) -> None:
    network, weights = unrolled(name, device, 1)
    readings = np.random.default_rng(1).standard_normal((1, 1, 6))
    found = calls(network, weights, readings)[0, 0]
    plain: Any = NETWORKS[name].with_parameters(weights[0])
    assert found == pytest.approx(plain.act(0.0, readings[0, 0], 3), rel=1e-12)


@pytest.mark.parametrize("name", ["joint", "shared"])
def test_the_same_bits_among_other_worlds(name: str, device: str) -> None:
    readings = np.random.default_rng(1).standard_normal((2, 3, 6))
    found = []
    for worlds in (1, 3):
        network, weights = unrolled(name, device, worlds)
        values = calls(network, weights, readings[:, :worlds])
        network.turn()
        by = [network.back(one) for one in values[::-1]]
        found.append((values[:, 0], by[0][0], by[1][0], network.rates()[0]))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_bad_input() -> None:
    network, weights = unrolled("joint", "cpu", 1)
    with pytest.raises(InvalidValue, match="no call to run back"):
        network.back(np.ones((1, 3)))
    with pytest.raises(InvalidValue, match=r"readings must have shape \[1, 6\], not \[1, 5\]"):
        network.act(0.0, np.ones((1, 5)))
    with pytest.raises(InvalidValue, match="weights are needed"):
        network.begin(weights[0, 1:])
    one_way = np.array([[-1, 1, -1, -1], [-1, -1, -1, -1], [-1, -1, -1, -1]])
    made = NETWORKS["shared"]
    with pytest.raises(InvalidValue, match="those of a grid"):
        control.Unrolled(
            made.with_parameters(np.zeros(made.weights_needed(3, [2, 2, 2]))), 3, [2, 2, 2], device="cpu",
            neighbours=one_way,
        )  # fmt: skip
