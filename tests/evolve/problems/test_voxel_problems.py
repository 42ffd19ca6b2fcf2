"""Rows of numbers become the robots of the paper, and do alone what they do in a crowd."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from annelid import voxels
from annelid.core.errors import InvalidValue
from annelid.evolve.contract import ProblemOptions
from annelid.evolve.problems.mixtures import mixture_grids
from annelid.evolve.problems.voxel_body import VoxelBody
from annelid.evolve.problems.voxel_body_and_brain import VoxelBodyAndBrain
from annelid.evolve.problems.voxel_controller import VoxelController
from annelid.voxels.tasks import Locomotion

SHORT = Locomotion(seconds=1.0, dt=1.0 / 30.0)


@pytest.mark.parametrize(
    ("body", "width", "counts"),
    [("worm", 4, (4, 12, 104)), ("biped", 4, (6, 18, 228)), ("tripod", 5, (8, 24, 400)), ("box", 11, (44, 132, 11704))],
)
def test_genes_are_those_of_the_paper(body: str, width: int, counts: tuple[int, int, int]) -> None:
    for kind, count in zip(("phases", "development", "sensing"), counts, strict=True):
        problem = VoxelController(body=body, width=width, controller=kind).build(device="cpu")  # type: ignore[arg-type]
        assert problem.parameters == count
        rows = problem.sample(np.random.default_rng(0), 50)
        assert rows.shape == (50, count)
        assert 0.9 < np.abs(rows).max() / (1.0 if kind == "sensing" else math.pi) <= 1.0
    assert VoxelBody().build(device="cpu").parameters == 80
    assert VoxelBodyAndBrain().build(device="cpu").parameters == 60 + 25


@pytest.mark.parametrize(
    "options",
    [
        VoxelController(width=3, height=2, seconds=1.0),
        VoxelController(width=3, height=1, controller="development", seconds=1.0),
        VoxelController(body="biped", width=3, controller="sensing", seconds=1.0),
        VoxelBody(seconds=1.0),
        VoxelBodyAndBrain(width=4, height=3, seconds=1.0),
    ],
    ids=lambda options: f"{options.name}-{getattr(options, 'controller', '')}",
)
def test_a_row_is_a_robot(options: ProblemOptions, device: str) -> None:
    problem = options.build(device=device)
    batch = problem.sample(np.random.default_rng(1), 12)
    found = problem.evaluate(batch)
    assert found.valid.all()
    assert found.measures is not None
    assert found.measures.shape == (12, len(problem.measure_names))
    np.testing.assert_array_equal(problem.evaluate(batch[4:9]).fitness, found.fitness[4:9])
    np.testing.assert_array_equal(
        options.build(device=device, threads=1).evaluate(batch[::-1]).fitness[::-1], found.fitness
    )
    told = problem.describe(batch[5])
    robot = voxels.Robot.from_json(json.dumps(told))
    np.testing.assert_allclose(SHORT(robot, device=device).relative_velocity, found.fitness[5], atol=1e-6)
    simulation, seconds = problem.film(batch[5])
    assert seconds == 1.0
    simulation.run(0.1)


def test_mixtures_follow_their_formula() -> None:
    rng = np.random.default_rng(2)
    genes = rng.normal(0.5, 0.5, (40, 4, 5, 4))  # widths and amounts of either sign
    genes[0, :, :, 2] = 0.0
    grids = mixture_grids(genes, 6, 3, threshold=1.0)
    x, y = np.linspace(0.0, 1.0, 6), np.linspace(0.0, 1.0, 3)
    assert (grids[0] == -1).all()
    for row, grid in zip(genes[1:], grids[1:], strict=True):
        d2 = (x[:, None, None, None] - row[..., 0]) ** 2 + (y[None, :, None, None] - row[..., 1]) ** 2
        total = (row[..., 3] / (row[..., 2] * np.sqrt(2 * np.pi)) * np.exp(-d2 / row[..., 2] ** 2)).sum(axis=3)
        full = np.where(total.max(axis=2) >= 1.0, total.argmax(axis=2), -1)
        np.testing.assert_array_equal(grid, voxels.largest_connected(full))


def test_equal_bodies_have_equal_keys() -> None:
    problem = VoxelBody(width=3, height=3, seconds=0.5).build(device="cpu")
    batch = problem.sample(np.random.default_rng(3), 300)
    keys = problem.keys(batch)
    assert keys is not None
    grids, _ = problem.decode(batch)
    assert len(set(keys)) == len(np.unique(grids.reshape(300, -1), axis=0)) < 300
    twin = next(i for i in range(1, 300) if keys[i] == keys[0] or keys.index(keys[i]) < i)
    first = keys.index(keys[twin])
    found = problem.evaluate(batch[[first, twin]])
    assert found.fitness[0] == found.fitness[1]


def test_phases_are_part_of_a_brain() -> None:
    problem = VoxelBodyAndBrain(width=3, height=3).build(device="cpu")
    batch = np.repeat(problem.sample(np.random.default_rng(4), 1), 2, axis=0)
    batch[1, 60:] += 0.3
    keys, measures = problem.keys(batch), problem.evaluate(batch[:1]).measures
    assert keys is not None
    assert measures is not None
    assert (keys[0] != keys[1]) == (measures[0, 1] > 0)


def test_a_row_without_voxels_does_not_move() -> None:
    problem = VoxelBody(seconds=0.5).build(device="cpu")
    nothing = np.zeros((2, 80))
    found = problem.evaluate(nothing)
    np.testing.assert_array_equal(found.fitness, 0.0)
    np.testing.assert_array_equal(found.measures, 0.0)
    assert problem.describe(nothing[0]) == {}
    with pytest.raises(InvalidValue, match="make no robot"):
        problem.film(nothing[0])


def test_bad_options() -> None:
    with pytest.raises(InvalidValue, match="width of voxel-body must be a whole number of 1 or more, not 0"):
        VoxelBody(width=0)
    with pytest.raises(InvalidValue, match="seconds of voxel-controller must be a finite number above 0 s, not -1"):
        VoxelController(seconds=-1.0).build(device="cpu")
    with pytest.raises(InvalidValue, match="width of voxel-controller must be"):
        VoxelController(width=0).build(device="cpu")
