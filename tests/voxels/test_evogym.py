"""Bodies and worlds of EvoGym: types, places, what is fixed, and what cannot be had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import voxels
from annelid.core.errors import FileFormatError, InvalidValue, PartlyUsed
from annelid.voxels import evogym


def test_structures_have_their_top_row_first(tmp_path: Path) -> None:
    structure = np.array([[3, 0, 4], [1, 2, 5]])
    robot = evogym.from_structure(structure)
    assert robot.cells.tolist() == [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]]
    made = [robot.materials[number] for number in robot.grid[robot.grid >= 0]]
    assert [voxel.max_area_change for voxel in made] == [0.0, 0.4, 0.0, 0.0, 0.4]
    assert robot.fixed.all(axis=2).tolist() == [[False, False], [False, False], [True, False]]
    np.savez(tmp_path / "a.npz", structure, np.array([[3, 4, 0, 2], [4, 5, 3, 5]]))
    assert evogym.read_structure(tmp_path / "a.npz").grid.tolist() == robot.grid.tolist()


def test_neighbours_that_are_apart_are_joined_with_a_warning() -> None:
    with pytest.warns(PartlyUsed, match="leaves 1 pairs of neighbours apart, as cells 0 and 1"):
        robot = evogym.from_structure([[1, 1, 1]], [[1], [2]])
    assert (robot.grid >= 0).sum() == 3


@pytest.mark.parametrize("structure", [[[0, 0]], [[7, 1]], [[1.5]], [1, 2], "ab", [[1, 0, 1]]])
def test_what_is_no_structure_is_refused(structure: Any) -> None:
    with pytest.raises(InvalidValue):
        evogym.from_structure(structure)


def world(path: Path, **changes: Any) -> Path:
    ground = {"indices": [0, 1, 2, 3, 4], "types": [5] * 5}
    pair = {"indices": [6, 8, 13], "types": [2, 3, 3], "neighbors": {"8": [13], "13": [8]}}
    values = {"grid_width": 5, "grid_height": 4, "objects": {"ground": ground, "pair": pair}, **changes}
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def test_worlds_become_robots_among_boxes(tmp_path: Path) -> None:
    setup = evogym.read_world(world(tmp_path / "world.json"))
    assert {name: robot.voxel_count for name, robot in setup.robots.items()} == {"pair-1": 1, "pair-2": 2}
    assert setup.positions.tolist() == [[3.0, 3.0], [9.0, 3.0]]
    (box,) = setup.boxes
    assert (box.size, box.position, box.held) == ((15.0, 3.0), (7.5, 1.5), "fixed")
    simulation = voxels.simulation(list(setup.robots.values()), **setup.options(), device="cpu", threads=1)
    simulation.run(1.0)
    heights = simulation.solver.readout.centers(simulation.state).reshape(-1, 2)[:, 1]
    assert heights == pytest.approx([4.5, 6.0], abs=0.3)  # they rest on the ground, 3 m high


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"grid_width": 0}, "cells"),
        ({"grid_width": 10**9, "grid_height": 10**9}, "cells"),
        ({"objects": {"a": {"indices": [0, 0], "types": [1, 1]}}}, "twice"),
        ({"objects": {"a": {"indices": [99], "types": [1]}}}, "outside"),
        ({"objects": {"a": {"indices": [1], "types": [9]}}}, "type 9"),
        ({"objects": {"a": {"indices": [1], "types": [1]}, "b": {"indices": [1], "types": [1]}}}, "over another"),
        ({"objects": []}, "AttributeError"),
    ],
)
def test_what_is_no_world_is_refused_in_a_sentence(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=said):
        evogym.read_world(world(tmp_path / "world.json", **changes))
