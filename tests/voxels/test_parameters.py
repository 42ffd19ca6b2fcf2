"""Parameters in which worlds of voxel robots differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import LogUniform, Uniform, voxels
from annelid.core.errors import InvalidValue
from annelid.core.state import state_hash

FIVE = {
    "stiffness": Uniform(0.8, 1.0),
    "damping": LogUniform(0.7, 1.0),
    "friction": Uniform(0.5, 1.5),
    "mass": Uniform(1.0, 1.2),
    "slope_x": Uniform(-0.2, 0.2),
}


def simulated(device: str, worlds: int = 1) -> Any:
    return voxels.simulation(voxels.worm(3), obstacles=[voxels.terrain("flat")], worlds=worlds, device=device)


def act(simulation: Any) -> None:
    simulation.step(12)
    simulation.controls.command(np.linspace(-1.0, 1.0, len(simulation.controls)), ramp=0.05)
    simulation.step(20)


def test_a_world_with_its_own_parameters_is_the_one_alone(device: str) -> None:
    seeds = [5, 3, 8]
    several = simulated(device, 3)
    several.parameters.randomise(FIVE, seeds=seeds)
    act(several)
    several.reset([1])
    act(several)
    places = several.positions().reshape(3, -1, 3)
    for world, seed in enumerate(seeds):
        alone = simulated(device)
        alone.parameters.randomise(FIVE, seeds=[seed])
        act(alone)
        if world == 1:
            alone.reset([0])
        act(alone)
        np.testing.assert_array_equal(alone.positions(), places[world])
    assert not np.array_equal(places[0], places[2])


def test_parameters_at_rest_change_nothing(device: str) -> None:
    plain, resting = simulated(device), simulated(device)
    resting.parameters["push_x"] = 0.0
    for simulation in (plain, resting):
        act(simulation)
    np.testing.assert_allclose(resting.positions(), plain.positions(), atol=1e-5)
    assert resting.summary().total == pytest.approx(plain.summary().total, rel=1e-4)


def test_parameters_do_what_they_say(device: str) -> None:
    falling = voxels.simulation(voxels.box(1, 1), worlds=3, device=device, precision="float64")
    falling.parameters.set({"gravity": [1.0, 0.5, 1.0], "slope_x": [0, 0, 0.3], "mass": [1.0, 2.0, 1.0]})
    falling.run(0.2)
    speed = falling.velocities()[:, [0, 2]]
    fall = speed[0, 1]  # air slows all of them alike
    assert -9.8 * 0.2 < fall < -8.0 * 0.2
    np.testing.assert_allclose(speed[1:], [[0.0, 0.5 * fall], [np.sin(0.3) * fall, np.cos(0.3) * fall]], rtol=1e-3)
    assert falling.summary().mass == pytest.approx(4.0 * falling.solver.readout.summary(falling.state, 0).mass)
    height, mass = falling.positions()[1, 2], 2.0 * falling.solver.readout.summary(falling.state, 0).mass
    assert falling.solver.readout.summary(falling.state, 1).gravitational == pytest.approx(0.5 * 9.8 * mass * height)


def test_parameters_are_saved_with_the_state(device: str, tmp_path: Path) -> None:
    simulation = simulated(device, 3)
    simulation.parameters.randomise(FIVE)
    act(simulation)
    simulation.save(tmp_path / "state.npz")
    simulation.step(10)
    other = simulated(device, 3)
    other.load(tmp_path / "state.npz")
    other.step(10)
    assert state_hash(other.state) == state_hash(simulation.state)


def test_ranges_that_need_more_substeps_are_refused() -> None:
    simulation = simulated("cpu")
    with pytest.raises(InvalidValue, match="substeps="):
        simulation.parameters.randomise({"stiffness": Uniform(1.0, 300.0)})
    with pytest.raises(InvalidValue, match="'mass' cannot be 0"):
        simulation.parameters["mass"] = 0.0
