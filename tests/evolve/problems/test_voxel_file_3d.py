"""Robots for a base file: what the file says holds, and only cells, and phases if asked for, are evolved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.commands.support.experiments import experiment_of
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.evolve import evolve
from annelid.evolve.problems.voxel_file_3d import VoxelFile3d


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A soft and an active material, and a fitness that counts voxels and seconds."""
    kinds = (voxels3d.Voxel(expansion=0.0), voxels3d.Voxel())
    robot = voxels3d.Robot.from_array(np.ones((3, 3, 2), int), kinds, amplitude=10.0, frequency=4.0)
    fitness = voxels3d.Formula(("mtADD", "num_voxel", "t"))
    vxa = voxels3d.vxa_of(robot, seconds=0.005, fitness=fitness)
    layers = {"PhaseOffset": np.full((3, 3, 2, 1), 0.25)}
    path = tmp_path / "base.vxa"
    replace(vxa, structure=replace(vxa.structure, layers=layers)).write(path)
    return str(path)


@pytest.mark.parametrize("encoding", ["cppn", "direct"])
def test_cells_are_evolved_and_the_file_says_the_rest(base: str, encoding: Any) -> None:
    problem = VoxelFile3d(base=base, encoding=encoding).build(device="cpu", threads=1)
    rows = problem.sample(np.random.default_rng(2), 6)
    evaluation = problem.evaluate(rows)
    assert evaluation.measures is not None
    counts = evaluation.measures[:, 0]
    filled = counts > 0
    assert filled.sum() >= 2
    assert np.isnan(evaluation.fitness[~filled]).all()
    np.testing.assert_allclose(evaluation.fitness[filled], counts[filled] + 0.005, atol=2e-4)
    file = problem.files(rows)[int(np.argmax(counts))]
    assert file.structure.cells.max() <= 2
    assert (file.structure.layers["PhaseOffset"] == 0.25).all()
    assert problem.describe(rows[0])["cells"] == problem.files(rows)[0].structure.cells.tolist()
    simulation, seconds = problem.film(rows[int(np.argmax(counts))])
    assert seconds == pytest.approx(0.005, abs=2e-4)
    assert simulation.step_count == 0


def test_phases_are_evolved_if_asked_for(base: str) -> None:
    problem = VoxelFile3d(base=base, encoding="direct", phases=True, cells=(2, 2, 1)).build(device="cpu", threads=1)
    assert problem.parameters == 2 * 2 * (3 + 1)
    row = np.zeros((1, 2, 2, 1, 4))
    row[..., 2] = 1.0  # the second material everywhere
    row[0, :, 1, 0, 3] = 0.5
    told = problem.describe(row.ravel())
    assert told["cells"] == [[[2], [2]], [[2], [2]]]
    assert told["phases"] == [[[0.0], [0.5]], [[0.0], [0.5]]]


def test_the_command_takes_the_file(base: str, tmp_path: Path) -> None:
    experiment = experiment_of(base, ["problem.encoding=direct", "searcher.population=4"])
    assert experiment.name == "base-evolved"
    assert experiment.problem == VoxelFile3d(base=base, encoding="direct")
    found = evolve(experiment.changed(generations=1), device="cpu", threads=1, folder=tmp_path / "out")
    assert found.fitness[0] > 1.0
    best = voxels3d.setup_of(voxels3d.Vxa.read(tmp_path / "out" / "best.vxa"))
    assert voxels3d.run_setups([best], device="cpu", threads=1)[0].fitness == found.fitness[0]
    with pytest.raises(FileFormatError, match="cannot be read"):
        VoxelFile3d(base=str(tmp_path / "none.vxa")).build(device="cpu")
    with pytest.raises(InvalidValue, match="three numbers from 1 to 100, or all 0"):
        VoxelFile3d(cells=(2, 0, 1))
