"""Parameters in which worlds of grains differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import LogUniform, Uniform, grains
from annelid.core.errors import InvalidValue
from annelid.core.state import state_hash
from annelid.shapes import Box, Plane, Rigid, Surface

from .blade import drive, motion, simulated

FIVE = {
    "gravity": Uniform(0.8, 1.2),
    "slope_x": Uniform(-0.2, 0.2),
    "push_y": Uniform(-1.0, 1.0),
    "friction": LogUniform(0.5, 2.0),
    "density": Uniform(0.7, 1.4),
}
SEEDS = [5, 3, 8, 1]


def varied(device: str, seeds: list[int]) -> Any:
    simulation = simulated(device, len(seeds))
    simulation.parameters.randomise(FIVE, seeds=seeds)
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
    drawn = several.parameters["friction"]
    act(several)
    assert (several.parameters["friction"] != drawn).tolist() == [False, True, False, False]
    found = motion(several)
    for world in (0, 1):
        alone = varied(device, SEEDS[world : world + 1])
        act(alone, world)
        np.testing.assert_array_equal(alone.parameters.values()[0], several.parameters.values()[world])
        np.testing.assert_array_equal(motion(alone)[0], found[world])
    assert len({row.tobytes() for row in found}) == 4
    several.save(tmp_path / "state.npz")
    several.step(10)
    other = simulated(device, 4)
    other.load(tmp_path / "state.npz")
    other.step(10)
    assert state_hash(other.state) == state_hash(several.state)


def test_a_world_that_begins_again_is_a_new_one_with_its_parameters(device: str) -> None:
    simulation = varied(device, SEEDS)
    drive(simulation)
    simulation.parameters.randomise({})
    simulation.reset()
    new = simulated(device, 4)
    new.parameters.set({name: simulation.parameters[name] for name in FIVE})
    np.testing.assert_array_equal(motion(simulation), motion(new))
    for run in (simulation, new):
        drive(run)
    np.testing.assert_array_equal(motion(simulation), motion(new))


def test_parameters_at_rest_change_nothing(device: str) -> None:
    plain, resting = simulated(device), simulated(device)
    resting.parameters["push_x"] = 0.0
    for simulation in (plain, resting):
        drive(simulation, 1)
    np.testing.assert_allclose(motion(resting), motion(plain), atol=1e-6)
    assert resting.summary().total == pytest.approx(plain.summary().total, rel=1e-5)


def test_grains_and_free_bodies_feel_what_pulls(device: str) -> None:
    bed = grains.Bed(np.array([[0.0, 0, 0], [0.1, 0, 0]]), 0.01)
    box = Rigid(Box((0.02, 0.02, 0.02)), position=(0.5, 0.0, 0.0), motion="free", density=1000.0)
    falling = grains.simulation(bed, obstacles=[box], dt=1e-4, worlds=4, method="hertz", device=device)
    falling.parameters.set({"gravity": [1, 0.5, 1, 1], "slope_x": [0, 0, 0.3, 0], "push_y": [0, 0, 0, 2.0]})
    falling.parameters["density"] = [1.0, 2.0, 1.0, 1.0]
    falling.run(0.05)
    pulls = np.array([[0, 0, -9.81], [0, 0, -4.905], [-9.81 * np.sin(0.3), 0, -9.81 * np.cos(0.3)], [0, 2, -9.81]])
    speeds = falling.velocities().reshape(4, 2, 3)
    np.testing.assert_allclose(speeds, np.repeat(0.05 * pulls[:, None], 2, axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(falling.state.body_velocities.numpy(), 0.05 * pulls, rtol=1e-4, atol=1e-6)
    own = grains.simulation(bed, obstacles=[box], dt=1e-4, method="hertz", device=device).summary().mass
    assert falling.summary().mass == pytest.approx(4.0 * own + 2.0 * 2500.0 * 4.0 / 3.0 * np.pi * 1e-6)
    falling.sensors.add("energy", grains.energy_of(kind="gravitational"))
    assert falling.sensors["energy"].sum() == pytest.approx(falling.summary().gravitational, rel=1e-5)


def test_friction_and_restitution_of_grains(device: str) -> None:
    """A ball that slides slows by √(f μ μ') g; one that falls rises by the square of the restitution."""
    bed = grains.Bed(
        np.array([[0.0, 0.0, 0.01], [0.0, 1.0, 0.06]]), 0.01, grains.Grain(friction=0.2, restitution=0.5),
        velocities=np.array([[1.0, 0, 0], [0, 0, 0]]),
    )  # fmt: skip
    floor = Rigid(Plane(), surface=Surface(friction=0.2, restitution=0.5))
    simulation = grains.simulation(bed, obstacles=[floor], dt=2e-4, worlds=4, device=device)
    simulation.parameters.set({"friction": [1.0, 4.0, 0.0, 1.0], "restitution": [1.0, 1.0, 1.6, 1.0]})
    simulation.parameters["gravity"] = [1.0, 1.0, 1.0, 0.5]
    simulation.run(0.05)
    speeds = simulation.velocities().reshape(4, 2, 3)
    pulls = 9.81 * np.array([1.0, 1.0, 1.0, 0.5])
    np.testing.assert_allclose(speeds[:, 1, 2], -0.05 * pulls, rtol=1e-4)
    np.testing.assert_allclose(
        1.0 - speeds[:, 0, 0], 0.05 * np.array([0.2, 0.4, 0.0, 0.2]) * pulls, rtol=0.05, atol=1e-3
    )
    highest = np.zeros(4)
    for _ in range(40):
        simulation.run(0.005)
        heights = simulation.positions().reshape(4, 2, 3)[:, 1, 2] - 0.01
        since = simulation.time > np.sqrt(2.0 * 0.05 / pulls)  # it has touched the floor
        highest = np.maximum(highest, np.where(since, heights, 0.0))
    np.testing.assert_allclose(highest, 0.05 * np.array([0.25, 0.25, 0.4, 0.25]), rtol=0.05)


def test_gain_and_lag_of_controls(device: str) -> None:
    simulation = simulated(device, 4)
    simulation.parameters.set({"gain": [1.0, 0.5, 1.0, 1.0], "lag": [0.0, 0.0, 0.01, 0.0]})
    simulation.controls["ahead"] = 0.2
    simulation.run(0.01)
    np.testing.assert_allclose(simulation.controls["ahead"], [0.2, 0.1, 0.2 * (1.0 - np.exp(-1.0)), 0.2], rtol=1e-9)
    speed = simulation.state.body_velocities.numpy()[simulation.solver.model.numbers("blade"), 0]
    np.testing.assert_allclose(speed, simulation.controls["ahead"], rtol=0.02)


@pytest.mark.parametrize(
    ("material", "method", "given", "problem"),
    [
        ({}, "nonsmooth", {"friction": Uniform(-1.0, 1.0)}, "'friction' cannot be -1"),
        ({}, "nonsmooth", {"density": 0.0}, "'density' cannot be 0"),
        ({}, "nonsmooth", {"restitution": Uniform(0.5, 1.0)}, "restitution of grains, which is 0"),
        ({"restitution": 0.8}, "nonsmooth", {"restitution": Uniform(1.0, 1.5)}, "a restitution of 1.2"),
        ({}, "hertz", {"density": Uniform(0.5, 1.0)}, "collisions need steps of"),
        ({"restitution": 0.8}, "hertz", {"restitution": 0.5}, "method='hertz' cannot differ in 'restitution'"),
        ({}, "paper", {"gravity": Uniform(0.5, 1.0)}, "method='paper' cannot differ in 'gravity'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is(
    material: dict[str, float], method: str, given: Any, problem: str
) -> None:
    bed = grains.Bed(np.zeros((1, 3)), 0.01, grains.Grain(**material))
    simulation = grains.simulation(bed, method=method, device="cpu")
    with pytest.raises(InvalidValue, match=problem):
        simulation.parameters.randomise(given)
    assert not simulation.state.variation.there
