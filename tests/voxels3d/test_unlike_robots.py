"""Robots of unlike shape in one simulation: each has its own channels and readings, and moves as it would alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import control, voxels3d
from annelid.control import MLP
from annelid.core.errors import InvalidValue
from annelid.evolve.contract import Evaluation, Problem
from annelid.shapes import Plane

SOFT, MUSCLE = voxels3d.Voxel(youngs_modulus=1e5, expansion=0.0), voxels3d.Voxel(youngs_modulus=1e5, expansion=0.01)
DT = 1e-4


def robot(seed: int, *, muscles: bool = True) -> voxels3d.Robot:
    """A connected body of soft voxels and muscles that follow commands."""
    rng = np.random.default_rng(seed)
    grid = np.where(rng.random((3, 3, 2)) < 0.6, rng.integers(0, 2, (3, 3, 2)), -1)
    grid[0, :, 0], grid[:, 0, 0] = 0, 0
    grid[0, 0, 0] = 1
    return voxels3d.Robot(np.where(grid > 0, int(muscles), grid), (SOFT, MUSCLE), amplitude=14.0, whole=False)


def controlled(robots: list[voxels3d.Robot], controllers: Any) -> Any:
    simulation = voxels3d.simulation(robots, dt=DT, obstacles=[Plane()], device="cpu", threads=1)
    simulation.sensors.add("strain", voxels3d.strain_of(each=True))
    simulation.sensors.add("height", voxels3d.position_of())
    control.connect(simulation, controllers, every=0.01)
    return simulation


def brain(body: voxels3d.Robot, seed: int) -> MLP:
    muscles, readings = int((body.material_of == 1).sum()), body.voxel_count + 3
    count = MLP([], hidden=(4,)).weights_needed(muscles, [readings])
    return MLP(np.random.default_rng(seed).normal(size=count), hidden=(4,))


@pytest.mark.parametrize("first", [0, 10, 20])
def test_each_robot_moves_to_the_bit_as_it_would_alone_with_a_controller_of_its_own(first: int) -> None:
    robots = [robot(seed) for seed in range(first, first + 4)]
    brains = [brain(body, seed) for seed, body in enumerate(robots)]
    together = controlled(robots, brains)
    together.run(0.1)
    starts = np.cumsum([0, *(body.voxel_count for body in robots)])
    for k, (body, own) in enumerate(zip(robots, brains, strict=True)):
        alone = controlled([body], own)
        alone.run(0.1)
        moved = together.positions()[starts[k] : starts[k + 1]]
        np.testing.assert_array_equal(moved, alone.positions())
        there = together.solver.controls_there[k]
        np.testing.assert_array_equal(together.controls.values()[k, there], alone.controls.values()[0])
        assert there.sum() == (body.material_of == 1).sum()
        readings = together.sensors["strain"][k]
        np.testing.assert_array_equal(readings[~np.isnan(readings)], alone.sensors["strain"][0])


def test_channels_and_readings_are_those_of_all_cells() -> None:
    one = voxels3d.Robot(np.array([[[1]], [[1]]]), (SOFT, MUSCLE), amplitude=14.0)
    other = voxels3d.Robot(np.array([[[0]], [[1]], [[1]]]), (SOFT, MUSCLE), amplitude=14.0)
    simulation = voxels3d.simulation([one, other], dt=DT, obstacles=[Plane()], device="cpu")
    assert simulation.controls.names == ("voxel 0,0,0", "voxel 1,0,0", "voxel 2,0,0")
    np.testing.assert_array_equal(simulation.solver.controls_there, [[1, 1, 0], [0, 1, 1]])
    simulation.sensors.add("place", voxels3d.position_of(each=True))
    np.testing.assert_array_equal(np.isnan(simulation.sensors["place"][:, ::3]), [[False, False, True], [False] * 3])
    simulation.controls["voxel 2,0,0"] = 1.0
    sizes = simulation.solver.readout.sizes(simulation.state)
    np.testing.assert_allclose(sizes, [1.0, 1.0, 1.0, 1.0, 1.14])
    heard: list[Any] = []

    def policy(time: float, readings: np.ndarray) -> np.ndarray:
        heard.append(readings)
        return np.ones((2, 3))

    control.connect(simulation, policy, every=0.01)
    simulation.run(0.01)
    assert heard[0].shape == (2, 9)
    np.testing.assert_allclose(simulation.solver.readout.sizes(simulation.state), [1.14, 1.14, 1.0, 1.14, 1.14])


def test_a_robot_without_muscles_takes_part() -> None:
    robots = [robot(1), robot(2, muscles=False), robot(3)]
    simulation = controlled(robots, [brain(robots[0], 0), MLP([]), brain(robots[2], 0)])
    simulation.run(0.05)
    assert np.isfinite(simulation.positions()).all()
    assert not simulation.controls.values()[1].any()


def test_controllers_that_do_not_fit_are_refused() -> None:
    robots = [robot(1), robot(2)]
    with pytest.raises(InvalidValue, match="a list of 2 controllers, one for each world, not 1"):
        controlled(robots, [brain(robots[0], 0)])
    with pytest.raises(InvalidValue, match="give a function of all readings"):
        controlled(robots, control.HostController(lambda time, readings, rows: np.zeros(1)))
    with pytest.raises(InvalidValue, match="an amplitude and no frequency"):
        controlled([voxels3d.Robot(np.zeros((2, 1, 1), int))], brain(robots[0], 0))


class Crawlers(Problem):
    """Bodies and brains of a user, evolved together: six genes choose cells, the others are weights."""

    name = "crawlers"
    parameters = 46

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.normal(size=(count, self.parameters))

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        return {}

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        robots, brains = [], []
        for row in batch:
            grid = np.where(row[:6] > 0.0, 1, -1).reshape(3, 2, 1)
            grid[:, 0, 0] = np.maximum(grid[:, 0, 0], 0)
            grid[0, 0, 0] = 1
            body = voxels3d.Robot(grid, (SOFT, MUSCLE), amplitude=14.0)
            robots.append(body)
            brains.append(MLP(row[6 : 6 + MLP([]).weights_needed(int((grid == 1).sum()), [3])]))
        simulation = voxels3d.simulation(robots, dt=DT, obstacles=[Plane()], device="cpu", threads=1)
        simulation.sensors.add("speed", voxels3d.velocity_of())
        simulation.sensors.add("place", voxels3d.position_of())
        control.connect(simulation, brains, every=0.02, sensors=["speed"])
        before = simulation.sensors["place"][:, 0]
        simulation.run(0.1)
        return Evaluation(np.asarray(simulation.sensors["place"][:, 0] - before, float))


def test_bodies_and_brains_evolve_together() -> None:
    problem = Crawlers()
    batch = problem.sample(np.random.default_rng(0), 6)
    together = problem.evaluate(batch).fitness
    alone = np.concatenate([problem.evaluate(row[None]).fitness for row in batch])
    np.testing.assert_array_equal(together, alone)
    assert len(set(together.tolist())) == 6
