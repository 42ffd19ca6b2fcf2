"""Sensors of bodies among grains and of grains; loops that they close."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import control, grains, springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.shapes import Box, Capsule, Rigid, Sphere

from .blade import BALL, BLADE, EDGE, RADIUS, drive, simulated

G = 9.81
LEFT = Box((0.5 * EDGE, EDGE, 0.2), center=(0.25 * EDGE, 0.5 * EDGE, 0.1))


def watched(device: str, worlds: int = 1) -> Any:
    simulation = simulated(device, worlds)
    sensors = {
        "place": grains.position_of(BLADE),
        "speed": grains.velocity_of("ball"),
        "turn": grains.orientation_of(BLADE),
        "spin": grains.spin_of(BLADE),
        "force": grains.contact_force_of(BLADE),
        "torque": grains.contact_torque_of(BLADE),
        "touch": grains.touch_of(BALL),
        "middle": grains.grain_position(),
        "flow": grains.grain_velocity(inside=LEFT),
        "energy": grains.grain_energy(),
        "share": grains.grain_share(inside=LEFT),
        "heights": grains.height_map((0.0, 0.0), (EDGE, EDGE), (5, 4)),
    }
    for name, sensor in sensors.items():
        simulation.sensors.add(name, sensor)
    return simulation


def test_sensors_read_what_the_readout_knows(device: str) -> None:
    simulation = watched(device)
    drive(simulation, 3)
    read, readout, state = simulation.sensors, simulation.solver.readout, simulation.state
    bed = simulation.solver.model.bed
    np.testing.assert_allclose(read["place"][0], readout.body_position(state, BLADE), rtol=1e-6)
    np.testing.assert_allclose(read["speed"][0], readout.body_velocity(state, BALL), rtol=1e-6)
    np.testing.assert_allclose(np.abs(read["turn"][0]), np.abs(readout.body_turn(state, BLADE)), atol=1e-6)
    assert read["turn"][0, 3] > 0.0
    np.testing.assert_allclose(read["spin"][0], readout.body_spin(state, BLADE), rtol=1e-6)
    np.testing.assert_allclose(read["force"][0], readout.force(state, BLADE), rtol=1e-5)
    np.testing.assert_allclose(read["torque"][0], readout.torque(state, BLADE), rtol=1e-5)
    assert np.abs(read["force"]).max() > 0.0
    places, speeds, masses = readout.positions(state), readout.velocities(state), bed.masses
    left = places[:, 0] <= 0.5 * EDGE
    np.testing.assert_allclose(read["middle"][0], masses @ places / masses.sum(), rtol=1e-5)
    np.testing.assert_allclose(read["flow"][0], speeds[left].mean(axis=0), rtol=1e-4, atol=1e-6)
    assert read["share"][0, 0] == pytest.approx(left.mean())
    ball = 0.5 * BALL.total_mass * float((readout.body_velocity(state, BALL) ** 2).sum())
    spun = 0.2 * BALL.total_mass * 0.02**2 * float((readout.body_spin(state, BALL) ** 2).sum())
    assert read["energy"][0, 0] == pytest.approx(simulation.summary().kinetic - ball - spun, rel=1e-3)
    assert read.labels[:3] == ("place.x", "place.y", "place.z")


def test_a_height_map_is_the_upper_side_of_the_grains(device: str) -> None:
    simulation = watched(device)
    simulation.step(40)
    x = simulation.positions()
    found = simulation.sensors["heights"][0]
    for (a, b), height in np.ndenumerate(found):
        low = np.array([a * EDGE / 5, b * EDGE / 4])
        nearest = np.clip(x[:, :2], low, low + np.array([EDGE / 5, EDGE / 4]))
        left = RADIUS**2 - ((x[:, :2] - nearest) ** 2).sum(axis=1)
        assert height == pytest.approx(np.max(x[left > 0.0, 2] + np.sqrt(left[left > 0.0]), initial=0.0), abs=1e-5)
    assert found.min() > RADIUS
    simulation.sensors.add("beside", grains.height_map((1.0, 1.0), (2.0, 2.0), (2, 2), floor=-0.5))
    np.testing.assert_array_equal(simulation.sensors["beside"], -0.5)


def test_readings_of_a_world_are_those_of_it_alone(device: str) -> None:
    many, alone = watched(device, worlds=4), watched(device)
    np.testing.assert_array_equal(many.sensors["touch"], 0.0)  # the ball is still above the bed
    drive(many)
    drive(alone, 2)
    np.testing.assert_array_equal(many.sensors.read().numpy()[2], alone.sensors.read().numpy()[0])
    many.controls["lift"] = [0.0, 20.0, 20.0, 20.0]
    many.step(300)
    np.testing.assert_array_equal(many.sensors["touch"][:, 0], [1.0, 0.0, 0.0, 0.0])


def test_the_turn_is_that_of_the_frame_of_the_body() -> None:
    """Rods lie along z in the kernels, whatever their axis is."""
    turn = Rotation.from_rotvec([0.3, 0.2, -0.4])
    rod = Rigid(Capsule(0.01, 0.04, axis="x"), motion="driven", position=(0.0, 0.0, 0.5), rotation=turn.as_quat())
    simulation = simulated("cpu", obstacles=[rod], controls=())
    simulation.sensors.add("turn", grains.orientation_of(rod))
    np.testing.assert_allclose(simulation.sensors["turn"][0], turn.as_quat(canonical=True), atol=1e-6)


def test_a_driven_blade_keeps_a_contact_force(device: str) -> None:
    """It goes on while grains push back with less than it wants, and gives way to more; in the mean of beds."""
    felt = np.mean([_felt_while_pushing(device, seed) for seed in range(1, 5)], axis=0)
    assert np.mean(felt[150:200]) == pytest.approx(0.3, abs=0.1)
    assert np.mean(felt[-50:]) == pytest.approx(1.0, abs=0.2)


def _felt_while_pushing(device: str, seed: int) -> list[float]:
    simulation = simulated(device, seed=seed)
    simulation.sensors.add("force", grains.contact_force_of(BLADE))
    simulation.run(0.2)
    felt: list[float] = []

    def advance(time: float, readings: np.ndarray) -> np.ndarray:
        felt.append(-float(readings[0, 0]))
        wanted = 0.3 if time < 0.6 else 1.0
        return np.array([np.clip(0.1 * (wanted - np.mean(felt[-5:])), -0.1, 0.1)])

    control.connect(simulation, advance, every=0.002, controls=["ahead"])
    simulation.run(0.8)
    return felt


def test_a_force_keeps_a_body_at_a_height(device: str) -> None:
    simulation = simulated(device, worlds=2)
    for name, sensor in {"place": grains.position_of(BALL), "speed": grains.velocity_of(BALL)}.items():
        simulation.sensors.add(name, sensor)
    mass, heights = BALL.total_mass, np.array([0.13, 0.16])

    def hold(time: float, readings: np.ndarray) -> np.ndarray:
        pull = mass * (G + 400.0 * (heights - readings[:, 2]) - 40.0 * readings[:, 5])
        return np.column_stack([np.zeros(2), np.zeros(2), pull, np.zeros(2)])

    control.connect(simulation, hold, every=0.002, ramp=True)
    simulation.run(0.6)
    np.testing.assert_allclose(simulation.sensors["place"][:, 2], heights, atol=5e-4)
    np.testing.assert_allclose(simulation.sensors["speed"], 0.0, atol=5e-3)
    np.testing.assert_allclose(simulation.controls["lift"], mass * G, rtol=1e-2)


def test_bad_sensors_are_refused() -> None:
    simulation = simulated("cpu")
    with pytest.raises(UnknownName, match="Did you mean 'blade'"):
        simulation.sensors.add("place", grains.position_of("blades"))
    with pytest.raises(InvalidValue, match="obstacle 0, a Plane.* read a flat Box"):
        simulation.sensors.add("place", grains.contact_force_of(0))
    with pytest.raises(InvalidValue, match="cannot be read from a simulation of grains"):
        simulation.sensors.add("place", springs.position_of())
    with pytest.raises(InvalidValue, match="inside must be a Box"):
        grains.grain_position(inside=Sphere(1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="a corner below another"):
        grains.height_map((0.0, 0.0), (0.0, 1.0), (3, 3))
    with pytest.raises(InvalidValue, match="two numbers each"):
        grains.height_map((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (3, 3))
    with pytest.raises(InvalidValue, match="at least one cell"):
        grains.height_map((0.0, 0.0), (1.0, 1.0), (0, 3))
    with pytest.raises(InvalidValue, match="two whole numbers, along x and y, not 8"):
        grains.height_map((0.0, 0.0), (1.0, 1.0), 8)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="two numbers each, x and y, not 'low'"):
        grains.height_map("low", (1.0, 1.0), (3, 3))
    other = springs.simulation(springs.block((2, 2, 2), 0.1), device="cpu")
    with pytest.raises(InvalidValue, match="cannot be read from a simulation of springs"):
        other.sensors.add("place", grains.position_of(0))
