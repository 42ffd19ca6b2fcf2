"""The forward problem: given efforts, cables of fixed length, closed chambers, and robots that collapse."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.fem.actuation.chamber import ATMOSPHERE

from .robots import hollow, trunk


def test_a_cable_of_fixed_length_keeps_it_or_is_slack() -> None:
    robot = trunk(up={"pull": 0.004, "tension": (0.0, 100.0)})
    fem.Forward(robot).settle()
    assert robot.aim()[0] == pytest.approx(0.004, abs=1e-10)
    assert robot.efforts[0] > 0.1
    twin = trunk()
    fem.Forward(twin).settle(robot.efforts)
    np.testing.assert_allclose(twin.places(), robot.places(), atol=1e-6)
    slack = trunk(up={"pull": -0.05, "tension": (0.0, 100.0)})
    fem.Forward(slack).settle()
    assert slack.efforts[0] == 0.0
    assert slack.aim()[0] > -0.05


def test_closed_air_obeys_the_gas_law() -> None:
    robot = hollow(
        fem.Pneumatic(name="air", closed=True), fem.PointForce(name="push", at=(0.1, 0, 0), direction=(-1, 0, 0))
    )
    forward = fem.Forward(robot)
    volume = robot.drives[0].actuator.rest_volume
    forward.settle({"push": 0.4})
    inside = (ATMOSPHERE + robot.efforts[0]) * (volume + robot.aim()[0])
    assert inside == pytest.approx(ATMOSPHERE * volume, rel=1e-9)
    assert robot.efforts[0] > 1.0  # pressed together
    open_end = hollow(fem.Pneumatic(name="air"), fem.PointForce(name="push", at=(0.1, 0, 0), direction=(-1, 0, 0)))
    fem.Forward(open_end).settle({"push": 0.4})
    assert open_end.aim()[0] < robot.aim()[0]  # closed air resists


def test_a_closed_liquid_keeps_its_volume() -> None:
    robot = hollow(
        fem.Hydraulic(name="water", closed=True), fem.PointForce(name="push", at=(0.1, 0, 0), direction=(0, 0, -1))
    )
    fem.Forward(robot).settle({"push": 0.1})
    assert robot.aim()[0] == pytest.approx(0.0, abs=1e-14)


def test_a_chamber_can_be_held_at_a_growth_and_another() -> None:
    robot = hollow(fem.Pneumatic(name="air", growth=3e-6))
    forward = fem.Forward(robot)
    for growth in (3e-6, 8e-6):
        robot.hold("air", growth)
        forward.settle()
        assert robot.aim()[0] == pytest.approx(growth, rel=1e-8)
    twin = hollow(fem.Pneumatic(name="air"))
    fem.Forward(twin).settle(robot.efforts)
    np.testing.assert_allclose(twin.places(), robot.places(), atol=1e-7)


def test_weights_by_columns_and_by_potential_hang_alike() -> None:
    tips = []
    for weight in ("hydrostatic", "columns"):
        robot = hollow(fem.Hydraulic(name="water", weight=weight, cells=60))
        fem.Forward(robot).settle({"water": 2000.0})
        tips.append(robot.places()[0])
    assert np.linalg.norm(tips[0] - tips[1]) < 2e-3
    assert tips[0][2] < hanging_air() - 2e-3


def hanging_air() -> float:
    robot = hollow(fem.Pneumatic(name="air"))
    fem.Forward(robot).settle({"air": 2000.0})
    return float(robot.places()[0, 2])


def test_a_pressure_that_bursts_it_stops_at_the_last_equilibrium() -> None:
    robot = hollow(fem.Pneumatic(name="air"))
    forward = fem.Forward(robot)
    with pytest.raises(fem.NoEquilibrium, match="it bursts; it stays in the last equilibrium") as caught:
        forward.settle({"air": 5e6})
    assert 0.0 <= caught.value.fraction < 1.0
    assert robot.efforts[0] == pytest.approx(caught.value.fraction * 5e6)
    here = robot.places().copy()
    assert np.isfinite(here).all()
    forward.settle()  # it is in equilibrium
    np.testing.assert_allclose(robot.places(), here, atol=1e-6)


def test_efforts_that_are_no_numbers_are_refused() -> None:
    robot = trunk()
    with pytest.raises(InvalidValue, match="finite numbers"):
        fem.Forward(robot).settle({"up": float("nan")})


def test_limits_hold_forward_too() -> None:
    robot = hollow(fem.Pneumatic(name="air", pressure=(0.0, 2e3)))
    with pytest.raises(InvalidValue, match=r"pressure of air cannot be 3000 Pa: its limits are 0 and 2000; exert less"):
        fem.Forward(robot).settle({"air": 3e3})
    assert not robot.efforts.any()
    fem.Forward(robot).settle({"air": 2e3})
    assert robot.efforts.tolist() == [2e3]


def test_cables_do_not_push() -> None:
    robot = trunk()
    with pytest.raises(InvalidValue, match=r"a cable cannot push: up was given -1 N; give 0 or more"):
        fem.Forward(robot).settle({"up": -1.0})
    assert not robot.efforts.any()


def test_parts_of_a_way_end_whatever_leads_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an equilibrium that was not found from farther away is found from nearby."""
    forward, draw, tries = fem.Forward(hollow(fem.Pneumatic(name="air"))), np.random.default_rng(0), []
    few = 0  # tries that may fail

    def attempt(efforts: np.ndarray) -> bool:
        tries.append(efforts[0])
        assert len(tries) < 200
        return bool(len(tries) > few or draw.random() < 0.5)

    monkeypatch.setattr(forward, "_attempt", attempt)
    ended = 0
    for few in [2, 4, 8, 60] * 20:  # noqa: B007 - attempts look at it
        tries.clear()
        with suppress(fem.NoEquilibrium):
            forward.settle([1e3])
            ended += tries[-1] == 1e3
    assert 20 < ended < 80


def test_what_solves_prints_short_and_is_copied_or_says_how() -> None:
    robot = trunk()
    forward, inverse = fem.Forward(robot), fem.Inverse(robot)
    forward.settle([1.0] * len(robot.actuators))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(forward)).robot.places(), robot.places())
    with pytest.raises(TypeError, match="copy the robot, or clone a fem.inverse_simulation"):
        copy.deepcopy(inverse)
    cavity = fem.Cavity(hollow(fem.Pneumatic(name="air")).solid.mesh.cavities()[0])
    for each in (forward, inverse, cavity, fem.Path.at_speed(np.eye(3), 1.0)):
        assert len(repr(each)) < 150
        assert "\n" not in repr(each)
