"""Parameters in which worlds of spring bodies among grains differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import LogUniform, Uniform, coupling
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.core.state import state_hash

from .conftest import SKIN, block
from .test_controls import SAND, body, drive, motion, simulated

SEVEN = {
    "gravity": Uniform(0.8, 1.2),
    "slope_x": Uniform(-0.2, 0.2),
    "stiffness": Uniform(0.8, 1.2),
    "mass": Uniform(0.9, 1.3),
    "skin_friction": LogUniform(0.5, 2.0),
    "grain_friction": LogUniform(0.5, 2.0),
    "grain_density": Uniform(0.8, 1.2),
}
SEEDS = [5, 3, 8]


def varied(device: str, seeds: list[int]) -> Any:
    simulation = simulated(device, len(seeds))
    simulation.parameters.randomise(SEVEN, seeds=seeds)
    return simulation


def act(simulation: Any, world: int | slice = slice(None)) -> None:
    """Some commands, and a world, which is the second of several, that begins again in between."""
    drive(simulation, world)
    simulation.step(7)
    if world in (1, slice(None)):
        simulation.reset([1 if simulation.solver.worlds > 1 else 0])
    drive(simulation, world)


def test_a_world_with_its_own_parameters_is_the_one_alone(device: str, tmp_path: Path) -> None:
    several = varied(device, SEEDS)
    drawn = several.parameters["mass"]
    act(several)
    assert (several.parameters["mass"] != drawn).tolist() == [False, True, False]
    found = motion(several)
    for world in (0, 1):
        alone = varied(device, SEEDS[world : world + 1])
        act(alone, world)
        np.testing.assert_array_equal(alone.parameters.values()[0], several.parameters.values()[world])
        np.testing.assert_array_equal(motion(alone)[0], found[world])
    assert len({row.tobytes() for row in found}) == 3
    several.save(tmp_path / "state.npz")
    several.step(10)
    other = simulated(device, 3)
    other.load(tmp_path / "state.npz")
    other.step(10)
    assert state_hash(other.state) == state_hash(several.state)


def test_a_world_that_begins_again_is_a_new_one_with_its_parameters(device: str) -> None:
    simulation = varied(device, SEEDS)
    drive(simulation)
    simulation.parameters.randomise({})
    simulation.reset()
    new = simulated(device, 3)
    new.parameters.set({name: simulation.parameters[name] for name in SEVEN})
    for run in (simulation, new):
        drive(run)
    np.testing.assert_array_equal(motion(simulation), motion(new))


def test_parameters_at_rest_change_nothing(device: str) -> None:
    plain, resting = simulated(device), simulated(device)
    resting.parameters["push_x"] = 0.0
    for simulation in (plain, resting):
        drive(simulation, 1)
    np.testing.assert_allclose(motion(resting), motion(plain), atol=1e-6)
    assert resting.summary().total == pytest.approx(plain.summary().total, rel=1e-4)


def test_both_sides_are_given_theirs(device: str) -> None:
    simulation = simulated(device, 3, body=body().moved((0.0, 0.0, 0.005)))
    before = simulation.summary().parts
    simulation.parameters.set({"gravity": [1.0, 0.0, 1.0], "push_x": [0.0, 0.0, 2.0], "mass": [1.0, 1.0, 2.5]})
    simulation.parameters["grain_density"] = [1.0, 4.0, 1.0]
    simulation.run(0.02)
    speeds = simulation.solver.readout.body_velocities(simulation.state).reshape(3, -1, 3).mean(axis=1)
    np.testing.assert_allclose(speeds, 0.02 * np.array([[0, 0, -9.81], [0, 0, 0], [2, 0, -9.81]]), rtol=1e-3, atol=1e-5)
    bed = simulation.solver.readout.grain_velocities(simulation.state).reshape(3, -1, 3)
    assert bed[0, :, 2].mean() < -0.005
    assert abs(bed[1, :, 2]).mean() < 1e-3
    assert bed[2, :, 0].mean() > bed[0, :, 0].mean() + 0.001
    after = simulation.summary().parts
    assert after["springs"].mass == pytest.approx(1.5 * before["springs"].mass, rel=1e-5)
    assert after["grains"].mass == pytest.approx(2.0 * before["grains"].mass, rel=1e-5)


def test_gain_and_lag_of_controls_of_both_sides(device: str) -> None:
    simulation = simulated(device, 3)
    simulation.parameters.set({"gain": [1.0, 0.5, 1.0], "lag": [0.0, 0.0, 0.004]})
    simulation.controls.command({"size": 1.1, "down": -0.2})
    simulation.run(0.004)
    late = 1.0 - np.exp(-1.0)
    np.testing.assert_allclose(simulation.controls["size"], [1.1, 1.05, 1.0 + 0.1 * late], rtol=1e-9)
    speed = simulation.state.grains.body_velocities.numpy()[simulation.solver.grains.model.numbers("press"), 2]
    np.testing.assert_allclose(speed, [-0.2, -0.1, -0.2 * late], rtol=0.05)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"friction": Uniform(0.5, 1.0)}, "skin_friction"),
        ({"mass": Uniform(1e-3, 1.0)}, "longest stable step"),
        ({"grain_restitution": 0.5}, "'grain_restitution' is a factor on the restitution of grains, which is 0"),
        ({"grain_density": 0.0}, "'grain_density' cannot be 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is(given: Any, problem: str) -> None:
    simulation = simulated("cpu", 2)
    with pytest.raises((InvalidValue, UnknownName), match=problem):
        simulation.parameters.randomise(given)
    assert not simulation.state.variation.there
    assert not simulation.state.springs.variation.there


def test_worlds_made_one_by_one_have_no_parameters() -> None:
    many, bed = block(4).moved((0.0, 0.0, 0.08)).replicated(np.zeros((2, 3))), SAND.bed().repeated(2)
    walls = [wall for world in range(2) for wall in SAND.walls(world)]
    model = coupling.Model(
        many, bed, world_of=np.repeat([0, 1], len(SAND.bed())), device="cpu",
        world=coupling.World(
            dt=2e-4, spring_dt=1e-4, obstacles=walls, skin=SKIN, inside="allow", overlapping="allow"
        ),
    )  # fmt: skip
    simulation = Simulation(coupling.Solver(model))
    with pytest.raises(InvalidValue, match="give worlds=n"):
        simulation.parameters["mass"] = [1.0, 1.1]
