"""Hinges and motors: torque and inertia, speeds, momentum, many robots at once, bad values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.shapes import Box, Cylinder

Make = Callable[..., Any]

DT = 2e-5


@pytest.fixture(scope="module")
def vehicle() -> springs.Body:
    """A wheel of 20 cm around the y axis beside a chassis."""
    options = {"damping_frequency": 200.0}
    wheel = springs.lattice(Cylinder(0.1, 0.06, axis="y"), 0.02, "tpu", **options).group("wheel", None)
    chassis = springs.lattice(Box((0.3, 0.06, 0.1)), 0.02, "tpu", **options).moved((0.0, 0.09, 0.0))
    body = springs.join([wheel, chassis.group("chassis", None)])
    return springs.hinge(
        body, "axle", rotor="wheel", stator="chassis", point=(0.0, 0.0, 0.0), direction=(0.0, 2.0, 0.0)
    )


def spin(simulation: Any, where: Make, speed: Make, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity [rad/s] and inertia [kg m²] of some masses, as of a rigid body."""
    m = simulation.solver.model.body.masses[masses]
    x, v = where(simulation)[masses], speed(simulation)[masses]
    y, u = x - m @ x / m.sum(), v - m @ v / m.sum()
    inertia = np.einsum("i,ijk->jk", m, (y * y).sum(axis=1)[:, None, None] * np.eye(3) - y[:, :, None] * y[:, None, :])
    return np.linalg.solve(inertia, m @ np.cross(y, u)), inertia


def test_a_torque_accelerates_a_wheel(vehicle: springs.Body, simulate: Make, where: Make, speed: Make) -> None:
    """Against a held chassis: angular acceleration = torque / inertia, the axle's own mass included or not."""
    body = vehicle.copy().fix("chassis")
    simulation = simulate(body, dt=DT, motors=[springs.Motor("axle", torque=0.05)])
    simulation.run(0.04)
    angular, inertia = spin(simulation, where, speed, body.groups["wheel"])
    assert angular[1] == pytest.approx(0.05 / inertia[1, 1] * 0.04, rel=0.02)
    assert np.abs(angular[[0, 2]]).max() < 0.01 * angular[1]


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
def test_both_parts_turn_and_momentum_is_kept(
    integrator: str, vehicle: springs.Body, simulate: Make, where: Make, speed: Make
) -> None:
    simulation = simulate(vehicle, dt=DT, motors=[springs.Motor("axle", torque=0.2)], integrator=integrator)
    simulation.run(0.02)
    wheel, inertia = spin(simulation, where, speed, vehicle.groups["wheel"])
    chassis, _ = spin(simulation, where, speed, vehicle.groups["chassis"])
    assert wheel[1] == pytest.approx(0.2 * 0.02 / inertia[1, 1], rel=0.02)
    assert chassis[1] < -0.1
    summary = simulation.summary()
    assert np.abs(summary.momentum).max() < 1e-14
    assert np.abs(summary.angular_momentum).max() < 1e-14


def test_a_speed_is_reached_and_held(vehicle: springs.Body, simulate: Make, where: Make, speed: Make) -> None:
    """More than a turn; the wheel stays on its axle and the torque below its limit."""
    body = vehicle.copy().fix("chassis")
    simulation = simulate(body, dt=DT, motors=[springs.Motor("axle", speed=-40.0, limit=8.0)])
    simulation.run(0.2)
    angular, _ = spin(simulation, where, speed, body.groups["wheel"])
    assert angular[1] == pytest.approx(-40.0, rel=0.02)
    torque, turning = simulation.solver.model.motors.readings()
    assert turning == pytest.approx([-40.0], rel=0.01)
    assert abs(torque[0]) < 1.0
    wheel = body.groups["wheel"]
    center = body.masses[wheel] @ where(simulation)[wheel] / body.masses[wheel].sum()
    assert np.abs(center).max() < 1e-3
    distance = np.linalg.norm(where(simulation)[wheel][:, [0, 2]], axis=1)
    assert distance == pytest.approx(np.linalg.norm(body.positions[wheel][:, [0, 2]], axis=1), rel=0.05, abs=1e-3)


def test_the_torque_never_exceeds_its_limit(vehicle: springs.Body, simulate: Make) -> None:
    simulation = simulate(vehicle, dt=DT, motors=[springs.Motor("axle", speed=1000.0, limit=0.1)])
    simulation.step(50)
    assert simulation.solver.model.motors.readings()[0] == pytest.approx([0.1], rel=1e-12)


