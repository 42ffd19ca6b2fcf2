"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import control, springs
from annelid.core.errors import AnnelidError

NO: Any = "no"
THREE: Any = 3
UNEVEN: Any = [[1], [1, 2]]


def connected(**options: Any) -> None:
    body = springs.block((2, 2, 2)).control("leg")
    simulation: Any = springs.simulation(body, device="cpu", threads=1)
    given = {"simulation": simulation, "controller": lambda time, readings: [1.0], "every": 0.01, **options}
    control.connect(**given)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: connected(simulation=3), "what is controlled must be a Simulation, not int: 3"),
        (lambda: connected(sensors="tip"), "sensors of a controller must be a list of names, not 'tip'"),
        (lambda: connected(controls=3), "controls of a controller must be a list of names, not 3"),
        (lambda: connected(ramp="no"), "ramp must be True or False, not 'no'"),
        (lambda: connected(unless=3), "unless must be a function, not int: 3"),
        (lambda: control.MLP(NO), "weights of a controller must be given as numbers, not 'no'"),
        (lambda: control.MLP([1.0], hidden=THREE), r"hidden layers must be a list of sizes, such as \(8,\), not 3"),
        (lambda: control.MLP([1.0], hidden=[2.5]), "sizes of hidden layers must be whole numbers"),  # type: ignore[list-item]
        (lambda: control.MLP([1.0], hidden=UNEVEN), "hidden layers must be a list of sizes"),
        (lambda: control.MLP([1.0], driving=THREE), "driving of a network must be a Sine, a function .*, not 3"),
        (lambda: control.MLP([1.0], bias_all=NO), "bias_all of a network must be True or False, not 'no'"),
        (lambda: control.DistributedMLP([1.0], shared=NO), "shared of a distributed network must be True or False"),
        (lambda: control.DistributedMLP([1.0], signals=NO), "the number of signals must not be negative, not 'no'"),
        (lambda: control.Sine(NO), "frequency of a sine must be a finite number, not 'no'"),
        (lambda: control.PhasedSines([0.0, 1.0], frequency=NO), "frequency of sines must be given as numbers"),
        (lambda: control.PhasedSines([0.0, 1.0], offset=[1, 2, 3]), "offset of sines must be one number, or 2"),
        (lambda: control.Development([0.0] * 3, duration=NO), "the duration of a development must be a positive time"),
        (lambda: control.Development([0.0] * 3, frequency=NO), "the frequency of a development must be a number"),
        (lambda: control.TimeFunctions(THREE), "time functions must be a function, or a list of one a channel, not 3"),
        (lambda: control.HostController(THREE), "what a HostController calls must be a function, not int: 3"),
        (lambda: control.WarpController(np.sin), "a Warp function, decorated with @wp.func, not ufunc"),
        (lambda: control.Window(length=NO), "length of a window must be a whole number of 1 or more, not 'no'"),
        (lambda: control.controller_from_dict(THREE), "a controller from a file must be a table"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
