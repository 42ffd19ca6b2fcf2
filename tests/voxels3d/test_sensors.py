"""Sensors of 3-D voxels against what the readout says on the host, and controllers that close the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import control, voxels3d
from annelid.core.errors import InvalidValue
from annelid.scenes.table import Table
from annelid.shapes import Plane

KINDS: tuple[Any, ...] = ("kinetic", "rotational", "elastic", "gravitational", "total")
CPU: dict[str, Any] = {"precision": "float64", "device": "cpu", "threads": 1}


@pytest.fixture(scope="module")
def walked() -> Any:
    """Two worlds with robots of their own, one of which flows."""
    flowing = voxels3d.Voxel(plastic_modulus=1e4, yield_stress=2e3)
    block = voxels3d.Robot(np.zeros((3, 2, 2), int), (flowing,), amplitude=10.0, frequency=4.0)
    simulation = voxels3d.simulation([Table(ramp=0.0).robot(), block], dt=1e-4, obstacles=[Plane()], **CPU)
    simulation.step(700)
    return simulation


def of_worlds(simulation: Any, values: np.ndarray) -> list[np.ndarray]:
    return np.split(values, simulation.solver.model.first_voxel[1:-1])


def test_energies_are_those_of_the_summary(walked: Any) -> None:
    for kind in KINDS:
        walked.sensors.add(kind, voxels3d.energy_of(kind=kind))
        wanted = [[getattr(walked.solver.readout.summary(walked.state, world), kind)] for world in (0, 1)]
        np.testing.assert_allclose(walked.sensors[kind], wanted, rtol=1e-6)
        assert (np.array(wanted) > 0.0).all()
    walked.sensors.add("low", voxels3d.energy_of(lambda x, y, z: z == 0))
    walked.sensors.add("high", voxels3d.energy_of(lambda x, y, z: z > 0))
    np.testing.assert_allclose(walked.sensors["low"] + walked.sensors["high"], walked.sensors["total"], rtol=1e-6)


def test_parts_are_read_in_each_world(walked: Any) -> None:
    readout, state, before = walked.solver.readout, walked.state, walked.state_hash()
    for name, sensor in {
        "place": voxels3d.position_of(), "speed": voxels3d.velocity_of(lambda x, y, z: z == z.max()),
        "turn": voxels3d.orientation_of(), "strain": voxels3d.strain_of(), "touch": voxels3d.touch_of(),
    }.items():  # fmt: skip
        walked.sensors.add(name, sensor)
    places, speeds = of_worlds(walked, readout.positions(state)), of_worlds(walked, readout.velocities(state))
    robots = walked.solver.model.robots
    np.testing.assert_allclose(walked.sensors["place"], [p.mean(axis=0) for p in places], rtol=1e-6)
    tops = [v[r.cells[:, 2] == r.cells[:, 2].max()].mean(axis=0) for v, r in zip(speeds, robots, strict=True)]
    np.testing.assert_allclose(walked.sensors["speed"], tops, rtol=1e-6, atol=1e-12)
    turns = of_worlds(walked, readout.rotations(state).as_rotvec())
    np.testing.assert_allclose(2.0 * walked.sensors["turn"][:, :3], [t.mean(axis=0) for t in turns], atol=1e-4)
    one, other = readout.links.T
    lengths = np.linalg.norm(readout.positions(state)[other] - readout.positions(state)[one], axis=1) / 0.01 - 1.0
    wanted = [[lengths[walked.solver.model.world_of_voxel[one] == world].mean()] for world in (0, 1)]
    np.testing.assert_allclose(walked.sensors["strain"], wanted, rtol=1e-5)
    reach = of_worlds(walked, 0.005 * readout.sizes(state))
    wanted = [[(p[:, 2] <= r).mean()] for p, r in zip(places, reach, strict=True)]
    np.testing.assert_allclose(walked.sensors["touch"], wanted)
    assert 0.0 < walked.sensors["touch"][0, 0] < 1.0
    assert walked.state_hash() == before


def test_each_voxel_is_read_by_itself() -> None:
    robot = voxels3d.Robot(np.zeros((3, 1, 1), int), amplitude=10.0)
    simulation = voxels3d.simulation(robot, gravity=(0.0, 0.0, 0.0), worlds=2, dt=1e-4, **CPU)
    simulation.sensors.add("strains", voxels3d.strain_of(each=True))
    simulation.sensors.add("places", voxels3d.position_of(lambda x, y, z: x > 0, each=True))
    simulation.sensors.add("touches", voxels3d.touch_of(each=True))
    simulation.controls["voxel 0,0,0"] = [0.0, 1.0]
    simulation.run(0.3)
    gaps = np.diff(simulation.positions().reshape(2, 3, 3)[..., 0], axis=1) / 0.01 - 1.0
    wanted = np.column_stack([gaps[:, 0], gaps.mean(axis=1), gaps[:, 1]])
    np.testing.assert_allclose(simulation.sensors["strains"], wanted, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(gaps, [[0.0, 0.0], [0.05, 0.0]], atol=1e-4)
    places = simulation.positions().reshape(2, 3, 3)[:, 1:].reshape(2, -1)
    np.testing.assert_allclose(simulation.sensors["places"], places, rtol=1e-6)
    np.testing.assert_array_equal(simulation.sensors["touches"], np.zeros((2, 3)))


def test_what_cannot_be_read_is_refused(walked: Any) -> None:
    with pytest.raises(InvalidValue, match="needs two neighbouring voxels"):
        walked.sensors.add("alone", voxels3d.strain_of(lambda x, y, z: (x == 0) & (y == 0) & (z == 0)))
    with pytest.raises(InvalidValue, match="has no voxels"):
        walked.sensors.add("nobody", voxels3d.position_of(lambda x, y, z: x > 99))


def test_sensors_follow_edits_and_robots_that_share_a_world() -> None:
    row = voxels3d.Robot(np.zeros((4, 1, 1), int))
    options: Any = {"gravity": (0.0, 0.0, 0.0), "collisions": "all", "positions": [(0, 0, 0), (0.1, 0, 0)]}
    simulation = voxels3d.simulation([row, row], dt=1e-4, **options, **CPU)
    simulation.sensors.add("middle", voxels3d.position_of())
    simulation.sensors.add("ends", voxels3d.position_of(lambda x, y, z: x == 3))
    simulation.sensors.add("each", voxels3d.strain_of(each=True))
    np.testing.assert_allclose(simulation.sensors["middle"], [[0.07, 0.005, 0.005]], rtol=1e-6)
    assert simulation.sensors["each"].shape == (1, 8)
    with simulation.edit() as edit:
        edit.cut(lambda x, y, z: x == 3)
    np.testing.assert_allclose(simulation.sensors["middle"][0, 0], (0.005 + 0.015 + 0.025 + 0.48) / 7, rtol=1e-6)
    np.testing.assert_allclose(simulation.sensors["ends"][0, 0], 0.135, rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(simulation.sensors["each"]), [[False] * 3 + [True] + [False] * 4])
    with simulation.edit() as edit:
        edit.add([(3, 0, 0), (3, 0, 1)])
    assert np.isfinite(simulation.sensors["each"]).all()  # of the cells that it had, not of others


def muscle(worlds: int = 1) -> Any:
    """A row of voxels that is held on one side, and whose middle obeys."""
    amplitude = np.where(np.arange(5) == 2, 20.0, 0.0)[:, None, None]
    robot = voxels3d.Robot(np.zeros((5, 1, 1), int), (voxels3d.Voxel(global_damping=0.2),), amplitude=amplitude)
    robot = robot.fix(lambda x, y, z: x == 0).push(lambda x, y, z: x == 4, (0.2, 0.0, 0.0))
    simulation = voxels3d.simulation(robot, gravity=(0.0, 0.0, 0.0), dt=1e-4, worlds=worlds, **CPU)
    simulation.sensors.add("tip", voxels3d.position_of(lambda x, y, z: x == 4))
    return simulation


def test_a_loop_holds_the_tip_where_it_was() -> None:
    simulation = muscle()
    pulled = muscle()
    pulled.run(0.4)
    assert pulled.sensors["tip"][0, 0] > 0.0455  # 0.2 N on a row of 1 N/unit strain
    last = [0.0]

    def integrate(time: float, readings: np.ndarray) -> np.ndarray:
        last[0] = float(np.clip(last[0] - 30.0 * (readings[0, 0] - 0.0460), -1.0, 1.0))
        return np.array([last[0]])

    control.connect(simulation, integrate, every=0.005)
    simulation.run(1.0)
    assert simulation.sensors["tip"][0, 0] == pytest.approx(0.0460, abs=1e-5)


def driven(driver: control.Controller, sensor: Any) -> tuple[np.ndarray, np.ndarray]:
    """What voxels were commanded at 0.19 s, and what was read there."""
    robot = voxels3d.Robot(np.zeros((2, 2, 1), int), amplitude=10.0)
    simulation = voxels3d.simulation(robot, dt=1e-4, obstacles=[Plane()], **CPU)
    simulation.sensors.add("seen", sensor)
    control.connect(simulation, driver, every=0.01)
    simulation.run(0.19)
    seen = simulation.sensors["seen"][0]
    simulation.run(0.005)
    return 10.0 * (simulation.solver.readout.sizes(simulation.state) - 1.0), seen


def test_controllers_drive_voxels() -> None:
    """Sines, one network, and a network in each voxel."""
    rng = np.random.default_rng(0)
    phases = np.array([0.0, 0.5, 1.0, 1.5])
    commands, _ = driven(control.PhasedSines(phases, frequency=2.0), voxels3d.strain_of(each=True))
    np.testing.assert_allclose(commands, np.sin(2.0 * np.pi * 2.0 * 0.19 + phases), rtol=1e-4)
    network = control.MLP(rng.normal(size=4 * 6))
    commands, seen = driven(network, voxels3d.strain_of(each=True))
    np.testing.assert_allclose(commands, network.act(0.19, seen, 4), rtol=1e-4)
    plain = control.DistributedMLP([], signals=0, hidden=(3,), driving=control.Sine(3.0))
    each = plain.with_parameters(rng.normal(size=plain.weights_needed(4, [3] * 4)))
    commands, seen = driven(each, voxels3d.position_of(each=True))
    one = control.MLP(each.parameters, hidden=(3,), driving=control.Sine(3.0))
    np.testing.assert_allclose(commands, [one.act(0.19, own, 1)[0] for own in seen.reshape(4, 3)], rtol=1e-4)
    assert np.ptp(commands) > 0.0
