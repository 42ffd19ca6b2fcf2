"""Soft robots that touch: a hand lifts, a crawler crawls, a trunk wraps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import control, fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.robots import crawler, egg_mesh, finger_mesh, gripper, mug, thing
from annelid.scenes.soft_crawler import SoftCrawler
from annelid.scenes.soft_gripper import SoftGripper, lifting
from annelid.scenes.soft_hand import SoftHand
from annelid.scenes.trunk_wrap import TrunkWrap
from annelid.shapes import Rigid, ground, mass_properties


def test_a_hand_lifts_a_light_ball() -> None:
    hand = gripper(
        fingers=2, chambers=2, length=0.05, height=0.058, opening=0.022, silicone="dragon-skin-10/neo-hooke",
        friction=1.0, motion=lifting(0.01, begin=0.16, duration=0.12),
    )  # fmt: skip
    ball = thing("ball", size=0.04, mass=0.005, friction=1.0, clearance=1.3e-3)
    simulation = hand.simulation([ground(0.5), ball], dt=0.02, device="cpu", threads=1)
    simulation.controls.command({"air": 12e3}, ramp=0.14)
    start = simulation.state.touch.places.numpy()[1].copy()
    simulation.run(0.36)
    moved = simulation.state.touch.places.numpy()[1] - start
    np.testing.assert_allclose(moved, [0.0, 0.0, 0.01], atol=5e-4)
    forces = simulation.solver.readout.contact_forces(simulation.state)
    assert not forces[:, 0].any()  # it hangs in the air
    assert -forces[:, 1, 2].sum() == pytest.approx(0.005 * 9.81, rel=0.05)
    assert simulation.state.unsettled.numpy()[0] <= 1


def test_fingers_have_one_pressure_or_one_each() -> None:
    assert [air.name for air in gripper(fingers=2, chambers=1, length=0.03).actuators] == ["air"]
    hand = gripper(fingers=3, chambers=1, length=0.03, separate=True)
    assert [air.name for air in hand.actuators] == ["air-0", "air-1", "air-2"]
    volumes = [air.cavity_of(hand.solid).volume(hand.solid.nodes) for air in hand.actuators]
    np.testing.assert_allclose(volumes, volumes[0])
    together = gripper(fingers=3, chambers=1, length=0.03)
    assert together.actuators[0].cavity_of(together.solid).volume(together.solid.nodes) == pytest.approx(sum(volumes))


def test_a_mug_is_a_cup_with_a_bottom_and_a_handle() -> None:
    shape = mug(0.06, 0.08)
    inside = shape.contains([[0.0, 0.0, 0.04], [0.0, 0.0, 0.002], [0.028, 0.0, 0.04], [0.0, -0.0515, 0.04]])
    assert inside.tolist() == [False, True, True, True]
    properties = mass_properties(shape)
    assert properties.center[1] < -1e-4  # the handle
    assert properties.center[2] < 0.04
    body = thing("mug", size=0.06, clearance=0.01)
    assert isinstance(body, Rigid)
    assert body.extent[0][2] == pytest.approx(0.01)
    with pytest.raises(UnknownName, match="no thing to grasp named 'cup'"):
        thing("cup")


def test_an_egg_is_soft_stands_on_its_blunt_end_and_is_touched_by_fingers() -> None:
    mesh = egg_mesh(0.05, clearance=0.01)
    low, high = mesh.nodes.min(axis=0), mesh.nodes.max(axis=0)
    assert low[2] == pytest.approx(0.01)
    assert high[0] - low[0] == pytest.approx(0.05)
    assert 1.1 < (high[2] - low[2]) / 0.05 < 1.3
    middle = 0.5 * (low[2] + high[2])
    assert np.ptp(mesh.nodes[mesh.nodes[:, 2] > middle + 0.01, 0]) < np.ptp(
        mesh.nodes[mesh.nodes[:, 2] < middle - 0.01, 0]
    )
    scene = SoftHand(thing="egg", fingers=2, mass=0.03)
    simulation = scene.build(device="cpu", threads=1)
    solid = simulation.solver.model.solid
    assert solid.weights()[solid.groups["object"]].sum() == pytest.approx(0.03)
    simulation.step(1)
    assert {m.name: m.value for m in scene.measure(simulation)}["squeezed"] == 0.0
    node = int(solid.groups["object"][0])
    assert simulation.solver.contacts is not None
    assert node in simulation.solver.contacts.surface


def short_crawler(friction: float) -> Any:
    robot = crawler(
        segments=3, chambers=1, length=0.06, width=0.02, thickness=0.014, silicone="ecoflex-00-30/neo-hooke",
        friction=friction, pressure=4e3, period=0.4,
    )  # fmt: skip
    simulation = robot.simulation([ground(friction)], dt=0.02, device="cpu", threads=1)
    control.connect(simulation, robot.gait, every=0.02, sensors=[])
    return simulation


def test_a_crawler_needs_friction() -> None:
    sticky, slippery = short_crawler(0.6), short_crawler(0.0)
    start = sticky.summary().center_of_mass
    sticky.run(0.4)
    slippery.run(0.16)
    assert sticky.summary().center_of_mass[0] - start[0] > 5e-6
    np.testing.assert_allclose(slippery.summary().center_of_mass[:2], start[:2], atol=1e-9)


def test_cavities_of_a_crawler_are_filled_from_the_rear_to_the_front_and_emptied() -> None:
    robot = crawler(segments=3, chambers=1, period=1.0, pressure=8e3)
    np.testing.assert_allclose(robot.gait(0.25), [8e3, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(robot.gait(0.375), [4e3, 4e3, 0.0], atol=1e-6)
    np.testing.assert_allclose(robot.gait(1.75), [0.0, 0.0, 8e3], atol=1e-6)
    middles = [robot.solid.nodes[air.cavity_of(robot.solid).nodes, 0].mean() for air in robot.actuators]
    assert sorted(middles) == middles


def test_segments_of_a_finger_are_cavities_of_their_own() -> None:
    mesh = finger_mesh(chambers=4, segments=2)
    assert len(mesh.cavities()) == 2
    assert len(finger_mesh(chambers=4).cavities()) == 1
    with pytest.raises(InvalidValue, match="4 chambers cannot be shared by 3 segments"):
        finger_mesh(chambers=4, segments=3)


def test_scenes_are_made_of_these() -> None:
    for scene in (SoftGripper(fingers=2), SoftHand(fingers=2), SoftCrawler(chambers=1), TrunkWrap(length=0.1)):
        simulation = scene.build(device="cpu", threads=1)
        simulation.step(1)
        assert all(np.isfinite(m.value) for m in scene.measure(simulation))
        assert isinstance(simulation.solver, fem.DynamicSolver)


def test_a_person_takes_a_robot_from_its_script() -> None:
    scene = SoftHand(fingers=2)
    simulation = scene.build(device="cpu", threads=1)
    simulation.step(2)
    filled = scene.script(simulation.dt)
    assert simulation.controls.values()[0] == pytest.approx(filled)
    assert simulation.controls.names == ("air-0", "air-1", "lift")
    scene.adjust(simulation, "by_hand", True)
    simulation.controls.command({"air-0": 5e3, "lift": 0.0})
    simulation.step(1)
    assert simulation.controls.values()[0] == pytest.approx([5e3, filled[1], 0.0])
    assert scene.script(2.0)[-1] == scene.lift


def test_a_trunk_wraps_round_a_pole() -> None:
    scene = TrunkWrap(length=0.16)
    simulation = scene.build(device="cpu", threads=1)
    assert scene.wrapped(simulation) == 0.0
    simulation.run(0.35)
    assert scene.wrapped(simulation) > 10.0
