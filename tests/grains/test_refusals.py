"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import AnnelidError
from annelid.grains.filling import fill
from annelid.shapes import Box, Plane, Rigid, Sphere


def simulated(obstacles: Any = (), **options: Any) -> Any:
    return grains.simulation(grains.Bed([[0.0, 0.0, 0.1]], 0.01), obstacles=obstacles, device="cpu", **options)


def driven(path: Any) -> Rigid:
    return Rigid(Sphere(0.01), motion=path)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: simulated(gravty=(0, 0, -1)), "named 'gravty'. Did you mean 'gravity'?"),
        (lambda: simulated(gravity=-9.81), "gravity = -9.81 cannot be used; give three finite numbers"),
        (lambda: simulated(dt="short"), "dt = 'short' cannot be used; give a time in seconds, or 'auto'"),
        (lambda: simulated(Plane()), "not a Plane: write \\[obstacle\\] for one"),
        (lambda: simulated([Plane(), "wall"]), "obstacle 1 is a str: give a Rigid"),
        (lambda: grains.Grain(friction="a lot"), "friction of a grain must be a number of 0 or more, not 'a lot'"),  # type: ignore[arg-type]
        (lambda: grains.Grain(density="heavy"), "density of a grain must be a number above 0, not 'heavy'"),  # type: ignore[arg-type]
        (lambda: grains.Bed("here", 0.01), "positions must be an array of numbers, not 'here'"),
        (lambda: grains.Bed([[0, 0, 0]], 0.01, (grains.SAND, grains.GLASS)), "2 materials needs kinds"),
        (lambda: fill(Box((0.1, 0.1, 0.1)), 0.01, 0.3, seed=-1), "seed = -1 cannot be used"),
        (lambda: driven(lambda times: np.zeros(3)), "positions of shape \\[k, 3\\] and quaternions"),
        (lambda: driven(lambda times: (np.zeros((1, 2)), np.ones((1, 4)))), "not \\[1, 2\\] and \\[1, 4\\] for 1"),
        (lambda: driven(lambda times: (np.zeros((1, 3)), np.zeros((1, 4)))), "a quaternion of 0"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
