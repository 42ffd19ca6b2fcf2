"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from annelid import voxels
from annelid.core.errors import AnnelidError


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"work": "no"}, "work of a simulation of voxels must be True or False, not 'no'"),
        ({"together": "no"}, "together of a simulation of voxels must be True or False, not 'no'"),
        ({"control_interval": 2.5}, "the control interval must be 0 or more steps, not 2.5"),
        ({"precision": ["float32"]}, "precision .* must be 'float32' or 'float64'"),
        ({"substeps": "some"}, "substeps must be at least 1, and a whole number, not 'some'"),
        ({"positions": "here"}, "positions must be given as numbers, not 'here'"),
        ({"lanes": 0}, "lanes = 0 cannot be used; give a whole number"),
    ],
)
def test_worlds(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        voxels.simulation(voxels.biped(4), device="cpu", threads=1, **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cells": 3}, "cells that a sensor reads must be pairs"),
        ({"cells": "trunk"}, "cells that a sensor reads must be whole numbers, not 'trunk'"),
        ({"robot": "first"}, "a robot is named by its number in its world, .*, not by 'first'"),
    ],
)
def test_sensors(options: dict[str, Any], sentence: str) -> None:
    simulation = voxels.simulation(voxels.biped(4), device="cpu", threads=1)
    with pytest.raises(AnnelidError, match=sentence):
        simulation.sensors.add("place", voxels.position_of(**options))


def test_bodies() -> None:
    wrong: Any = "no"
    with pytest.raises(AnnelidError, match="rotated must be True or False, not 'no'"):
        voxels.sensors.velocity("x", rotated=wrong)
    with pytest.raises(AnnelidError, match="fill must be a share of the cells from 0 to 1, not 'no'"):
        voxels.random_body(3, 3, fill=wrong)
    with pytest.raises(AnnelidError, match="seed = 'no' cannot be used"):
        voxels.random_body(3, 3, seed=wrong)
    with pytest.raises(AnnelidError, match="named by its number in its world, or None for all, not by 'no'"):
        voxels.energy_of(wrong)
