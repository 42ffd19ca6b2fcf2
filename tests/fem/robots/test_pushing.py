"""Robots that touch with friction: what they do to first order, blocks that they push, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.state import state_hash
from annelid.fem.actuation.limits import Limits
from annelid.fem.contact.state import Touching
from annelid.fem.robots.condense import Condenser
from annelid.fem.robots.touching import TouchingRobot
from annelid.shapes import Box, Rigid, Surface, ground

from .robots import LENGTH, SIDES, line, silicone, trunk_mesh

REACH, TABLE, SIDE, FRICTION, MASS = 5e-4, -0.03, 0.03, 0.4, 0.03
BLOCK, AHEAD = 1, np.array([0.0, 1.0, 0.0])


def pusher(*, friction: float = FRICTION, gap: float = 7e-4, obstacles: Any = None, **options: Any) -> fem.Robot:
    """A lying trunk beside a block on a table; its left cable pulls the tip to the block."""
    mesh, surface = trunk_mesh(), Surface(friction=friction)
    solid = fem.Solid(mesh, silicone(), surface=surface).fix(lambda p: p[:, 0] < 1e-9)
    cables = [fem.Cable(name=side, through=line(mesh, side), tension=(0.0, 6.0)) for side in SIDES]
    block = Rigid(
        Box((SIDE, SIDE, SIDE)), surface, motion="free", mass=MASS, name="block",
        position=(LENGTH, 0.009 + gap + 0.5 * SIDE, TABLE + 0.5 * SIDE + REACH),
    )  # fmt: skip
    things = [ground(friction, height=TABLE), block] if obstacles is None else obstacles
    return fem.Robot(
        solid, cables, [fem.Point(name="tip", at=(LENGTH, 0.0, 0.0), axes="yz")], obstacles=things,
        contact=fem.Contact(reach=REACH), device="cpu", threads=1, **options,
    )  # fmt: skip


def touch(robot: fem.Robot) -> Touching:
    assert isinstance(robot.touch_state, Touching)
    return robot.touch_state


def force_on_block(robot: fem.Robot) -> np.ndarray:
    return -touch(robot).forces.numpy().reshape(-1, 2, 3).sum(axis=0)[BLOCK]


@pytest.fixture(scope="module")
def pushed() -> tuple[fem.Robot, list[fem.Step], list[np.ndarray], list[np.ndarray]]:
    """A block that was pushed by a few millimetres: robot, steps, places of the block, forces on it."""
    robot = pusher()
    control, begin = fem.Inverse(robot), robot.places()[0]
    steps, places, forces = [], [], []
    for number in range(14):
        steps.append(control.step(begin + 2.5e-4 * (number + 1) * AHEAD))
        places.append(touch(robot).places.numpy()[BLOCK].copy())
        forces.append(force_on_block(robot))
    return robot, steps, places, forces


def test_a_block_is_pushed_along_a_path(pushed: Any) -> None:
    _, steps, places, forces = pushed
    assert max(step.distance for step in steps) < 2e-4
    assert np.median([step.distance for step in steps]) < 1e-5
    touching = [step.contacts > 0 for step in steps]
    assert all(touching[touching.index(True) :])
    assert places[-1][1] - places[0][1] > 1.5e-3
    assert np.linalg.norm(forces[-1][:2]) == pytest.approx(FRICTION * (MASS * 9.81 - forces[-1][2]), rel=0.05)


def test_responses_are_those_of_differences(pushed: Any) -> None:
    robot = pushed[0]
    touching = TouchingRobot(robot)
    condenser = Condenser(robot, linear=touching.linear)
    efforts = robot.efforts + np.array([0.0, 0.0, 0.05, 0.0])  # the block slides on
    touching.contacts.begin(robot.positions, touching.state, 1.0 / 60.0, robot.time, robot.model.pull)
    robot.exert(efforts)
    assert touching.settle()
    effect, here = touching.condensed(condenser).effect, robot.places()
    for number in (0, 1):  # 0.39 and 0.32 off, if friction did not follow the push that limits it
        change = 1e-5 * np.eye(4)[number]
        robot.exert(efforts + change)
        assert touching.settle()
        slope = (robot.places() - here) / 1e-5
        assert np.linalg.norm(effect[..., number] - slope) < 0.1 * np.linalg.norm(slope)


def test_what_sticks_does_not_move() -> None:
    robot = pusher()
    forward = fem.Forward(robot)
    forward.settle()
    stood = touch(robot).places.numpy()[BLOCK].copy()
    forward.settle({"left": 0.1})
    assert 0.0 < force_on_block(robot)[1] < FRICTION * MASS * 9.81
    assert np.abs(touch(robot).places.numpy()[BLOCK] - stood).max() < 5e-5


def test_a_tip_that_presses_on_a_wall_does_not_enter_it() -> None:
    wall = Rigid(Box((0.1, 0.02, 0.1)), position=(LENGTH + 0.02, 0.0205, 0.0), name="wall")
    robot = pusher(obstacles=[wall])
    control, begin = fem.Inverse(robot), robot.places()[0]
    for number in range(8):
        step = control.step(begin + 6e-4 * (number + 1) * AHEAD)
    assert step.contacts > 0
    assert step.distance < 2e-4
    assert robot.touched is not None
    assert robot.touched.nodes.gaps(robot.positions, robot.touched.now.device_pose).min() > 0.0
    assert (np.array(list(step.efforts.values())) <= 6.0 + 1e-9).all()


def test_a_saved_robot_goes_on_to_the_bit(tmp_path: Path) -> None:
    begin = pusher().places()[0]
    script = {"script": lambda time: {"tip": begin + 0.03 * time * AHEAD}}
    straight, halved = (fem.inverse_simulation(pusher(), **script) for _ in range(2))
    straight.step(2)
    halved.step(1)
    halved.save(tmp_path / "half.npz")
    again = fem.inverse_simulation(pusher(), **script)
    again.load(tmp_path / "half.npz")
    again.step(1)
    assert state_hash(again.state) == state_hash(straight.state)


def test_contact_is_read_and_drawn() -> None:
    simulation = fem.inverse_simulation(pusher())
    simulation.sensors.add("on the block", fem.contact_force_of("block"))
    simulation.sensors.add("block", fem.obstacle_position("block"))
    simulation.step(1)
    assert simulation.sensors["block"][0, 1] == pytest.approx(0.009 + 7e-4 + 0.5 * SIDE, abs=1e-4)
    assert "block-1" in {part.name for part in simulation.snapshot().parts}


def test_what_finds_its_own_effort_is_refused() -> None:
    robot = pusher()
    with pytest.raises(InvalidValue, match="left finds its own tension"):
        robot.hold("left", 0.001)
    block = Rigid(Box((SIDE, SIDE, SIDE)), motion="free", mass=MASS, position=(LENGTH, 1.0, 0.0))
    with pytest.raises(InvalidValue, match="contact=fem.Contact"):
        fem.Robot(robot.solid, robot.actuators, obstacles=[block], device="cpu")


def test_a_rate_holds_for_the_whole_step() -> None:
    limits = Limits(0.0, 8.0, rate=2.0)
    assert limits.change(3.0, 0.5) == (-1.0, 1.0)
    assert limits.change(3.6, 0.5, since=3.0) == pytest.approx((-1.6, 0.4))
    assert limits.change(7.8, 0.5, since=7.5) == pytest.approx((-1.3, 0.2))