def test_a_sine_drives_the_speed(vehicle: springs.Body, simulate: Make) -> None:
    """mean + amplitude sin(2 pi f t + phase), followed with little lag."""
    body = vehicle.copy().fix("chassis")
    drive = springs.swing(2.0, 2.5, mean=1.0, phase=0.3)
    simulation = simulate(body, dt=DT, motors=[springs.Motor("axle", speed=drive, limit=50.0)])
    simulation.run(0.03)
    for _ in range(4):
        simulation.run(0.03)
        expected = 1.0 + 2.0 * math.sin(2.0 * math.pi * 2.5 * simulation.time + 0.3)
        assert simulation.solver.model.motors.readings()[1] == pytest.approx([expected], abs=0.15)


def turned(simulation: Any, where: Make, body: springs.Body) -> float:
    """Angle of the wheel around y against the body as built [rad], fitted to all of its masses."""
    wheel = body.groups["wheel"]
    now, built = (x[wheel] - x[wheel].mean(axis=0) for x in (where(simulation), body.positions))
    moment = now[:, [2, 0]].T @ built[:, [2, 0]]
    return math.atan2(moment[1, 0] - moment[0, 1], moment[0, 0] + moment[1, 1])


def test_an_angle_is_commanded_reached_and_held(simulate: Make, where: Make) -> None:
    """Against a held chassis, without overshooting, by the shortest way."""
    wheel = springs.block((3, 3, 3), 0.1, damping=20.0).moved((-0.1, -0.1, -0.1)).group("wheel", None)
    chassis = springs.block((3, 2, 3), 0.1).moved((-0.1, 0.2, -0.1)).group("chassis", None)
    body = springs.hinge(
        springs.join([wheel, chassis]), "axle", rotor="wheel", stator="chassis", point=(0, 0, 0), direction=(0, 1, 0)
    ).fix("chassis")
    motor = springs.Motor("axle", angle=springs.Command(-math.pi, math.pi), limit=5.0, response=0.02)
    simulation = simulate(body, dt=2e-4, motors=[motor])
    assert simulation.controls.names == ("axle",)
    assert simulation.controls.channels[0].unit == "rad"
    for goal, least, most in ((2.5, -0.01, 2.51), (-2.5, 2.49, 2.0 * math.pi - 2.49)):
        simulation.controls["axle"] = goal
        for _ in range(40):
            simulation.run(0.02)
            angle = turned(simulation, where, body)
            assert least < (angle if goal > 0.0 else angle % (2.0 * math.pi)) < most
        assert angle == pytest.approx(goal, abs=0.01)


