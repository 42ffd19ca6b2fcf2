"""The step that dt="auto" takes: bodies of any stiffness, mass and damping stay finite and gain no energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from annelid import voxels3d
from annelid.shapes import ground
from annelid.voxels3d import Robot, Voxel


def random_robot(rng: np.random.Generator) -> Robot:
    def log(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    count, shape = int(rng.integers(1, 4)), rng.integers(1, 5, 3)
    materials = [
        Voxel(
            youngs_modulus=log(1e4, 1e7), density=log(300.0, 3000.0), internal_damping=log(0.01, 5.0),
            global_damping=float(rng.choice([0.0, log(0.01, 20.0)])), collision_damping=float(rng.uniform(0.0, 2.0)),
            poisson_ratio=float(rng.choice([0.0, 0.3, 0.49])),
        )
        for _ in range(count)
    ]  # fmt: skip
    grid = np.where(rng.random(shape) < 0.2, -1, rng.integers(0, count, shape))
    grid[0, 0, 0] = 0
    label = ndimage.label(grid >= 0)[0]
    return Robot(np.where(label == label[0, 0, 0], grid, -1), materials, side_length=log(1e-3, 0.1))


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies_gain_no_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_robot(rng)
    simulation = voxels3d.simulation(robot, obstacles=[ground()], precision="float64", device="cpu", threads=1)
    softest = min(material.youngs_modulus / material.density for material in robot.materials)
    simulation.state.velocities.assign(rng.normal(0.0, 0.02 * softest**0.5, (robot.voxel_count, 3)))
    begun = simulation.summary()
    for _ in range(10):
        simulation.step(200)
        assert simulation.summary().total <= begun.total + 0.05 * begun.kinetic


CASES = {
    "internal damping": [Voxel(internal_damping=2.0)],
    "global damping": [Voxel(global_damping=5.0)],
    "stiff and soft": [Voxel(youngs_modulus=1e6), Voxel(youngs_modulus=1e4)],
}


@pytest.mark.parametrize("name", CASES)
def test_a_checkerboard_comes_to_rest(name: str) -> None:
    grid = np.indices((4, 4, 4)).sum(axis=0) % len(CASES[name])
    simulation = voxels3d.simulation(Robot(grid, CASES[name]), obstacles=[ground()], device="cpu", threads=1)
    simulation.run(0.3)
    assert simulation.summary().kinetic < 1e-8


def test_the_usual_robot_takes_the_step_that_voxelyze_recommends() -> None:
    """Its lattice is stable in a step that is a seventh longer, of any size and on any ground."""
    steps = {
        voxels3d.simulation(Robot(np.zeros(shape, int)), obstacles=obstacles, device="cpu").dt
        for shape in ((2, 2, 2), (5, 4, 3), (8, 8, 8))
        for obstacles in ((), (ground(),))
    }
    fastest = (1e5 * 0.01 / (1000.0 * 0.01**3)) ** 0.5
    assert list(steps) == [pytest.approx(0.75 / (2.0 * np.pi * fastest))]
