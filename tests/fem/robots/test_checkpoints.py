"""Save, load, run = run, to the bit, for robots that follow targets and robots whose efforts are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.simulation import Simulation
from annelid.robots import pendulum
from annelid.shapes import Plane

from .robots import hollow, trunk

BEGIN = np.array([0.148, 0.0, -0.018])
Make = Callable[[], Simulation[Any]]


def sideways(time: float) -> dict[str, np.ndarray]:
    return {"tip": BEGIN + np.array([0.0, 0.05 * time, 0.0])}


def following(**options: Any) -> Simulation[Any]:
    return fem.inverse_simulation(trunk(**options), dt=0.05, script=sideways)


def pressed() -> Simulation[Any]:
    """Down onto a plane: contacts come, and the number of limits changes."""
    floor = Plane(point=(0.0, 0.0, -0.03))
    low = lambda time: {"tip": BEGIN + np.array([0.0, 0.0, -0.3 * time])}  # noqa: E731
    return fem.inverse_simulation(trunk(obstacles=[floor]), dt=0.05, script=low)


def lagged(weight: str = "hydrostatic", jump: float = 0.0) -> Simulation[Any]:
    """A stiffness for three steps; a target that jumps asks for steps with a new one."""
    robot = pendulum(weight=weight, cells=40, device="cpu", threads=1)  # type: ignore[arg-type]
    simulation = fem.inverse_simulation(robot, refresh=3)
    begin = simulation.solver.targets(simulation.state)["tip"]

    def script(time: float) -> dict[str, np.ndarray]:
        return {"tip": begin + np.array([0.006 * time + jump * (time > 0.05), 0.0, -0.012 * time])}

    simulation.solver.script = script
    return simulation


def held() -> Simulation[Any]:
    """A script that names a held chamber at first only: its stroke is held from then on."""
    push = fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 0.0, -1.0))
    robot = hollow(fem.Hydraulic(name="water", growth=0.0), push)

    def script(time: float) -> dict[str, float]:
        return {"push": time} | ({"water": 4e-5 * time} if time < 0.12 else {})

    return fem.forward_simulation(robot, script, dt=0.05)


def inflated() -> Simulation[Any]:
    return fem.forward_simulation(hollow(fem.Pneumatic(name="air")), lambda time: {"air": 2e4 * time}, dt=0.05)


MAKES: dict[str, Make] = {
    "cables": following,
    "contact": pressed,
    "lagged": lagged,
    "lagged-columns": lambda: lagged("columns"),
    "lagged-jump": lambda: lagged(jump=0.004),
    "forward-held": held,
    "forward-air": inflated,
}


@pytest.mark.parametrize("name", MAKES)
def test_a_loaded_run_is_the_run(name: str, tmp_path: Path) -> None:
    first, second = MAKES[name](), MAKES[name]()
    first.step(5)
    uninterrupted = first.state_hash()
    first.reset()
    first.step(2)
    first.save(tmp_path / "early.npz")
    first.step()
    first.save(tmp_path / "state.npz")  # at another age of a stiffness
    first.step(2)
    assert first.state_hash() == uninterrupted
    second.load(tmp_path / "state.npz")
    second.step(2)
    assert second.state_hash() == uninterrupted
    second.load(tmp_path / "early.npz")  # what it has done before does not count
    second.step(3)
    assert second.state_hash() == uninterrupted


def test_targets_and_limits_are_saved(tmp_path: Path) -> None:
    first, second = following(), following()
    first.solver.aim(first.state, {"tip": BEGIN})
    first.solver.limit(first.state, "left", effort=fem.Limits.of("tension of left", (0.0, 1.0)))
    first.step()
    first.save(tmp_path / "state.npz")
    second.load(tmp_path / "state.npz")
    assert second.solver.limits(second.state)["left"][0] == fem.Limits(0.0, 1.0)
    for simulation in (first, second):
        simulation.step(2)
    assert first.state_hash() == second.state_hash()
    np.testing.assert_array_equal(second.solver.targets(second.state)["tip"], BEGIN)


def test_a_reset_is_the_beginning() -> None:
    simulation = lagged()
    before = simulation.state_hash()
    simulation.step(4)
    after = simulation.state_hash()
    simulation.reset()
    assert simulation.state_hash() == before
    simulation.step(4)
    assert simulation.state_hash() == after
    simulation.reset(worlds=[0])  # the clock goes on
    assert simulation.step_count == 4
    assert simulation.state.clock.numpy()[0] == 4
