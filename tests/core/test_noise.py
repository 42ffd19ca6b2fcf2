"""Noise of sensors: as large as it was asked for, and the same for a world alone and among others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import Uniform, springs
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation


def body_of(worlds: int, device: str, **noises: float) -> Simulation[Any]:
    """A block at rest, without gravity, with a sensor for each noise."""
    block = springs.block((2, 2, 2), 0.1)
    simulation = springs.simulation(block, dt=1e-4, gravity=(0.0, 0.0, 0.0), worlds=worlds, device=device)
    for name, noise in noises.items():
        simulation.sensors.add(name, springs.position_of(), noise=noise)
    return simulation


def test_noise_is_normal_and_as_large_as_asked_for(device: str) -> None:
    count = 2000
    noise = body_of(count, device, tip=0.02).sensors["tip"] - 0.05
    assert abs(noise.mean()) < 5 * 0.02 / np.sqrt(noise.size)
    np.testing.assert_allclose(noise.std(axis=0), 0.02, rtol=5 / np.sqrt(2 * count))
    assert abs(np.corrcoef(noise.T)[np.triu_indices(3, 1)]).max() < 5 / np.sqrt(count)
    kurtosis = (noise**4).mean() / noise.var() ** 2
    assert abs(kurtosis - 3.0) < 5 * np.sqrt(24 / noise.size)


def test_noise_is_new_at_each_step_and_the_same_again(device: str) -> None:
    simulation = body_of(2, device, tip=0.1)
    first = simulation.sensors["tip"]
    np.testing.assert_array_equal(first, simulation.sensors["tip"])
    np.testing.assert_array_equal(first, simulation.sensors.read().numpy())
    simulation.step(1)
    assert not np.isclose(first, simulation.sensors["tip"]).any()
    simulation.reset()
    np.testing.assert_array_equal(first, simulation.sensors["tip"])


def test_a_world_has_the_same_noise_alone_and_among_others(device: str) -> None:
    many, alone = body_of(4, device, tip=0.1), body_of(1, device, tip=0.1)
    many.sensors.seed(7)
    alone.sensors.seed([9])
    many.step(5)
    many.reset(worlds=[2])
    for simulation in (many, alone):
        simulation.step(3)
    np.testing.assert_array_equal(many.sensors["tip"][2], alone.sensors["tip"][0])
    assert not np.isclose(many.sensors["tip"][1], many.sensors["tip"][2]).any()


def test_noise_of_a_sensor_depends_on_no_other(device: str) -> None:
    one, two = body_of(2, device, tip=0.1), body_of(2, device, other=0.1, tip=0.1)
    np.testing.assert_array_equal(one.sensors["tip"], two.sensors["tip"])
    assert not np.isclose(two.sensors["other"], two.sensors["tip"]).any()
    two.sensors.remove("other")
    np.testing.assert_array_equal(one.sensors.read().numpy(), two.sensors.read().numpy())


def test_sensors_say_how_noisy_they_are() -> None:
    assert dict(body_of(1, "cpu", tip=0.1, exact=0.0).sensors.facts()) == {"tip": "3 m ± 0.1", "exact": "3 m"}


@pytest.mark.parametrize("noise", [-1.0, np.nan, np.inf, "loud", True])
def test_noise_that_is_none_is_refused(noise: Any) -> None:
    with pytest.raises(InvalidValue, match="noise of sensor 'tip' must be a standard deviation of 0 or more"):
        body_of(1, "cpu", tip=noise)


@pytest.mark.parametrize("seeds", [0.5, [1, 2, 3], "many", np.nan])
def test_seeds_that_are_none_are_refused(seeds: Any) -> None:
    with pytest.raises(InvalidValue, match="seeds of sensors must be"):
        body_of(2, "cpu").sensors.seed(seeds)


def test_worlds_may_differ_in_noise(device: str) -> None:
    """Each world has its share of noise, alone as among others, and draws it when it begins again."""
    plain, varied = body_of(3, device, tip=0.02), body_of(3, device, tip=0.02)
    varied.parameters["noise"] = [1.0, 0.0, 2.5]
    noise = plain.sensors["tip"] - 0.05
    np.testing.assert_allclose(varied.sensors["tip"] - 0.05, [noise[0], 0.0 * noise[1], 2.5 * noise[2]], atol=1e-7)
    np.testing.assert_array_equal(varied.sensors["tip"][0], plain.sensors["tip"][0])
    alone = body_of(1, device, tip=0.02)
    alone.sensors.seed([2])
    alone.parameters["noise"] = 2.5
    np.testing.assert_array_equal(varied.sensors["tip"][2], alone.sensors["tip"][0])
    varied.parameters.randomise({"noise": Uniform(0.5, 2.0)})
    drawn = varied.parameters["noise"]
    varied.reset([1])
    assert (varied.parameters["noise"] != drawn).tolist() == [False, True, False]


def test_a_factor_on_no_noise_is_refused() -> None:
    silent = body_of(2, "cpu", tip=0.0)
    with pytest.raises(InvalidValue, match="none has any: add one first"):
        silent.parameters.randomise({"noise": Uniform(0.5, 2.0)})
    assert not silent.state.variation.there
    silent.sensors.add("loud", springs.velocity_of(), noise=1.0)
    silent.parameters["noise"] = 2.0
