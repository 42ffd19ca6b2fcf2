"""Holds whose position is a control: alone, one by one and together."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.materials import NeoHooke

from .solids import bar, rubber

PRECISE = fem.Together(newtons=3, gradients=16)


def clamped() -> fem.Solid:
    """A bar along x of a material with a law, clamped at 0."""
    return fem.Solid(bar().mesh, rubber(0.45).with_(law=NeoHooke(1e6 / 2.9))).fix(lambda p: p[:, 0] < 1e-9)


def slides(rate: float = 3.0) -> list[fem.Slide]:
    """What lifts the clamp, and what moves it aside."""
    end = np.flatnonzero(bar().nodes[:, 0] < 1e-9)
    return [
        fem.Slide(name="up", where=end, direction=(0.0, 0.0, 2.0), travel=(-0.1, 0.3), travel_rate=rate),
        fem.Slide(name="aside", where=end, direction=(0.0, 1.0, 0.0), travel=(0.0, 0.1)),
    ]


def moved(**options: object) -> Simulation[fem.Solver]:
    settings = {"dt": 0.01, "device": "cpu", "threads": 1, "actuators": slides(), **options}
    return fem.simulation(clamped(), **settings)


def test_holds_go_where_they_are_commanded_no_faster_than_they_may() -> None:
    simulation = moved()
    simulation.sensors.add("travel", [fem.effort_of("up"), fem.stroke_of("up")])
    simulation.controls.command({"up": 0.2, "aside": 0.05}, ramp=0.02)
    solid = simulation.solver.model.solid
    held = solid.held.all(axis=1)
    for step, up, aside in ((1, 0.03, 0.025), (3, 0.09, 0.05), (8, 0.2, 0.05)):
        simulation.run(step * 0.01 - simulation.time)
        offsets = simulation.positions()[held] - solid.nodes[held]
        np.testing.assert_allclose(offsets, np.tile([0.0, aside, up], (held.sum(), 1)), atol=1e-12)
        np.testing.assert_allclose(simulation.sensors["travel"], up, rtol=1e-6)
    simulation.reset()
    np.testing.assert_array_equal(simulation.positions(), solid.nodes)
    simulation.step()
    np.testing.assert_array_equal(simulation.positions()[held], solid.nodes[held])


def test_together_they_move_as_one_by_one_and_begin_again_at_their_own_time() -> None:
    pair = [moved(worlds=2, together=how) for how in (False, PRECISE)]
    for simulation in pair:
        simulation.controls.command({"up": [0.2, -0.05], "aside": [0.0, 0.1]}, ramp=0.03)
        simulation.step(5)
        simulation.reset([1])
        simulation.controls.command({"up": [0.2, 0.1]}, ramp=0.03)
        simulation.step(4)
    one_by_one, together = (simulation.positions() for simulation in pair)
    assert np.abs(one_by_one - np.tile(clamped().nodes, (2, 1))).max() > 0.05
    assert np.abs(one_by_one - together).max() < 2e-5
    held = np.tile(clamped().held.all(axis=1), 2)
    np.testing.assert_array_equal(one_by_one[held], together[held])


def test_from_equilibrium_to_equilibrium_a_whole_bar_goes_along() -> None:
    simulation = moved(dynamic=False, gravity=(0.0, 0.0, 0.0))
    simulation.controls.command({"up": 0.02, "aside": 0.1})
    simulation.step()
    np.testing.assert_allclose(
        simulation.positions() - clamped().nodes, np.tile([0.0, 0.1, 0.02], (len(clamped().nodes), 1)), atol=1e-7
    )


def test_what_cannot_be_moved_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"jaw moves node \d+, which is not held: hold what a Slide moves"):
        moved(actuators=[fem.Slide(name="jaw", where=None, direction=(1.0, 0.0, 0.0), travel=(0.0, 0.1))])
    with pytest.raises(InvalidValue, match=r"jaw moves no node"):
        moved(actuators=[fem.Slide(name="jaw", where=[], direction=(1.0, 0.0, 0.0), travel=(0.0, 0.1))])
    with pytest.raises(InvalidValue, match=r"direction of jaw must be three finite numbers"):
        fem.Slide(name="jaw", where=None, direction=(0.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match=r"up can only be commanded between limits of its travel"):
        moved(actuators=[fem.Slide(name="up", where=[0], direction=(0.0, 0.0, 1.0))])
    with pytest.raises(InvalidValue, match=r"midpoint rule cannot step a hold that a Slide moves"):
        moved(integrator="midpoint")
    with pytest.raises(InvalidValue, match=r"up moves a hold, and a fem.Robot is held where it is"):
        fem.Robot(clamped(), slides())
