"""Robots assembled on the device walk, to the bit, like robots that a model compiled one by one."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import control, voxels
from annelid.core.errors import InvalidValue
from annelid.voxels import Voxel
from annelid.voxels.grids import largest_parts, margins, moved
from annelid.voxels.population import Population
from annelid.voxels.tasks import Locomotion

TASK = Locomotion(dt=1.0 / 30.0, seconds=1.5)
MATERIALS = (
    Voxel(frequency=25.0),
    Voxel(frequency=5.0, scaffolding="EC", mass=0.5, friction=50.0),
    Voxel(mass_ratio=0.2, linear_damping=0.5),
    Voxel.v1(),
)
WAVES = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, -1, 0.25, 0, 0]], float)


def bodies(count: int, size: int = 4, seed: int = 0) -> np.ndarray:
    """Random connected bodies in their corners, of few and of many voxels."""
    rng = np.random.default_rng(seed)
    full = rng.integers(0, 4, (count, size, size))
    grids = largest_parts(np.where(rng.random(full.shape) < np.linspace(0.4, 0.9, count)[:, None, None], full, -1))
    return moved(grids, margins(grids))


def as_robots(grids: np.ndarray) -> list[voxels.Robot]:
    """The same as a user would build them, each with the materials that it has."""
    robots = []
    for grid in grids:
        used, rows = np.unique(grid[grid >= 0]), WAVES[grid[grid >= 0]]
        brain = control.PhasedSines(2.0 * np.pi * rows[:, 2], frequency=rows[:, 1], amplitude=rows[:, 0])
        numbers = np.where(grid >= 0, np.searchsorted(used, grid), -1)
        robots.append(voxels.Robot(numbers, tuple(MATERIALS[i] for i in used), brain))
    return robots


def test_a_population_walks_like_robots(device: str) -> None:
    grids = bodies(16)
    found = Population(TASK, MATERIALS, device=device)(grids, WAVES)
    known = TASK(as_robots(grids), device=device)
    for name in ("velocity", "relative_velocity", "mean_height", "control"):
        np.testing.assert_array_equal(getattr(found, name), getattr(known, name))
    assert np.ptp(found.velocity) > 0.01


def test_a_robot_does_not_depend_on_the_batch(device: str) -> None:
    grids = bodies(24)
    every = Population(TASK, MATERIALS, device=device)(grids, WAVES).velocity
    again = Population(TASK, MATERIALS, device=device, threads=1)
    for rows in (slice(3, 5), slice(None, None, -1), slice(7, 8)):  # arrays grow, then have room to spare
        np.testing.assert_array_equal(again(grids[rows], WAVES).velocity, every[rows])


def test_uneven_ground(device: str) -> None:
    task = Locomotion(dt=1.0 / 30.0, seconds=1.0, terrain="uneven-5")
    grids = bodies(6)
    found = Population(task, MATERIALS, device=device)(grids, WAVES).velocity
    np.testing.assert_array_equal(found, task(as_robots(grids), device=device).velocity)


def test_waves_of_cells(device: str) -> None:
    grids = bodies(5)
    population = Population(TASK, MATERIALS, device=device)
    np.testing.assert_array_equal(
        population(grids, WAVES).velocity,
        population(grids, np.where(grids[..., None] >= 0, WAVES[grids], 7.0)).velocity,
    )


def test_bad_populations() -> None:
    population = Population(TASK, MATERIALS, device="cpu")
    with pytest.raises(InvalidValue, match="no voxels"):
        population(np.full((1, 2, 2), -1), WAVES)
    with pytest.raises(InvalidValue, match=r"waves need shape \(4, 5\)"):
        population(np.zeros((1, 2, 2)), WAVES[:3])
    with pytest.raises(InvalidValue, match="actuated by area"):
        Population(TASK, [Voxel(actuation="force")])
    with pytest.raises(InvalidValue, match="one side length"):
        Population(TASK, [Voxel(), Voxel(side_length=2.0)])
