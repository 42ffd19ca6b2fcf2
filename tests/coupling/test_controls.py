"""Controls, sensors and worlds of spring bodies among grains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import control, coupling, grains, springs
from annelid.core.errors import InvalidValue, TooLarge
from annelid.shapes import Box, Rigid

from .conftest import SKIN, block, box

SAND = box(side=0.14, depth=0.05)
PRESS = Rigid(Box((0.04, 0.04, 0.02)), position=(0.045, 0.0, 0.12), motion="driven", name="press")
DOWN = grains.velocity_control("down", PRESS, "z", low=-0.5, high=0.5)


def body() -> springs.Body:
    """A block whose springs all take commands."""
    made = block(4).moved((-0.025, 0.0, 0.055))
    made.groups["top"] = np.flatnonzero(made.positions[:, 2] > 0.1)
    return made.control("size", low=0.8, high=1.2)


def simulated(device: str, worlds: int = 1, **options: Any) -> Any:
    options = {"skin": SKIN, "dt": 2e-4, "spring_dt": 1e-4, "threads": 1, "controls": [DOWN], **options}
    obstacles = [*SAND.walls(), PRESS]
    with grains.start.on_purpose():
        return coupling.simulation(
            options.pop("body", None) or body(),
            SAND.bed(),
            obstacles=obstacles,
            worlds=worlds,
            device=device,
            **options,
        )


def drive(simulation: Any, world: int | slice = slice(None)) -> None:
    """Some commands for each of three worlds; in a simulation of one world those of `world`."""
    simulation.step(20)
    simulation.controls["down"] = np.array([0.0, -0.1, -0.3])[world]
    simulation.controls.command({"size": np.array([0.9, 1.0, 1.1])[world]}, ramp=0.006)
    simulation.step(60)


def motion(simulation: Any) -> np.ndarray:
    """Masses, grains and rigid bodies of each world, shape [worlds, ...]."""
    readout, state, worlds = simulation.solver.readout, simulation.state, simulation.solver.worlds
    arrays = readout.body_positions(state), readout.grain_positions(state), state.grains.places.numpy()
    return np.concatenate([array.reshape(worlds, -1) for array in arrays], axis=1)


def test_commands_reach_both_sides(device: str) -> None:
    simulation = simulated(device)
    assert simulation.controls.names == ("size", "down")
    simulation.controls.command({"size": 1.1, "down": -0.2}, ramp=0.004)
    simulation.step(10)  # half of the ramp, in steps of the whole
    np.testing.assert_allclose(simulation.controls.values()[0], [1.05, -0.1], rtol=1e-12)
    simulation.step(100)
    state = simulation.state
    assert state.grains.body_velocities.numpy()[simulation.solver.grains.model.number("press"), 2] == np.float32(-0.2)
    lengths = np.linalg.norm(np.diff(simulation.positions()[body().springs], axis=1)[:, 0], axis=1)
    assert (lengths / body().rest_lengths).mean() == pytest.approx(1.1, rel=0.02)


def test_springs_follow_a_ramp_in_their_own_steps(device: str) -> None:
    """Alone, with steps as short as the springs have here, the body swells alike until it meets grains."""
    high = body().moved((0.0, 0.0, 0.3))
    coupled = simulated(device, body=high, gravity=(0.0, 0.0, 0.0))
    alone = springs.simulation(high, dt=1e-4, gravity=(0.0, 0.0, 0.0), device=device, threads=1)
    for simulation in (coupled, alone):
        simulation.controls.command({"size": 1.2}, ramp=0.01)
    coupled.step(70)
    alone.step(140)
    np.testing.assert_allclose(coupled.solver.readout.body_positions(coupled.state), alone.positions(), atol=1e-7)


def test_a_world_among_others_moves_as_it_would_alone(device: str) -> None:
    many = simulated(device, worlds=3)
    drive(many)
    found = motion(many)
    for world in (0, 2):
        alone = simulated(device)
        drive(alone, world)
        np.testing.assert_array_equal(found[world], motion(alone)[0])
    assert len({row.tobytes() for row in found}) == 3


def test_a_world_that_begins_again_later_moves_alike(device: str) -> None:
    many = simulated(device, worlds=3)
    drive(many)
    first = motion(many)[1]
    many.step(7)
    many.reset(worlds=[1])
    np.testing.assert_array_equal(many.controls.values()[1], [1.0, 0.0])
    drive(many)
    np.testing.assert_array_equal(motion(many)[1], first)
    many.reset()
    assert many.state_hash() == simulated(device, worlds=3).state_hash()


def test_worlds_in_which_masses_touch_and_motors_turn_begin_again_one_by_one(device: str) -> None:
    """One block falls on another and is turned against it; friction and the swing of the motor begin anew."""
    lower = block(3).moved((0.0, 0.0, 0.055)).group("lower", None)
    upper = lower.moved((0.0, 0.0, 0.049))  # 0.2 mm beyond contact
    upper.groups = {"upper": upper.groups["lower"]}
    pair = springs.hinge(
        springs.join([lower, upper]), "joint", rotor="upper", stator="lower",
        point=(0.0, 0.0, 0.0), direction=(0.0, 0.0, 1.0), links=4,
    )  # fmt: skip
    pair.velocities[pair.groups["upper"], 2] = -1.0
    turn = springs.Motor("joint", torque=springs.swing(1e-4, 50.0))
    touch = {"collisions": [springs.Collide("lower", "upper", radius=0.0084)], "motors": [turn]}
    many = simulated(device, worlds=3, body=pair, controls=(), springs=touch)
    many.step(10)
    assert (many.state.springs.partners.numpy() >= 0).any()
    first = motion(many)[1]
    many.reset(worlds=[1])  # while they touch
    many.step(10)
    np.testing.assert_array_equal(motion(many)[1], first)


def test_commands_are_saved_and_hashed(device: str, tmp_path: Path) -> None:
    simulation = simulated(device)
    before = simulation.state_hash()
    simulation.controls.command({"size": 1.1, "down": -0.3}, ramp=0.02)
    assert simulation.state_hash() != before
    simulation.step(30)
    simulation.save(tmp_path / "state.npz")
    simulation.step(60)
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.step(60)
    assert simulation.state_hash() == after


def test_sensors_of_both_sides(device: str) -> None:
    simulation = simulated(device, worlds=3)
    sensors = {
        "top": springs.position_of("top"),
        "speed": springs.velocity_of(),
        "strain": springs.strain_of(),
        "felt": coupling.contact_force_of(),
        "touch": coupling.touch_of(lambda x: x[:, 2] < 0.06),
        "press": grains.position_of(PRESS),
        "middle": grains.grain_position(),
        "heights": grains.height_map((-0.07, -0.07), (0.07, 0.07), (3, 3)),
    }
    for name, sensor in sensors.items():
        simulation.sensors.add(name, sensor)
    drive(simulation)
    simulation.step(240)
    read, readout, state = simulation.sensors, simulation.solver.readout, simulation.state
    masses = readout.body_positions(state).reshape(3, -1, 3)
    np.testing.assert_allclose(read["top"], masses[:, body().groups["top"]].mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(read["press"][:, 2], state.grains.places.numpy().reshape(3, -1, 3)[:, -1, 2], rtol=1e-6)
    bed = readout.grain_positions(state).reshape(3, -1, 3)
    np.testing.assert_allclose(read["middle"], bed.mean(axis=1), rtol=1e-4, atol=1e-6)
    assert read["heights"].max() < bed[:, :, 2].max() + 0.0101  # the body is higher, and no grain
    forces = readout.contact_forces(state).reshape(3, -1, 3).sum(axis=1)
    np.testing.assert_allclose(read["felt"], forces, rtol=1e-4, atol=1e-5)
    assert (read["felt"][:, 2] > 0.0).all()
    assert ((read["touch"] > 0.0) & (read["touch"] <= 1.0)).all()
    assert read["strain"][2, 0] > read["strain"][0, 0]


def test_a_worm_in_sand_follows_a_heading(device: str) -> None:
    """Its two sides shorten and stretch until the front points where it should, in each world elsewhere."""
    worm = springs.block((8, 3, 3), 0.016, mass=0.004, stiffness=400.0, damping=1.0).moved((-0.056, -0.016, 0.05))
    middle = worm.positions[worm.springs].mean(axis=1)
    worm.groups["front"] = np.flatnonzero(worm.positions[:, 0] > 0.04)
    worm.groups["waist"] = np.flatnonzero(np.abs(worm.positions[:, 0]) < 0.02)
    worm = worm.control("left", middle[:, 1] > 0.004).control("right", middle[:, 1] < -0.004)
    simulation = simulated(device, worlds=2, body=worm, controls=(), inside="remove")
    for group in ("front", "waist"):
        simulation.sensors.add(group, springs.position_of(group))
    wanted = np.array([0.15, -0.1])

    def steer(time: float, readings: np.ndarray) -> np.ndarray:
        ahead = readings[:, :3] - readings[:, 3:]
        error = wanted - np.arctan2(ahead[:, 1], ahead[:, 0])
        now = simulation.controls.values()
        bend = np.clip(0.5 * (now[:, 1] - now[:, 0]) + 0.1 * error, -0.2, 0.2)
        return np.column_stack([1.0 - bend, 1.0 + bend])

    control.connect(simulation, steer, every=0.01, ramp=True)
    simulation.run(0.4)
    ahead = simulation.sensors["front"] - simulation.sensors["waist"]
    np.testing.assert_allclose(np.arctan2(ahead[:, 1], ahead[:, 0]), wanted, atol=0.02)


def test_a_world_is_taken_out_of_several(device: str) -> None:
    many, alone = simulated(device, worlds=3), simulated(device)
    drive(many)
    many.solver.take_world(many.state, alone.state, 2)
    np.testing.assert_array_equal(motion(alone)[0], motion(many)[2])
    alone.step(1)  # with lists of its own


def test_what_cannot_be_commanded_or_read_is_refused() -> None:
    with pytest.raises(InvalidValue, match="two controls are named 'size'"):
        simulated("cpu", controls=[grains.velocity_control("size", "press", "z", low=-1.0, high=1.0)])
    with pytest.raises(InvalidValue, match="give controls= itself, for both sides"):
        simulated("cpu", grains={"controls": [DOWN]})
    with pytest.raises(InvalidValue, match="worlds of .* must be a whole number"):
        simulated("cpu", worlds=0)
    simulation = simulated("cpu")
    with pytest.raises(InvalidValue, match=r"use contact_force_of and touch_of of annelid\.coupling"):
        simulation.sensors.add("felt", springs.contact_force_of())
    with pytest.raises(InvalidValue, match="none of the masses .* is on the surface"):
        simulation.sensors.add("felt", coupling.contact_force_of([21]))
    other = springs.simulation(body(), device="cpu")
    with pytest.raises(InvalidValue, match="cannot be read from a simulation of springs"):
        other.sensors.add("felt", coupling.touch_of())
    one, many = SAND.bed(), body().replicated(np.zeros((2, 3)))
    world = coupling.World(inside="allow")
    with pytest.raises(InvalidValue, match="give one body and worlds=n"):
        coupling.Model(many, one.repeated(2), world=world, world_of=np.repeat([0, 1], len(one)), device="cpu")


def test_worlds_beyond_the_memory_of_the_machine_are_refused_before_they_are_made() -> None:
    with pytest.raises(TooLarge, match="1000000000000 worlds of .* simulate fewer worlds"):
        simulated("cpu", worlds=10**12)
