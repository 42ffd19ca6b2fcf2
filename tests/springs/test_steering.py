"""Motions put together of several, and steered by networks of `control`: gradients, bits, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Rollout, Simulation, Travel, control, springs
from annelid.core.errors import InvalidValue

from .crawlers import crawling, mixed

NETWORK = control.MLP(np.random.default_rng(4).standard_normal(49), hidden=(4,), bias_all=True)
OWN = {"stiffness_factor": 1.0, "velocity_damping": 5.0}


def sighted(**options: Any) -> Simulation[springs.Solver]:
    simulation = crawling(**options)
    simulation.sensors.add("places", [springs.position_of([0]), springs.position_of([5, 6])])
    simulation.sensors.add("speed", springs.velocity_of([9, 10, 11]))
    return simulation


def steered(intervals: int = 4, **options: Any) -> control.SteeredRollout:
    return control.SteeredRollout(sighted(**options), NETWORK, every=5e-3, intervals=intervals)


def test_a_motion_of_several_is_one_motion(device: str) -> None:
    """Waves go on, and rates by the beginning and by commands are those of the whole."""
    table = 1.0 + 0.1 * np.sin(np.arange(4.0))[:, None]
    whole, part = Rollout(crawling(device=device), 40, looks=10), Rollout(crawling(device=device), 10)
    track = whole.forward({"controls": table, "velocity_damping": 5.0, "stiffness_factor": 1.0})
    rates = whole.backward(seeds := np.random.default_rng(0).standard_normal(track.shape))
    here, given = {}, []
    for number, row in enumerate(table):
        given.append({"controls": row[None], **OWN, **here})
        seen = part.forward(given[-1], after=10 * number)
        assert np.array_equal(seen.positions[0], track.positions[number])
        here = {"positions": seen.positions[0], "velocities": seen.velocities[0]}
    carried = {"positions": 0.0, "velocities": 0.0}
    for number in reversed(range(4)):
        if number == 0:
            given[0] |= {name: part.value(name) for name in carried}
        part.forward(given[number], after=10 * number)
        found = part.backward({**carried, "positions": carried["positions"] + seeds[number][None]})
        carried = {name: found[name] for name in carried}
        assert np.allclose(found["controls"], rates["controls"][number], rtol=1e-9)


def test_rates_agree_with_differences(device: str) -> None:
    motion, rng = steered(device=device), np.random.default_rng(1)
    given: dict[str, Any] = {**OWN, "velocities": motion.rollout.value("velocities")[0]}
    weights = np.array(NETWORK.parameters)
    _, rates = motion.gradient(mixed, weights, given)
    for name in ("weights", "stiffness_factor", "velocities"):
        point = weights if name == "weights" else given[name]
        assert np.shape(rates[name]) == np.shape(point)
        along, ends = rng.standard_normal(np.shape(point)), []
        for step in (1e-6, -1e-6):
            moved = {"weights": weights, **given, name: point + step * along}
            ends.append(mixed(motion.forward(moved.pop("weights"), moved))[0][0])
        exact = float((rates[name] * along).sum())
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(exact, rel=1e-6), name


def test_the_same_bits_among_other_worlds(device: str) -> None:
    found = []
    for worlds in (1, 3):
        motion = steered(2, device=device, precision="float32", worlds=worlds)
        weights = np.tile(NETWORK.parameters, (worlds, 1))
        own = {"stiffness_factor": np.ones((worlds, 1)), "velocity_damping": np.full(worlds, 5.0)}
        found.append(motion.gradient(Travel("x"), weights, own))
    (value, rates), (values, every) = found
    assert np.array_equal(values, np.tile(value, 3))
    for name in rates:
        assert np.array_equal(every[name], np.repeat(rates[name], 3, axis=0)), name


def test_it_is_the_motion_of_a_connected_controller(device: str) -> None:
    plain = sighted(device=device, dashpots="growing")
    control.connect(plain, NETWORK, every=5e-3)
    plain.step(40)
    track = steered(device=device).forward(NETWORK.parameters)
    assert track.steps.tolist() == [10, 20, 30, 40]
    assert track.positions[-1, 0] == pytest.approx(plain.solver.readout.positions(plain.state), abs=1e-7)


def test_bad_input() -> None:
    simulation = sighted(device="cpu")
    simulation.sensors.add("turn", springs.orientation_of([0, 1, 5, 20]))
    simulation.sensors.add("rough", springs.position_of([0]), noise=0.1)
    motion = steered(device="cpu")
    talking = control.DistributedMLP(np.zeros(1), signals=1)

    def made(network: Any = NETWORK, **options: Any) -> Any:
        return control.SteeredRollout(simulation, network, **{"every": 5e-3, "intervals": 2, **options})

    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: made(sensors=["turn"]), "'turn' has no gradient: position_of and velocity_of have one"),
        (lambda: made(sensors=["rough"]), "'rough' has noise, which has no gradient"),
        (lambda: made(talking, sensors=["speed"]), "give the network signals=0"),
        (lambda: made(control.Sine(), sensors=["speed"]), "must be an MLP or a DistributedMLP"),
        (lambda: made(intervals=0), "whole number of 1 or more"),
        (lambda: motion.backward(1.0), "call forward"),
        (lambda: motion.forward(np.ones(3)), "49 weights are needed"),
        (lambda: motion.forward(np.full(49, np.nan)), "must be finite"),
        (lambda: motion.forward(NETWORK.parameters, {"controls": 1.0}), "leave controls out"),
        (lambda: motion.rollout.forward(after=-1), "0 or more, not -1"),
        (lambda: motion.gradient(lambda track: (np.nan, 0.0), NETWORK.parameters), "the loss is nan"),
    ]
    for call, sentence in cases:
        with pytest.raises(InvalidValue, match=sentence):
            call()
