"""Controls and sensors of solids and soft robots, and loops that they close."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import control, envs, fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import Lines
from annelid.fem.actuation.cable import CableDrive

from .robots.robots import LENGTH, hollow, hollow_solid, trunk

AIR = fem.Pneumatic(name="air", pressure=(0.0, 6000.0))
PUSH = fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 0.0, 1.0), force=(-1.0, 1.0))


def finger(**options: Any) -> Any:
    """A hollow finger along x; cables are not needed, because it sags by its weight and pressure stiffens it."""
    return fem.forward_simulation(hollow(AIR, PUSH), **options)


def cylinder(**options: Any) -> Any:
    """The same solid in motion."""
    settings: dict[str, Any] = {"actuators": [AIR], "dt": 0.01, "velocity_damping": 20.0, **options}
    return fem.simulation(hollow_solid(), device="cpu", threads=1, **settings)


def test_commands_are_exerted_and_hold() -> None:
    simulation = finger()
    channels = {c.name: (c.low, c.high, c.unit) for c in simulation.controls.channels}
    assert channels == {"air": (0.0, 6000.0, "Pa"), "push": (-1.0, 1.0, "N")}
    simulation.controls["air"] = 3000.0
    simulation.controls["push"] = 0.2
    simulation.step(2)
    np.testing.assert_array_equal(simulation.state.efforts.numpy(), [3000.0, 0.2])
    robot = hollow(AIR, PUSH)
    fem.Forward(robot).settle([3000.0, 0.2])
    np.testing.assert_allclose(simulation.positions(), robot.positions.numpy(), atol=1e-9)


def test_a_ramp_ends_where_and_when_it_should() -> None:
    simulation, efforts = finger(dt=0.05), []
    simulation.controls.command({"air": 4000.0}, ramp=0.2)
    for _ in range(5):
        simulation.step()
        efforts.append(float(simulation.state.efforts.numpy()[0]))
        assert simulation.controls["air"][0] == efforts[-1]
    part = np.array([0.25, 0.5, 0.75, 1.0, 1.0])
    np.testing.assert_allclose(efforts, 4000.0 * part**2 * (3.0 - 2.0 * part), rtol=1e-14)


def test_actuators_are_held_at_strokes_by_command() -> None:
    simulation = fem.forward_simulation(hollow(fem.Pneumatic(name="air", growth=(0.0, 8e-6))), strokes=["air"])
    assert simulation.controls.channels[0].unit == "m³"
    simulation.controls["air"] = 5e-6
    simulation.step()
    assert simulation.state.strokes.numpy()[0] == pytest.approx(5e-6, rel=1e-8)
    assert simulation.state.efforts.numpy()[0] > 100.0


def test_a_command_is_followed_as_fast_as_the_actuator_can() -> None:
    slow = fem.Pneumatic(name="air", pressure=(0.0, 6000.0), pressure_rate=20e3)
    quasi = fem.forward_simulation(hollow(slow), dt=0.05)
    moving = cylinder(actuators=[slow])
    for simulation, steps in ((quasi, [1000.0, 1500.0, 1500.0]), (moving, [200.0, 400.0, 600.0])):
        simulation.controls["air"] = 1500.0
        for expected in steps:
            simulation.step()
            assert simulation.state.efforts.numpy()[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [finger, cylinder])
def test_saved_and_begun_again_it_goes_on_with_the_same_bits(make: Any, tmp_path: Path) -> None:
    simulation = make()
    simulation.controls.command({"air": 4000.0}, ramp=5.5 * simulation.dt)
    simulation.step(3)
    first = simulation.positions().copy()
    simulation.save(tmp_path / "state.npz")
    simulation.step(3)
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.step(3)
    assert simulation.state_hash() == after
    simulation.reset(worlds=[0])
    assert simulation.controls["air"].tolist() == [0.0]
    simulation.controls.command({"air": 4000.0}, ramp=5.5 * simulation.dt)
    simulation.step(3)
    np.testing.assert_array_equal(simulation.positions(), first)


def test_loads_that_grow_do_so_again_after_a_reset() -> None:
    simulation = cylinder(actuators=(), ramp=0.05)
    simulation.step(2)
    first = simulation.positions().copy()
    simulation.step(3)
    simulation.reset(worlds=[0])
    simulation.step(2)
    np.testing.assert_array_equal(simulation.positions(), first)


def test_a_solid_in_motion_comes_to_rest_where_the_robot_stands() -> None:
    simulation = cylinder(velocity_damping=60.0)
    simulation.controls["air"] = 3000.0
    simulation.sensors.add("speed", fem.velocity_of())
    simulation.run(0.05)
    assert np.linalg.norm(simulation.sensors["speed"][0]) > 1e-3
    simulation.run(1.2)
    robot = hollow(AIR)
    fem.Forward(robot).settle([3000.0])
    np.testing.assert_allclose(simulation.positions(), robot.positions.numpy(), atol=2e-5)


def test_sensors_read_what_the_robot_knows() -> None:
    robot = trunk(tension=(0.0, 6.0))
    robot.solid.group("end", lambda p: p[:, 0] > LENGTH - 1e-9)
    simulation = fem.forward_simulation(robot)
    for name, sensor in {
        "tip": fem.position_of("tip"),
        "end": fem.position_of("end"),
        "turn": fem.orientation_of("end"),
        "tension": fem.effort_of("up"),
        "pull": fem.stroke_of("up"),
        "energy": fem.strain_energy(),
    }.items():
        simulation.sensors.add(name, sensor)
    simulation.controls["up"] = 1.5
    simulation.step()
    read = simulation.sensors
    np.testing.assert_allclose(read["tip"][0], simulation.solver.readout.places(simulation.state)["tip"][0], rtol=1e-6)
    end = simulation.positions()[robot.solid.groups["end"]]
    np.testing.assert_allclose(read["end"][0], end.mean(axis=0), rtol=1e-6, atol=1e-9)
    assert read["tension"].tolist() == [[1.5]]
    assert read["pull"][0, 0] == pytest.approx(simulation.solver.readout.strokes(simulation.state)["up"], rel=1e-6)
    assert read["energy"][0, 0] == pytest.approx(simulation.summary().elastic, rel=1e-6)
    bend = 2.0 * np.arcsin(read["turn"][0, :3])  # the cable is above: the tip turns about y
    assert bend[1] < -0.1 or bend[1] > 0.1
    assert np.abs(bend[[0, 2]]).max() < 0.1 * abs(bend[1])
    assert read.labels[:3] == ("tip.x", "tip.y", "tip.z")


def test_cables_are_drawn_in_motion_too() -> None:
    robot = trunk(tension=(0.0, 6.0))
    simulation = fem.simulation(robot.solid, actuators=robot.actuators, worlds=2, device="cpu", threads=1)
    lines = {part.name: part for part in simulation.snapshot().parts if isinstance(part, Lines)}
    (cable,) = [drive for drive in simulation.solver.drives if drive.actuator.name == "up"]
    assert isinstance(cable, CableDrive)
    places = cable.lines(robot.solid.nodes)[0].points
    np.testing.assert_allclose(lines["up"].points[: len(places)], places, atol=1e-7)
    assert len(lines["up"].points) == 2 * len(places)


def test_a_chamber_is_read_in_motion() -> None:
    simulation = cylinder()
    volume = simulation.solver.drives[0].actuator.rest_volume
    simulation.sensors.add("volume", fem.volume_of("air"))
    simulation.sensors.add("same", fem.volume_of(0))
    simulation.sensors.add("growth", fem.stroke_of("air"))
    simulation.sensors.add("pressure", fem.effort_of("air"))
    assert simulation.sensors["volume"][0, 0] == pytest.approx(volume, rel=1e-6)
    simulation.controls["air"] = 2000.0
    simulation.step(5)
    read = {name: float(simulation.sensors[name][0, 0]) for name in simulation.sensors}
    assert read["pressure"] == 2000.0
    assert read["growth"] > 1e-8
    assert read["volume"] == read["same"] == pytest.approx(volume + read["growth"], rel=1e-6)


@pytest.mark.parametrize("make", [finger, cylinder])
def test_looking_changes_nothing(make: Any) -> None:
    watched, alone = make(), make()
    for name, sensor in {"e": fem.strain_energy(), "s": fem.stroke_of("air"), "v": fem.volume_of("air")}.items():
        watched.sensors.add(name, sensor)
    for simulation in (watched, alone):
        simulation.controls.command({"air": 3000.0}, ramp=3.0 * simulation.dt)
    for _ in range(3):
        watched.step()
        watched.sensors.read()
        alone.step()
    assert watched.state_hash() == alone.state_hash()


def test_pressure_brings_the_tip_of_a_finger_to_a_height() -> None:
    """A bore off the axis: pressure bends it. What is missing is added up, so that nothing need be known of it."""
    simulation = fem.forward_simulation(bending(), dt=0.05)
    simulation.sensors.add("tip", fem.position_of("tip"))
    simulation.sensors.add("pressure", fem.effort_of("air"))
    simulation.step()
    goal = float(simulation.sensors["tip"][0, 2]) + 0.002
    control.connect(simulation, lambda time, seen: seen[:, 3:] + 4e5 * (goal - seen[:, 2:3]), every=0.05)
    simulation.step(20)
    assert simulation.sensors["tip"][0, 2] == pytest.approx(goal, abs=2e-5)
    assert 10.0 < simulation.controls["air"][0] < 5900.0


def bending(device: str = "cpu", threads: int | None = 1) -> fem.Robot:
    """The hollow cylinder with a cable of fixed length along its top, so that pressure lifts its tip."""
    solid = hollow_solid()
    nodes = np.column_stack([np.linspace(0.0, 0.1, 5), np.zeros(5), np.full(5, 0.014)])
    top = [int(n) for n in solid.mesh.nearest(nodes)]
    cable = fem.Cable(name="strip", through=top, pull=0.0)
    tip = fem.Point(name="tip", at=(0.1, 0.0, 0.0))
    return fem.Robot(solid, [AIR, cable], [tip], device=device, threads=threads)


class Lift(envs.Task):
    """Lift the tip of the finger."""

    seconds = 0.4
    every = 0.1

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Any:
        simulation = fem.forward_simulation(bending(device, threads), worlds=worlds)
        simulation.sensors.add("tip", fem.position_of("tip"))
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["tip"][:, 2] - before["tip"][:, 2]


def test_a_finger_is_a_task() -> None:
    env = envs.make_env(Lift(), device="cpu")
    assert env.action_space.shape == (1,)
    env.reset(seed=1)
    gains = [env.step(np.array([1.0], np.float32))[1] for _ in range(4)]
    env.reset(seed=1)
    assert [env.step(np.array([1.0], np.float32))[1] for _ in range(4)] == gains
    assert sum(gains) > 1e-3


def test_targets_are_led_by_commands_and_by_hand(tmp_path: Path) -> None:
    simulation = fem.inverse_simulation(trunk(effectors=[fem.Point(name="tip", at=(LENGTH, 0.0, 0.0), axes="yz")]))
    solver, state = simulation.solver, simulation.state
    assert simulation.controls.names == ("tip.y", "tip.z")
    begin = solver.targets(state)["tip"]
    np.testing.assert_array_equal(simulation.controls.values()[0], begin[1:])
    simulation.controls.command({"tip.y": begin[1] + 0.004}, ramp=4 * simulation.dt)
    simulation.step(2)
    simulation.save(tmp_path / "state.npz")
    assert solver.targets(state)["tip"][1] == pytest.approx(begin[1] + 0.002, abs=1e-12)
    simulation.step(4)
    assert solver.readout.distances(state)["tip"] < 1e-4
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.step(4)
    assert simulation.state_hash() == after
    solver.aim(state, {"tip": begin})
    simulation.step()
    np.testing.assert_array_equal(solver.targets(state)["tip"], begin)
    np.testing.assert_array_equal(simulation.controls.values()[0], begin[1:])


def test_a_command_takes_targets_over_from_a_script() -> None:
    simulation = fem.inverse_simulation(trunk(), script=lambda time: {"tip": (0.148, 0.05 * time, -0.018)})
    simulation.step(2)
    scripted = simulation.solver.targets(simulation.state)["tip"]
    np.testing.assert_array_equal(simulation.controls.values()[0], scripted)
    simulation.controls["tip.z"] = -0.016
    simulation.step(2)
    np.testing.assert_array_equal(simulation.solver.targets(simulation.state)["tip"], [*scripted[:2], -0.016])


def test_closed_and_held_actuators_take_no_commands() -> None:
    assert fem.forward_simulation(bending()).controls.names == ("air",)
    scripted = fem.forward_simulation(hollow(AIR), lambda time: {"air": 100.0 * time})
    assert len(scripted.controls) == 0


def test_what_cannot_be_commanded_or_read_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"give it pressure=\(low, high\) \[Pa\]"):
        fem.forward_simulation(hollow(fem.Pneumatic(name="air")))
    with pytest.raises(UnknownName, match="Did you mean 'air'"):
        fem.forward_simulation(hollow(AIR), strokes=["airs"])
    with pytest.raises(InvalidValue, match="takes no command of its growth"):
        fem.forward_simulation(hollow(fem.Pneumatic(name="air", growth=1e-6)), strokes=["air"])
    with pytest.raises(InvalidValue, match="leave one of the two out"):
        fem.forward_simulation(hollow(AIR), lambda time: {}, strokes=["air"])
    with pytest.raises(InvalidValue, match="only exerts a pressure"):
        cylinder(actuators=[fem.Pneumatic(name="air", pressure=(0.0, 1e3), closed=True)])
    simulation = finger()
    with pytest.raises(InvalidValue, match="control 'air' cannot be nan"):
        simulation.controls["air"] = np.nan
    with pytest.raises(UnknownName, match="Did you mean 'tip'"):
        simulation.sensors.add("end", fem.position_of("tipp"))
    with pytest.raises(InvalidValue, match="has no velocity to read"):
        simulation.sensors.add("speed", fem.velocity_of())
    with pytest.raises(UnknownName, match="Did you mean 'air'"):
        simulation.sensors.add("pressure", fem.effort_of("aire"))
    with pytest.raises(InvalidValue, match="push has no volume"):
        simulation.sensors.add("volume", fem.volume_of("push"))
