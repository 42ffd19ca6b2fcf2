"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annelid import voxels
from annelid.core.errors import AnnelidError
from annelid.voxels.tasks import Balancing


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"work": "no"}, "work of a simulation of voxels must be True or False, not 'no'"),
        ({"together": "no"}, "together of a simulation of voxels must be True or False, not 'no'"),
        ({"control_interval": 2.5}, "control_interval .* must be a whole number .*, not 2.5"),
        ({"precision": ["float32"]}, "precision .* must be one of float32, float64"),
        ({"substeps": "some"}, "substeps .* must be a whole number .* or None, not 'some'"),
        ({"positions": "here"}, "positions must be given as numbers, not 'here'"),
    ],
)
def test_worlds(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        voxels.simulation(voxels.biped(4), device="cpu", threads=1, **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"where": 3}, "cells that a sensor reads must be pairs"),
        ({"where": "trunk"}, "cells that a sensor reads must be whole numbers, not 'trunk'"),
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


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            lambda given: voxels.biped(4, seed=given),
            "the seed of a robot must be a whole number of 0 or more, not 'no'",
        ),
        (lambda given: voxels.biped(4, fixed=given), "fixed masses of a robot must be an array of truth values"),
        (lambda given: voxels.biped(4).fix(given), "what chooses masses must be a function, not str: 'no'"),
        (lambda given: voxels.biped(4).fix(lambda x, y, corner: given), "what chooses masses must be True or False"),
        (lambda given: voxels.largest_connected([[1], [1, 2]]), "the grid of a robot must be whole numbers"),
        (lambda given: voxels.Voxel(scaffolding=[given, 1]), "the scaffolding of a voxel must be letters of 'EIXC'"),
        (lambda given: voxels.Voxel(ropes=[given]), r"ropes of a voxel must be one of lower, upper, None, not"),
        (lambda given: voxels.sensors.velocity(given), "the axis of a velocity must be 'x', 'y' or 'magnitude'"),
        (lambda given: Balancing(largest_angle=given), "the largest angle of the swing must be between 0 and 90°"),
        (lambda given: voxels.worm(3, given), "the material of a body must be a voxels.Voxel or None, not str: 'no'"),
        (lambda given: voxels.Robot.from_text("a", given), "materials of a drawing must be a voxels.Voxel, .* not str"),
        (lambda given: voxels.Robot.from_function(2, 2, given), "what chooses materials must be a function, not str"),
        (lambda given: voxels.Robot.from_function(given, 2, lambda x, y: None), "the width and height of a robot must"),
        (lambda given: voxels.Robot.from_text(3), "the drawing of a robot must be a text, not int: 3"),
        (lambda given: voxels.Box(size=3), "size and position of a box are two numbers each"),
        (lambda given: voxels.Box(size=(1.0, 1.0), mass=given), "a box needs a positive size and mass and finite numb"),
        (lambda given: voxels.Terrain(given), "points of a terrain must be given as numbers, not 'no'"),
        (lambda given: voxels.Terrain([[0, 0], [1, 0]], friction=given), "friction of a terrain must not be negative"),
        (lambda given: voxels.sensors.lidar(given), "a lidar needs a finite direction and a positive reach, not 'no'"),
        (lambda given: voxels.sensors.time_function(given), "frequency of a time function must be a finite number"),
    ],
)
def test_parts_of_worlds(wrong: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong("no")
