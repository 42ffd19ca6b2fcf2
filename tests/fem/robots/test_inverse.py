"""Inverse control: targets are reached, limits kept, forward solves agree, and what is impossible is told."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.scenes.pendulum import Pendulum

from .robots import LENGTH, hollow, trunk

MILLIMETRE = 1e-3
CLOSE = 1e-4  # [m]


def pendulum(weight: str = "hydrostatic", **limits: float) -> fem.Robot:
    return Pendulum(weight=weight, **limits).robot(cells=60, device="cpu", threads=1)


@cache
def twin(weight: str) -> tuple[fem.Robot, fem.Forward]:
    """Another robot, which knows nothing of the control."""
    robot = pendulum(weight)
    return robot, fem.Forward(robot)


def forward_place(weight: str, efforts: np.ndarray) -> np.ndarray:
    robot, forward = twin(weight)
    forward.settle(efforts)
    return robot.places()[0]


@pytest.mark.parametrize("weight", ["hydrostatic", "columns"])
@pytest.mark.parametrize("offset", [(2.5, 0.0, -2.0), (-1.0, 1.5, -2.0), (0.0, 0.0, -4.0)])
def test_a_forward_solve_finds_the_effector_where_the_inverse_said(weight: str, offset: tuple[float, ...]) -> None:
    robot = pendulum(weight)
    control = fem.Inverse(robot)
    target = robot.places()[0] + MILLIMETRE * np.array(offset)
    for _ in range(4):
        step = control.step(target)
    assert np.linalg.norm(forward_place(weight, robot.efforts) - step.places["tip"][0]) < CLOSE
    assert step.reached


@pytest.mark.parametrize("weight", ["hydrostatic", "columns"])
def test_it_always_does_for_targets_that_move_slowly(weight: str) -> None:
    robot = pendulum(weight)
    control = fem.Inverse(robot)
    begin = robot.places()[0]
    stops = begin + MILLIMETRE * np.array([[0.0, 0.0, 0.0], [1.2, 0.0, -0.4], [0.6, 0.9, -0.7]])
    for step in control.follow(fem.Path.at_speed(stops, 1.0).steps(0.3 * MILLIMETRE)):
        assert np.linalg.norm(forward_place(weight, robot.efforts) - step.places["tip"][0]) < CLOSE
        assert step.distance < CLOSE


def test_limits_are_kept_and_named_where_the_target_is_out_of_reach() -> None:
    robot = pendulum(highest=3000.0, growth=4e-6)
    control = fem.Inverse(robot)
    target = robot.places()[0] + np.array([0.03, 0.0, 0.0])
    for _ in range(12):
        step = control.step(target)
        assert max(step.efforts.values()) <= 3000.0 * (1 + 1e-6)
        assert min(step.efforts.values()) >= -2000.0 * (1 + 1e-6)
        assert max(np.abs(list(step.strokes.values()))) <= 4e-6 * 1.01 or step.number < 3
        assert step.optimality < 1e-6
    assert not step.reached
    assert step.active
    assert "targets are missed: tip by" in step.in_words()
    assert all(" of " in limit for limit in step.active)
    # It is a best point: efforts inside the limits lead no nearer, to first order.
    best = step.distance
    for name in step.efforts:
        for change in (-200.0, 200.0):
            efforts = {n: np.clip(e + change * (n == name), -2000.0, 3000.0) for n, e in step.efforts.items()}
            other, forward = twin("hydrostatic")
            forward.settle(efforts)
            if np.abs(other.aim()).max() <= 4e-6:
                assert np.linalg.norm(other.places()[0] - target) > best - 2e-6


def test_rates_are_kept() -> None:
    mesh_robot = hollow(fem.Pneumatic(name="air", pressure=(0.0, 8000.0), pressure_rate=3000.0, growth_rate=2e-5))
    control = fem.Inverse(mesh_robot, fem.InverseSettings(dt=0.1))
    before, grown = 0.0, mesh_robot.aim()[0]
    for _ in range(5):
        step = control.step((0.11, 0.0, 0.0))
        assert step.efforts["air"] - before <= 300.0 * (1 + 1e-6)
        assert step.strokes["air"] - grown <= 2e-6 * 1.01
        before, grown = step.efforts["air"], step.strokes["air"]
    assert any("of air at most" in limit for limit in step.active)


def test_cables_reach_a_point_an_orientation_and_several_points() -> None:
    ends = [(LENGTH, 0.0, 0.0), (LENGTH - 0.02, 0.006, 0.0), (LENGTH - 0.02, 0.0, 0.006)]
    goal = trunk()
    fem.Forward(goal).settle({"up": 1.5, "left": 1.0})  # what is reachable for certain
    shape = goal.positions.numpy()
    kinds = {
        "point": fem.Point(name="e", at=(LENGTH, 0.0, 0.0)),
        "points": fem.Points(name="e", at=[(LENGTH, 0.0, 0.0), (0.5 * LENGTH, 0.0, 0.0)]),
        "orientation": fem.Orientation(name="e", at=ends),
    }
    for kind, effector in kinds.items():
        robot = trunk(effectors=[effector])
        places = robot.effectors.places(shape)
        target = places[0] if kind == "point" else places
        if kind == "orientation":
            target = Rotation.align_vectors(places, robot.effectors.rest)[0].as_matrix()
        step = fem.Inverse(robot).reach(target)
        if isinstance(effector, fem.Orientation):  # the triangle also deforms, which no rotation can undo
            assert effector.angle(robot.places(), robot.effectors.goals(target)) < 0.01
        else:
            assert step.reached, (kind, step.in_words())


def test_all_kinds_of_actuators_work_together() -> None:
    push = fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 1.0, 0.0), force=(-0.2, 0.2))
    solid_top = (0.0, 0.0, 0.014)
    cable = fem.Cable(name="cable", through=[solid_top, *_top_nodes()], tension=(0.0, 5.0))
    robot = hollow(fem.Hydraulic(name="water", pressure=(-500.0, 5000.0)), cable, push)
    control = fem.Inverse(robot)
    step = control.reach(robot.places()[0] + np.array([0.001, 0.004, 0.003]))
    assert step.reached, step.in_words()
    twin_robot = hollow(fem.Hydraulic(name="water"), cable, push)
    fem.Forward(twin_robot).settle(robot.efforts)
    assert np.linalg.norm(twin_robot.places() - robot.places()) < CLOSE


def _top_nodes() -> list[int]:
    from .robots import hollow_solid

    x = np.linspace(0.03, 0.1, 3)
    return [int(n) for n in hollow_solid().mesh.nearest(np.column_stack([x, np.zeros(3), np.full(3, 0.014)]))]


def test_held_actuators_take_part() -> None:
    locked = trunk(down={"pull": 0.0, "tension": (0.0, 50.0)})
    step = fem.Inverse(locked).reach((0.148, 0.01, -0.005))
    assert step.strokes["down"] >= -1e-6  # a cable of fixed length is never longer
    fixed = trunk(down={"tension": 0.7})
    step = fem.Inverse(fixed).reach((0.148, 0.01, -0.015))
    assert step.efforts["down"] == pytest.approx(0.7, rel=1e-9)
    closed = hollow(
        fem.Pneumatic(name="air", closed=True),
        fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 0.0, 1.0), force=(-1.0, 1.0)),
    )
    control = fem.Inverse(closed)
    control.reach(closed.places()[0] + np.array([0.0, 0.0, -0.005]))
    law = closed.drives[0].actuator.law(float(closed.aim()[0]))
    assert law is not None
    assert closed.efforts[0] == pytest.approx(law[0], abs=0.5)


def test_the_energy_term_chooses_among_equal_efforts() -> None:
    """Four cavities for a target on the axis: all press alike."""
    robot = pendulum()
    control = fem.Inverse(robot)
    step = control.reach(robot.places()[0] + np.array([0.0, 0.0, -0.002]))
    assert step.reached
    assert np.ptp(robot.efforts) < 1e-3 * np.abs(robot.efforts).max()


def test_limits_that_exclude_every_solution_are_named_and_nothing_moves() -> None:
    robot = hollow(fem.Pneumatic(name="air", pressure=(0.0, 500.0), growth=(5e-6, 9e-6)))
    control = fem.Inverse(robot)
    before, efforts = robot.places().copy(), robot.efforts.copy()
    with pytest.raises(fem.NoSolution, match="pressure of air.*growth of air|growth of air.*pressure of air"):
        control.step((0.11, 0.0, 0.0))
    np.testing.assert_array_equal(robot.places(), before)
    np.testing.assert_array_equal(robot.efforts, efforts)


def test_bad_input_is_refused() -> None:
    robot = trunk()
    control = fem.Inverse(robot)
    with pytest.raises(InvalidValue, match="target of tip must be three finite numbers"):
        control.step((float("nan"), 0.0, 0.0))
    with pytest.raises(InvalidValue, match="no effector"):
        fem.Inverse(trunk(effectors=[]))
    for name in ("dt", "energy", "reach", "settled"):
        with pytest.raises(InvalidValue, match=name):
            fem.InverseSettings(**{name: -1.0})


def test_the_same_steps_give_the_same_bits() -> None:
    results = []
    for _ in range(2):
        robot = pendulum()
        control = fem.Inverse(robot)
        target = robot.places()[0] + np.array([0.002, 0.001, -0.001])
        for _ in range(3):
            control.step(target)
        results.append(robot.positions.numpy().copy())
    np.testing.assert_array_equal(*results)


def test_every_device_finds_the_same(device: str) -> None:
    places = []
    for where in ("cpu", device):
        robot = Pendulum().robot(device=where, threads=1)
        control = fem.Inverse(robot)
        target = robot.places()[0] + np.array([0.001, 0.0005, -0.001])
        for _ in range(3):
            step = control.step(target)
        assert step.reached
        places.append(robot.positions.numpy().copy())
    np.testing.assert_allclose(*places, atol=1e-7)


def test_old_stiffnesses_serve_too() -> None:
    """The way of large robots: factors and sensitivities are renewed in the background."""
    places = []
    for refresh in (1, 4):
        robot = pendulum()
        control = fem.Inverse(robot, fem.InverseSettings(refresh=refresh))
        begin = robot.places()[0]
        for k in range(14):
            step = control.step(begin + MILLIMETRE * min(k / 10.0, 1.0) * np.array([1.0, 0.5, -0.5]))
        assert step.distance < CLOSE
        assert np.linalg.norm(forward_place("hydrostatic", robot.efforts) - step.places["tip"][0]) < CLOSE
        places.append(step.places["tip"][0])
    assert np.linalg.norm(places[0] - places[1]) < CLOSE
