"""The substeps that "auto" takes: random bodies of any stiffness, mass and damping stay finite and gain no energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from annelid import voxels


def random_robot(rng: np.random.Generator) -> voxels.Robot:
    """A connected piece of up to three materials."""

    def log(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    side, count = log(0.05, 3.0), int(rng.integers(1, 4))
    materials = [
        voxels.Voxel(
            side_length=side, mass_ratio=rng.uniform(0.05, 0.4), mass=log(0.01, 10.0), frequency=log(1.0, 60.0),
            damping_ratio=rng.uniform(), linear_damping=float(rng.choice([0.0, 1.0])),
            angular_damping=float(rng.choice([0.0, 1.0])), friction=float(rng.choice([0.0, 1.0, 100.0])),
            restitution=float(rng.choice([0.0, 0.1, 0.5])),
        )
        for _ in range(count)
    ]  # fmt: skip
    shape = rng.integers(1, 5, 2)
    grid = np.where(rng.random(shape) < 0.2, -1, rng.integers(0, count, shape))
    grid[0, 0] = 0
    label = ndimage.label(grid >= 0)[0]
    return voxels.Robot(np.where(label == label[0, 0], grid, -1), materials)


@pytest.mark.parametrize("seed", range(8))
def test_random_bodies_that_fall_gain_no_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot, dt = random_robot(rng), float(rng.choice([1 / 30, 1 / 60, 1 / 120]))
    simulation = voxels.simulation(robot, obstacles=[voxels.terrain("flat")], dt=dt, device="cpu", threads=1)
    begun = simulation.summary()
    lift = begun.mass * 9.81 * robot.materials[0].side_length
    for _ in range(10):
        simulation.run(0.4)
        assert simulation.summary().total <= begun.total + 0.05 * lift
