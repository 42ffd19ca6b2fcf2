"""Many grids at once do what one grid does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from annelid import voxels
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.voxels.grids import Grids, largest_parts, margins, moved, require_robots
from annelid.voxels.model import Model
from annelid.voxels.world import World

some_grids = arrays(np.int8, (3, 4, 5), elements=st.integers(-1, 1))


@given(some_grids)
@settings(max_examples=60)
def test_largest_parts(grids: np.ndarray) -> None:
    for one, part in zip(grids, largest_parts(grids), strict=True):
        np.testing.assert_array_equal(part, voxels.largest_connected(one))


@given(some_grids)
@settings(max_examples=30)
def test_a_grid_in_its_corner(grids: np.ndarray) -> None:
    parts = largest_parts(grids)
    cornered = moved(parts, margins(parts))
    for before, after in zip(parts, cornered, strict=True):
        assert (before >= 0).sum() == (after >= 0).sum()
        if (after >= 0).any():
            assert (after[0] >= 0).any()
            assert (after[:, 0] >= 0).any()
            cells, moved_cells = np.argwhere(before >= 0), np.argwhere(after >= 0)
            np.testing.assert_array_equal(cells - cells.min(axis=0), moved_cells)


@given(some_grids)
@settings(max_examples=30)
def test_counts_are_those_of_a_model(grids: np.ndarray) -> None:
    parts = largest_parts(grids)
    parts = parts[(parts >= 0).any(axis=(1, 2))]
    if not len(parts):
        return
    material = voxels.Voxel()
    robots = [voxels.Robot(grid, (material, material)) for grid in parts]
    model = Model([[robot] for robot in robots], World(), choose_device("cpu"))
    found = Grids(parts)
    np.testing.assert_array_equal(found.starts[:, 0], model.first_body)
    np.testing.assert_array_equal(found.starts[:, 1], model.first_voxel)
    assert found.starts[-1, 2] == sum(len(model.shapes[i].points) for i in model.shape_of)
    np.testing.assert_array_equal(found.sizes * material.side_length, [robot.size for robot in robots])


def test_bad_grids() -> None:
    good = np.zeros((2, 3, 3), np.int8)
    require_robots(good, 1)
    for change, message in (((1, slice(None)), "robot 1 has no voxels"), ((1, 1), "robot 1 has several parts")):
        bad = good.copy()
        bad[change] = -1
        with pytest.raises(InvalidValue, match=message):
            require_robots(bad, 1)
    with pytest.raises(InvalidValue, match="material 2"):
        require_robots(good + 2, 2)
    with pytest.raises(InvalidValue, match=r"shape \[robots, width, height\]"):
        require_robots(good[0], 1)
