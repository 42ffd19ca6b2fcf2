"""Pictures, cameras and exports refuse in one sentence what they cannot draw, before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, springs
from annelid.core.errors import AnnelidError
from annelid.view import sensors
from annelid.view.camera.camera import Camera

NO: Any = "no"
THREE: Any = 3
AHEAD = Camera((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def simulation() -> Simulation[Any]:
    return springs.simulation(springs.block((2, 2, 2)), device="cpu", threads=1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"camera": 3}, "the camera must be a view.camera.Camera, a function of the snapshot .* or None, not 3"),
        ({"camera": lambda shot: 3}, "what the function of a camera returns must be a view.camera.Camera, not int: 3"),
        ({"show": 3}, "what a picture shows must be a list of names, not 3"),
        ({"samples": "many"}, "samples must be a whole number between 1 and 64 of rays for a pixel, not 'many'"),
        ({"samples": 2.5}, "samples must be a whole number"),
        ({"name": 3}, "the name in the caption of a picture must be a text or None, not int: 3"),
        ({"pixels": [[64, 48], [1]]}, "width and height of a picture"),
        ({"path": 3}, "a file must be named by a text or a path, not by 3"),
    ],
)
def test_pictures(simulation: Simulation[Any], options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        simulation.picture(**{"path": None, "pixels": (64, 48), **options})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": 3}, "a file must be named by a text or a path, not by 3"),
        ({"follow": "no"}, "follow must be True or False, not 'no'"),
        ({"progress": True}, "progress of a video must be a Progress or None, not bool: True"),
    ],
)
def test_videos(simulation: Simulation[Any], tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        simulation.video(**{"path": tmp_path / "a.gif", "seconds": 0.001, "pixels": (64, 48), **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: sensors.lidar(NO), "directions of a lidar must be given as numbers, not 'no'"),
        (lambda: sensors.lidar([(1, 0, 0)], position=NO), "the position of a lidar must be given as numbers"),
        (lambda: sensors.lidar([(1, 0, 0)], near=NO), "near of a lidar must be from 0 to less than far"),
        (
            lambda: sensors.lidar([(1, 0, 0)], far=NO),
            "far of a sensor must be a distance above 0, and finite, not 'no'",
        ),
        (lambda: sensors.depth_image(AHEAD, NO), "the size of an image is a width and a height in pixels, not 'no'"),
        (lambda: sensors.color_image(AHEAD, THREE), "the size of an image is a width and a height in pixels, not 3"),
    ],
)
def test_sensors_that_see(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()


def test_a_page_takes_no_words_for_truth_values(simulation: Simulation[Any]) -> None:
    with pytest.raises(AnnelidError, match="wait must be True or False, not 'no'"):
        simulation.view(wait=NO)
    with pytest.raises(AnnelidError, match="open must be True or False, not 'no'"):
        simulation.view(open=NO)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: Camera(THREE, (0.0, 0.0, 0.0)), "position, target and up of a camera are three numbers each, not 3"),
        (lambda: Camera((1.0, 1.0, 1.0), NO), "target of a camera must be given as numbers, not 'no'"),
        (lambda: Camera((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), fov=NO), "fov 'no' must lie between 0 and pi"),
        (lambda: Camera((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), world=NO), "world 'no' must be the number of a world"),
        (lambda: Camera.framing(THREE), "a camera frames a snapshot, .* or points of shape .*, not 3"),
        (lambda: Camera.framing(np.eye(3), margin=NO), "margin of a camera must be a number, not 'no'"),
        (lambda: Camera.framing(np.eye(3), orthographic=NO), "orthographic must be True or False, not 'no'"),
    ],
)
def test_cameras(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
