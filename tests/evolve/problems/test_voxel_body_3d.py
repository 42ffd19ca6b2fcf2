"""Bodies of 3-D voxels from rows of numbers: connected, on the ground, and the same walk in any batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from annelid import voxels3d
from annelid.core.errors import InvalidValue
from annelid.evolve.age_fitness import fronts
from annelid.evolve.problems.encodings_3d import KINDS, Direct, Patched, PatternNetwork
from annelid.evolve.problems.voxel_body_3d import COUNTER, MUSCLE, STIFF, VoxelBody3d

ENCODINGS: tuple[Any, ...] = ("cppn", "patched", "direct", "growth")
SMALL: dict[str, Any] = {"cells": (3, 3, 3), "seconds": 0.1, "settling": 0.02}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bodies_are_in_one_piece_on_the_ground(encoding: Any) -> None:
    problem = VoxelBody3d(encoding=encoding).build(device="cpu")
    rows = problem.sample(np.random.default_rng(0), 60)
    grids = problem.encoding.grids(rows)
    assert grids.shape == (60, 6, 6, 6)
    filled = [grid for grid in grids if (grid >= 0).any()]
    assert len(filled) > 45
    for grid in filled:
        assert ndimage.label(grid >= 0)[1] == 1
        assert (grid[:, :, 0] >= 0).any()
    shares = [np.mean([(grid == kind).sum() / (grid >= 0).sum() for grid in filled]) for kind in range(4)]
    assert min(shares) > 0.1  # all materials are tried
    robot = problem.robot(rows[int(np.argmax((grids >= 0).sum(axis=(1, 2, 3))))])
    assert robot is not None
    assert problem.keys(rows)[0] == grids[0].tobytes()


def test_rows_say_what_cells_are() -> None:
    direct = Direct((2, 1, 1))
    row = np.zeros((1, 2, KINDS))
    row[0, 0, 1 + STIFF] = row[0, 1, 1 + COUNTER] = 1.0
    assert direct.grids(row.reshape(1, -1))[0].ravel().tolist() == [STIFF, COUNTER]
    network = PatternNetwork((3, 1, 2))
    genes = np.zeros((1, network.size))
    outputs = genes[0, -KINDS * 15 :].reshape(KINDS, 15)
    outputs[0, 4] = 1.0  # filled everywhere
    outputs[1 + MUSCLE, 0], outputs[1 + COUNTER, 0] = 1.0, -1.0  # by the sign of x; soft where it is 0
    assert network.grids(genes)[0][:, 0, 0].tolist() == [COUNTER, 0, MUSCLE]
    outputs[0, 2] = 2.0  # the upper layer only, which comes down
    grid = network.grids(genes)[0]
    assert (grid[:, :, 0] >= 0).all()
    assert (grid[:, :, 1] < 0).all()


def test_patches_are_exceptions_from_the_same_random_networks() -> None:
    network, patched = PatternNetwork((4, 3, 3)), Patched((4, 3, 3))
    rows = patched.sample(np.random.default_rng(3), 40)
    plain = network.sample(np.random.default_rng(3), 40)
    np.testing.assert_array_equal(patched.grids(rows), network.grids(plain))
    full = int(np.argmax((network.grids(plain) >= 0).sum(axis=(1, 2, 3))))
    rows[full, network.size :].reshape(4, 3, 3, KINDS)[1, 1, 1, 1 + STIFF] = 2.0
    said, is_now = network.scores(plain)[full].argmax(axis=-1), patched.scores(rows)[full].argmax(axis=-1)
    said[1, 1, 1] = 1 + STIFF
    np.testing.assert_array_equal(is_now, said)


def test_a_body_walks_the_same_in_any_company() -> None:
    problem = VoxelBody3d(encoding="direct", **SMALL).build(device="cpu", threads=1)
    rows = problem.sample(np.random.default_rng(1), 4)
    rows[1] = 0.0  # all kinds are equal: empty
    rows[2] = np.tile([0.0, 1.0, 0.0, 0.0, 0.0], 27)  # nothing moves
    together = problem.evaluate(rows)
    assert together.fitness[[1, 2]].tolist() == [0.0, 0.0]
    assert together.measures is not None
    assert together.measures[1:3].tolist() == [[0.0, 0.0], [27.0, 0.0]]
    assert (together.fitness[[0, 3]] > 0.0).all()
    assert problem.evaluate(rows[3:]).fitness[0] == together.fitness[3]
    assert problem.describe(rows[1]) == {}
    told = problem.describe(rows[0])
    made = voxels3d.Robot.from_array(np.array(told["cells"]), problem.materials)
    assert made.voxel_count == told["voxels"] == together.measures[0, 0]
    simulation, seconds = problem.film(rows[0])
    assert (simulation.dt, seconds) == (problem.dt, 0.1)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidValue, match="settling of voxel-body-3d must be below its seconds, 1.0, not 1.0"):
        VoxelBody3d(seconds=1.0, settling=1.0)
    with pytest.raises(InvalidValue, match="three numbers, each a whole number between 1 and 100"):
        VoxelBody3d(cells=(0, 6, 6))


def test_young_ones_need_not_beat_old_ones() -> None:
    fitness, ages = np.array([3.0, 2.0, 1.0, 2.5, 3.0]), np.array([5.0, 2.0, 0.0, 5.0, 5.0])
    assert fronts(fitness, ages).tolist() == [0, 0, 0, 2, 1]
