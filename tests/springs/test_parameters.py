"""Parameters in which worlds of spring bodies differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Choice, Curriculum, LogUniform, Normal, Uniform, springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.state import state_hash
from annelid.shapes import ground

FIVE = {
    "stiffness": Uniform(0.8, 1.2),
    "damping": LogUniform(0.5, 2.0),
    "friction": Normal(1.0, 0.2, low=0.2),
    "mass": Choice([0.9, 1.0, 1.1]),
    "slope_x": Curriculum(Uniform(-0.01, 0.01), Uniform(-0.2, 0.2), draws=4),
}


def walker() -> springs.Body:
    """A small block whose front half takes commands."""
    body = springs.block((4, 3, 3), 0.1, damping=20.0)
    return body.control("front", body.positions[body.springs].mean(axis=1)[:, 0] >= 0.15, low=0.7, high=1.3)


def simulated(device: str, worlds: int = 1, **options: Any) -> Any:
    return springs.simulation(walker(), dt=1e-4, obstacles=[ground(0.8)], worlds=worlds, device=device, **options)


def act(simulation: Any) -> None:
    simulation.run(0.01)
    simulation.controls["front"] = 1.2
    simulation.run(0.02)


@pytest.mark.parametrize("integrator", ["symplectic", "verlet"])
def test_a_world_with_its_own_parameters_is_the_one_alone(device: str, integrator: str) -> None:
    seeds = [5, 3, 8]
    several = simulated(device, 3, integrator=integrator)
    several.parameters.randomise(FIVE, seeds=seeds)
    act(several)
    several.reset([1])
    act(several)
    places = several.positions().reshape(3, -1, 3)
    for world, seed in enumerate(seeds):
        alone = simulated(device, integrator=integrator)
        alone.parameters.randomise(FIVE, seeds=[seed])
        act(alone)
        if world == 1:
            alone.reset([0])
        act(alone)
        np.testing.assert_array_equal(alone.parameters.values()[0], several.parameters.values()[world])
        np.testing.assert_array_equal(alone.positions(), places[world])
    assert not np.array_equal(places[0], places[2])


def test_parameters_do_what_they_say(device: str) -> None:
    ball = springs.Body(
        positions=[[0, 0, 0]], masses=2.0, springs=np.zeros((0, 2), int), rest_lengths=1.0, stiffness=1.0
    )
    falling = springs.simulation(ball, dt=1e-3, worlds=4, precision="float64", device=device)
    falling.parameters.set({"gravity": [1.0, 0.5, 1.0, 1.0], "slope_x": [0, 0, 0.3, 0], "push_y": [0, 0, 0, 2.0]})
    falling.run(0.5)
    expected = 0.5 * np.array(
        [[0, 0, -9.81], [0, 0, -4.905], [-9.81 * np.sin(0.3), 0, -9.81 * np.cos(0.3)], [0, 2, -9.81]]
    )
    np.testing.assert_allclose(falling.velocities(), expected, rtol=1e-4, atol=1e-6)
    assert falling.summary().mass == pytest.approx(8.0)


def test_stiffness_and_mass_set_the_frequency(device: str) -> None:
    pair = springs.Body(
        positions=[[0, 0, 0], [1.1, 0, 0]], masses=1.0, springs=[[0, 1]], rest_lengths=1.0, stiffness=50.0
    ).fix([0])
    simulation = springs.simulation(pair, dt=1e-3, worlds=2, gravity=(0, 0, 0), precision="float64", device=device)
    simulation.parameters.set({"stiffness": [1.0, 2.0], "mass": [1.0, 0.5]})
    energy = simulation.summary()
    assert energy.elastic == pytest.approx(0.5 * 50 * 0.1**2 * (1 + 2))
    assert energy.mass == pytest.approx(3.0)
    quarter = 0.5 * np.pi / np.sqrt(50.0)
    simulation.run(quarter)
    stretch = simulation.positions().reshape(2, 2, 3)[:, 1, 0] - 1.0
    np.testing.assert_allclose(stretch, [0.0, -0.1], atol=2e-3)  # the second is twice as quick
    assert simulation.summary().total == pytest.approx(energy.total, rel=1e-2)


def test_gain_and_lag_of_controls(device: str) -> None:
    simulation = simulated(device, 3)
    simulation.parameters.set({"gain": [1.0, 0.5, 1.0], "lag": [0.0, 0.0, 0.01]})
    simulation.controls["front"] = 1.2
    simulation.run(0.01)
    late = 1.0 + 0.2 * (1.0 - np.exp(-1.0))
    np.testing.assert_allclose(simulation.controls["front"], [1.2, 1.1, late], rtol=1e-9)


def test_draws_follow_their_laws_and_go_on(device: str) -> None:
    simulation = simulated(device, 200)
    simulation.parameters.randomise(FIVE)
    first = simulation.parameters.values()
    named = dict(zip(simulation.parameters.names, first.T, strict=True))
    assert set(np.unique(named["mass"])) == {0.9, 1.0, 1.1}
    assert 0.8 <= named["stiffness"].min() < 0.85 < 1.15 < named["stiffness"].max() <= 1.2
    assert abs(np.median(np.log(named["damping"]))) < 0.15
    assert named["friction"].std() == pytest.approx(0.2, rel=0.2)
    assert np.abs(named["slope_x"]).max() <= 0.01
    for _ in range(4):
        simulation.reset()
    assert 0.15 < np.abs(simulation.parameters["slope_x"]).max() <= 0.2
    again = simulated(device, 200)
    again.parameters.randomise(FIVE)
    np.testing.assert_array_equal(again.parameters.values(), first)


def test_parameters_are_saved_with_the_state(device: str, tmp_path: Path) -> None:
    simulation = simulated(device, 2)
    simulation.parameters.randomise(FIVE)
    act(simulation)
    simulation.save(tmp_path / "state.npz")
    simulation.run(0.01)
    other = simulated(device, 2)
    other.load(tmp_path / "state.npz")
    np.testing.assert_array_equal(other.parameters.values(), simulation.parameters.values())
    other.run(0.01)
    assert state_hash(other.state) == state_hash(simulation.state)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"stifness": Uniform(0.8, 1.2)}, "stiffness"),
        ({"stiffness": Uniform(-1.0, 1.2)}, "'stiffness' cannot be -1"),
        ({"stiffness": (0.8, 1.2)}, "must be drawn from"),
        ({"mass": Uniform(1e-3, 1.0)}, "longest stable step"),
        ({"stiffness": Uniform(0.5, 900.0)}, "longest stable step"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is(given: Any, problem: str) -> None:
    simulation = simulated("cpu", 2)
    with pytest.raises((InvalidValue, UnknownName), match=problem):
        simulation.parameters.randomise(given)
    assert not simulation.state.variation.there


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(2.0, 1.0),
        lambda: LogUniform(0.0, 1.0),
        lambda: Normal(1.0, -1.0),
        lambda: Choice([]),
        lambda: Choice([np.nan]),
        lambda: Curriculum(Uniform(0, 1), Normal(0, 1), draws=3),
        lambda: Curriculum(Uniform(0, 1), Uniform(0, 2), draws=0),
    ],
)
def test_distributions_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(InvalidValue):
        make()


def test_verlet_begins_again_with_the_accelerations_of_what_was_drawn(device: str) -> None:
    laws = {"gravity": Uniform(0.2, 1.8), "mass": Uniform(1.0, 1.4)}
    several, alone = (simulated(device, worlds, integrator="verlet") for worlds in (2, 1))
    several.parameters.randomise(laws, seeds=[1, 2])
    alone.parameters.randomise(laws, seeds=[2])
    for simulation in (several, alone):
        simulation.step(10)
        simulation.reset([simulation.solver.worlds - 1])
    found = several.state.accelerations.numpy().reshape(2, -1, 3)[1]
    np.testing.assert_array_equal(found, alone.state.accelerations.numpy())
    np.testing.assert_allclose(found[:, 2].mean(), -9.81 * alone.parameters["gravity"][0], rtol=1e-3)
    plain, single = (simulated(device, worlds, integrator="verlet") for worlds in (2, 1))
    for simulation in (plain, single):
        simulation.reset([simulation.solver.worlds - 1])
        simulation.step(10)
    np.testing.assert_array_equal(plain.velocities().reshape(2, -1, 3)[1], single.velocities())


def test_what_is_set_must_suit_what_will_be_drawn() -> None:
    later, now = simulated("cpu", 2), simulated("cpu", 2)
    later.parameters.randomise({"stiffness": Curriculum(Uniform(0.01, 0.01), Uniform(0.01, 1.0), draws=9)})
    now.parameters["stiffness"] = 0.01
    np.testing.assert_array_equal(later.parameters["stiffness"], now.parameters["stiffness"])
    light = {"mass": 0.01, "damping": 0.0}
    now.parameters.set(light)
    with pytest.raises(InvalidValue, match="stiffness up to 1, .* longest stable step"):
        later.parameters.set(light)
    assert later.parameters["mass"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seeds", [[1.5, 2.0], [np.nan, 1.0], "ab", [True, False]])
def test_seeds_that_are_no_whole_numbers_are_refused(seeds: Any) -> None:
    with pytest.raises(InvalidValue, match="seeds must be whole numbers"):
        simulated("cpu", 2).parameters.randomise(FIVE, seeds=seeds)