def test_copies_of_a_robot_have_motors_of_their_own(
    vehicle: springs.Body, simulate: Make, where: Make, speed: Make
) -> None:
    robots = vehicle.replicated(np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    torques = np.array([0.0, 0.1, -0.2])
    simulation = simulate(robots, dt=DT, motors=[springs.Motor("axle", torque=torques)])
    simulation.step(500)
    count = vehicle.mass_count
    for copy, torque in enumerate(torques):
        angular, inertia = spin(simulation, where, speed, vehicle.groups["wheel"] + copy * count)
        assert angular[1] == pytest.approx(torque / inertia[1, 1] * 500 * DT, rel=0.02, abs=1e-9)


def test_several_motors_may_share_a_part(simulate: Make, where: Make, speed: Make) -> None:
    """Two wheels on one chassis turn opposite ways: the chassis stays at rest."""
    chassis = springs.block((6, 3, 3), 0.1).moved((-0.25, -0.1, -0.1)).group("chassis", None)
    wheel = springs.block((3, 3, 3), 0.1).moved((-0.1, -0.1, -0.1))
    left, right = wheel.moved((-0.45, 0.0, 0.0)), wheel.moved((0.45, 0.0, 0.0))
    body = springs.join([chassis, left.group("left", None), right.group("right", None)])
    for side, x in (("left", -0.45), ("right", 0.45)):
        body = springs.hinge(
            body, f"{side}-axle", rotor=side, stator="chassis", point=(x, 0.0, 0.0), direction=(1, 0, 0)
        )
    motors = [springs.Motor("left-axle", torque=2.0), springs.Motor("right-axle", torque=-2.0)]
    simulation = simulate(body, motors=motors)
    simulation.run(0.05)
    left_spin, right_spin, middle = (
        spin(simulation, where, speed, body.groups[g])[0][0] for g in ("left", "right", "chassis")
    )
    assert left_spin > 1.0
    assert right_spin == pytest.approx(-left_spin, rel=1e-6)
    assert abs(middle) < 1e-6 * left_spin
    assert np.abs(simulation.summary().angular_momentum).max() < 1e-13


def test_threads_and_batches_change_no_bit(vehicle: springs.Body) -> None:
    robots = vehicle.replicated(np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    hashes = set()
    for threads, pieces in ((1, 1), (2, 1), (2, 7)):
        motors = [springs.Motor("axle", speed=springs.swing(5.0, 10.0), limit=1.0)]
        simulation = springs.simulation(
            robots, dt=DT, motors=motors, threads=threads, precision="float64", device="cpu"
        )
        for _ in range(pieces):
            simulation.step(210 // pieces)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_a_motor_can_change_while_it_runs(vehicle: springs.Body, simulate: Make) -> None:
    simulation = simulate(vehicle, dt=DT, motors=[springs.Motor("axle", torque=0.1)])
    simulation.step(10)
    model = simulation.solver.model
    model.set_world(replace(model.world, motors=[springs.Motor("axle", torque=-0.3)]))
    simulation.step(10)
    assert model.motors.readings()[0] == pytest.approx([-0.3])
    with pytest.raises(InvalidValue):
        model.set_world(replace(model.world, motors=[]))


def test_the_hinge_is_a_body_like_any_other(vehicle: springs.Body) -> None:
    """Two masses on the axis, springs at rest, and no shorter stable step to speak of."""
    axle = vehicle.groups["axle"]
    np.testing.assert_allclose(vehicle.positions[axle][:, [0, 2]], 0.0, atol=1e-15)
    ends = vehicle.positions[vehicle.springs]
    np.testing.assert_allclose(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), vehicle.rest_lengths, rtol=1e-9)
    wheel = springs.lattice(Cylinder(0.1, 0.06, axis="y"), 0.02, "tpu", damping_frequency=200.0)
    steps = [springs.simulation(b, device="cpu", dt=1e-6).solver.stable_step() for b in (wheel, vehicle)]
    assert steps[1] > 0.7 * steps[0]


def test_a_part_that_takes_smaller_steps_is_turned_too(
    vehicle: springs.Body, simulate: Make, where: Make, speed: Make
) -> None:
    body = vehicle.copy()
    body.substeps[body.groups["wheel"]] = 2
    simulation = simulate(body, dt=DT, motors=[springs.Motor("axle", torque=0.1)])
    simulation.run(0.02)
    angular, inertia = spin(simulation, where, speed, body.groups["wheel"])
    assert angular[1] == pytest.approx(0.1 * 0.02 / inertia[1, 1], rel=0.02)
    assert np.abs(simulation.summary().angular_momentum).max() < 1e-14


# --- bad values ---


def test_bad_motors_are_refused(vehicle: springs.Body) -> None:
    with pytest.raises(InvalidValue, match="either a torque, a speed or an angle"):
        springs.Motor("axle")
    with pytest.raises(InvalidValue, match="either a torque, a speed or an angle"):
        springs.Motor("axle", torque=1.0, speed=1.0, limit=1.0)
    with pytest.raises(InvalidValue, match="needs a limit of its torque to reach a speed"):
        springs.Motor("axle", speed=1.0)
    with pytest.raises(InvalidValue, match="needs a limit of its torque to reach an angle"):
        springs.Motor("axle", angle=1.0)
    with pytest.raises(InvalidValue, match="response of the motor of hinge 'axle' must be a time above 0 s, not 0"):
        springs.Motor("axle", angle=1.0, limit=1.0, response=0.0)
    with pytest.raises(InvalidValue, match="control 'axle' needs finite numbers low ≤ rest ≤ high"):
        springs.Motor("axle", speed=springs.Command(2.0, 3.0), limit=1.0)
    with pytest.raises(InvalidValue, match="limit of the motor of hinge 'axle' must be positive, not -1.0"):
        springs.Motor("axle", torque=1.0, limit=-1.0)
    with pytest.raises(UnknownName, match="'axel'"):
        springs.simulation(vehicle, motors=[springs.Motor("axel", torque=1.0)], device="cpu")
    with pytest.raises(InvalidValue, match="finite"):
        springs.simulation(vehicle, motors=[springs.Motor("axle", torque=math.nan)], device="cpu")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"direction": (0.0, 0.0, 0.0)}, "direction of a hinge"),
        ({"point": (0.0, math.nan, 0.0)}, "point of a hinge"),
        ({"stator": "a"}, "share masses"),
        ({"length": 0.0}, "length of a hinge must be positive"),
        ({"links": 2}, "at least 3 links"),
        ({"rotor": np.array([0, 1])}, "at least 3 beside the axle"),
        ({"name": "a"}, "has a group 'a' already"),
        ({"rotor": np.arange(3), "point": (0.01, 0.0, 0.0)}, "lie on a line"),
    ],
)
def test_bad_hinges_are_refused(changes: dict[str, Any], words: str) -> None:
    a, b = springs.block((3, 3, 3)).group("a", None), springs.block((3, 3, 3)).moved((0.3, 0.0, 0.0)).group("b", None)
    options = {"name": "joint", "rotor": "a", "stator": "b", "point": (0.0, 0.0, 0.0), "direction": (0.0, 0.0, 1.0)}
    options |= changes
    with pytest.raises(InvalidValue, match=words):
        springs.hinge(springs.join([a, b]), options.pop("name"), **options)
