"""Bodies far from the origin, where single precision keeps too few digits, are warned of in each physics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, springs, voxels, voxels3d
from annelid.core.errors import FarAway
from annelid.shapes import tet_beam

NOWHERE = {"gravity": (0.0, 0.0, 0.0), "device": "cpu", "threads": 1}
BODY = springs.block((3, 3, 3), 0.01)
GRID = np.zeros((2, 2), int)


def bed(far: float) -> grains.Bed:
    return grains.Bed([[far, 0.0, 1.0], [far + 0.1, 0.0, 1.0]], 0.005)


def solid(far: float) -> fem.Solid:
    return fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)).moved((far, 0.0, 0.0)), "ecoflex-00-30")


COARSE: dict[str, Callable[[float], Any]] = {
    "springs": lambda far: springs.simulation(BODY.moved((0.0, -far, 0.0)), **NOWHERE),
    "grains": lambda far: grains.simulation(bed(far), **NOWHERE),
    "voxels": lambda far: voxels.simulation(
        voxels.Robot(GRID, [voxels.Voxel(side_length=0.01)]), positions=[[far, 0.0]], **NOWHERE
    ),
    "coupling": lambda far: coupling.simulation(BODY.moved((far, 0.0, 0.0)), bed(far), **NOWHERE),
}
FINE: dict[str, Callable[[float], Any]] = {
    "springs": lambda far: springs.simulation(BODY.moved((far, 0.0, 0.0)), precision="float64", **NOWHERE),
    "voxels3d": lambda far: voxels3d.simulation(voxels3d.Robot(GRID[None]), positions=[[far, 0.0, 0.0]], **NOWHERE),
    "fem": lambda far: fem.simulation(solid(far), gravity=(0.0, 0.0, 0.0), device="cpu"),
}


@pytest.mark.parametrize("physics", COARSE)
def test_a_body_far_away_is_warned_of(physics: str) -> None:
    with pytest.warns(FarAway, match=r"150 m from the origin and its points are 0\.01\d* m apart.*; (move|place) it"):
        COARSE[physics](150.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FarAway)
        COARSE[physics](90.0)


@pytest.mark.parametrize("physics", FINE)
def test_a_body_with_enough_digits_is_not(physics: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FarAway)
        FINE[physics](1e4)
