"""The world: what can be set, what can be changed on the way, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import DeviceUnavailable, InvalidValue, UnknownName
from annelid.shapes import Plane

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dt": 0.0}, "dt of a simulation of springs must be a finite number above 0 s or 'auto', not 0.0"),
        ({"dt": -1e-4}, "dt of a simulation of springs must be a finite"),
        ({"dt": math.nan}, "dt of a simulation of springs must be a finite"),
        ({"dt": math.inf}, "dt of a simulation of springs must be a finite"),
        ({"integrator": "leapfrog"}, "must be one of euler, symplectic, verlet, rk4, not 'leapfrog'"),
        ({"precision": "float16"}, "must be one of float32, float64, not 'float16'"),
        ({"velocity_damping": -1.0}, "velocity_damping .* must be a finite number of 0 1/s or more, not -1.0"),
        ({"velocity_damping": math.nan}, "velocity_damping"),
        ({"drag": -1.0}, "drag .* must be a finite number of 0"),
        ({"drag": math.inf}, "drag"),
        ({"gravity": (0.0, 0.0)}, "must be three finite numbers"),
        ({"gravity": (0.0, math.nan, 0.0)}, "must be three finite numbers"),
        ({"gravity": -9.81}, "must be three finite numbers"),
        ({"obstacles": ["ground"]}, "obstacle 0 is a str"),
        ({"obstacles": Plane()}, "obstacles"),
    ],
)
def test_bad_worlds_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        springs.simulation(springs.block((2, 2, 2)), device="cpu", **options)


def test_bad_machines_are_refused() -> None:
    body = springs.block((2, 2, 2))
    with pytest.raises(DeviceUnavailable, match="'gpu'"):
        springs.simulation(body, device="gpu")
    with pytest.raises(InvalidValue, match="threads must be a whole number of at least 1, not -2"):
        springs.simulation(body, device="cpu", threads=-2)


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownName, match=r"option of a simulation of springs named 'gravty'. Did you mean 'gravity'"):
        springs.simulation(springs.block((2, 2, 2)), device="cpu", gravty=(0.0, 0.0, 0.0))


def test_the_world_can_change_on_the_way(simulate: Make, speed: Make) -> None:
    """Gravity, damping, drag and the constants of obstacles; the compiled kernels stay."""
    body = springs.Body([[0.0, 0.0, 1.0]], 1.0, [], [], [])
    plane = Plane()
    simulation = simulate(body, dt=1e-3, obstacles=[plane])
    simulation.step(100)
    model = simulation.solver.model
    model.set_world(replace(model.world, gravity=(2.0, 0.0, 0.0)))
    simulation.step(100)
    np.testing.assert_allclose(speed(simulation)[0], [0.2, 0.0, 0.0], atol=1e-12)
    model.set_world(replace(model.world, gravity=(0.0, 0.0, 0.0), velocity_damping=5.0))
    simulation.step(100)
    assert speed(simulation)[0, 0] == pytest.approx(0.2 * (1.0 - 5e-3) ** 100)
    model.set_world(replace(model.world, velocity_damping=0.0, obstacles=[replace(plane, point=(0.0, 0.0, 1.5))]))
    simulation.step(100)
    assert speed(simulation)[0, 2] > 1.0  # thrown out of the plane that rose


@pytest.mark.parametrize(
    "changes", [{"integrator": "rk4"}, {"precision": "float32"}, {"obstacles": [Plane()]}, {"dt": 2e-4}]
)
def test_what_the_kernels_are_made_of_cannot_change(changes: dict[str, Any], simulate: Make) -> None:
    model = simulate(springs.block((2, 2, 2))).solver.model
    world = model.world
    with pytest.raises(InvalidValue, match="cannot change"):
        model.set_world(replace(world, **changes))
    assert model.world is world
