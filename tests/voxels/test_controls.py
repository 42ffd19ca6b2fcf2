"""Controls and sensors of voxel robots, alone and in several worlds, and loops that they close."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import control, envs, voxels
from annelid.core.errors import InvalidValue, TooLarge, UnknownName

from .conftest import Sim

SENSORS = (voxels.sensors.area_ratio(), voxels.sensors.applied_force())


def crawler(**options: Any) -> voxels.Robot:
    return voxels.worm(3, sensors=SENSORS, **options)


def simulated(device: str, worlds: int = 1, **options: Any) -> Sim:
    return voxels.simulation(crawler(), obstacles=[voxels.terrain("flat")], worlds=worlds, device=device, **options)


def drive(simulation: Sim, world: int | slice = slice(None)) -> None:
    """Some commands for each of five worlds; in a simulation of one world those of `world`."""
    simulation.step(7)
    simulation.controls["voxel 0,0"] = np.linspace(-1.0, 1.0, 5)[world]
    simulation.step(20)
    simulation.controls.command({"voxel 2,0": np.linspace(0.9, -0.3, 5)[world]}, ramp=0.3)
    simulation.step(33)


def of_world(simulation: Sim, world: int) -> np.ndarray:
    """Positions and velocities of the bodies of a world, every bit."""
    rows = [simulation.state.positions.numpy(), simulation.state.velocities.numpy(), simulation.state.touching.numpy()]
    return np.column_stack([np.split(part, simulation.solver.worlds)[world] for part in rows])


def test_a_command_holds(device: str) -> None:
    simulation = simulated(device, gravity=(0.0, 0.0, 0.0))
    assert simulation.controls.names == ("voxel 0,0", "voxel 1,0", "voxel 2,0")
    simulation.controls.command([1.0, 0.0, -1.0])
    simulation.run(6.0)
    areas = simulation.solver.readout.area_ratios(simulation.state)
    assert areas[0] < 0.9 < areas[1] < 1.1 < areas[2]
    np.testing.assert_array_equal(simulation.state.controls.numpy(), [1.0, 0.0, -1.0])


def test_a_ramp_is_the_same_in_one_go_and_in_pieces(device: str) -> None:
    whole, pieces = simulated(device), simulated(device)
    for simulation in (whole, pieces):
        simulation.step(3)
        simulation.controls.command({"voxel 1,0": 0.8}, ramp=8.0 * simulation.dt)
    whole.step(12)
    for done in range(12):
        pieces.step(1)
        part = min(done / 8.0, 1.0)  # what a step begins with
        value = pieces.state.controls.numpy()[1]
        assert value == pytest.approx(0.8 * part**2 * (3.0 - 2.0 * part), rel=1e-6, abs=1e-12)
    assert pieces.state_hash() == whole.state_hash()


def test_a_world_among_others_is_the_one_alone(device: str) -> None:
    many = simulated(device, worlds=5)
    drive(many)
    for world in (0, 3):
        alone = simulated(device)
        drive(alone, world)
        np.testing.assert_array_equal(of_world(many, world), of_world(alone, 0))


def test_a_world_begins_again_by_itself_with_the_same_bits(device: str) -> None:
    many = simulated(device, worlds=5)
    drive(many)
    first, other = of_world(many, 1), of_world(many, 2)
    many.step(11)
    many.reset(worlds=[1])
    np.testing.assert_array_equal(many.controls.values()[1], 0.0)
    assert (of_world(many, 2) != other).any()
    drive(many)
    np.testing.assert_array_equal(of_world(many, 1), first)


def test_robots_together_have_channels_of_their_own(device: str) -> None:
    led = crawler(controller=control.PhasedSines(np.zeros(3), frequency=1.0))
    robots = [crawler(), led, voxels.box(1, 2)]
    simulation = voxels.simulation(robots, together=True, worlds=2, work=True, device=device)
    assert simulation.controls.names[0] == "robot 0 voxel 0,0"
    assert simulation.controls.names[3:] == ("robot 2 voxel 0,0", "robot 2 voxel 0,1")
    simulation.controls["robot 2 voxel 0,1"] = [0.5, -0.5]
    simulation.step(10)
    values = simulation.state.controls.numpy().reshape(2, 8)
    np.testing.assert_array_equal(values[:, 7], [0.5, -0.5])
    np.testing.assert_array_equal(values[:, :3], 0.0)
    assert np.abs(values[:, 3:6]).min() > 0.01
    work = simulation.state.efforts.numpy().reshape(2, 8, 2)[:, :, 1]  # also that of commands counts
    assert work[0, 7] > 0.1
    np.testing.assert_array_equal(work[:, 6], 0.0)
    simulation.sensors.add("third", voxels.position_of(robot=2))
    centers = simulation.solver.readout.centers(simulation.state).reshape(2, 3, 2)
    np.testing.assert_allclose(simulation.sensors["third"], centers[:, 2], rtol=1e-5)


def test_commands_are_saved_and_hashed(device: str, tmp_path: Path) -> None:
    simulation = simulated(device, worlds=2)
    before = simulation.state_hash()
    simulation.controls.command({"voxel 1,0": [0.3, -0.9]}, ramp=0.2)
    assert simulation.state_hash() != before
    simulation.step(5)
    simulation.save(tmp_path / "state.npz")
    simulation.step(20)
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.step(20)
    assert simulation.state_hash() == after


def test_sensors_read_what_the_readout_knows(device: str) -> None:
    simulation = simulated(device, worlds=5)
    names = {"place": voxels.position_of(), "speed": voxels.velocity_of(), "head": voxels.position_of([(2, 0)])}
    for name, sensor in (names | {"turn": voxels.orientation_of(), "voxels": voxels.readings_of()}).items():
        simulation.sensors.add(name, sensor)
    drive(simulation)
    read, readout, state = simulation.sensors, simulation.solver.readout, simulation.state
    np.testing.assert_allclose(read["place"], readout.centers(state), rtol=1e-5)
    speeds = readout.mass_velocities(state).reshape(5, 12, 2).mean(axis=1)
    np.testing.assert_allclose(read["speed"], speeds, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(read["head"], readout.positions(state).reshape(5, 3, 3)[:, 2, [0, 2]], rtol=1e-5)
    seen = read["voxels"].reshape(5, 3, 2)
    np.testing.assert_allclose(seen[..., 0].ravel(), readout.area_ratios(state), rtol=1e-5)
    np.testing.assert_array_equal(seen[..., 1].ravel(), state.controls.numpy())
    assert read.labels[-2:] == ("voxels.2,0 area-ratio", "voxels.2,0 applied-force")


def test_orientation_is_that_of_the_robot(device: str) -> None:
    """A robot that was turned as a whole about the origin."""
    simulation = voxels.simulation(crawler(), device=device)
    simulation.sensors.add("turn", voxels.orientation_of())
    assert simulation.sensors["turn"][0, 0] == pytest.approx(0.0, abs=1e-6)
    c, s = np.cos(2.3), np.sin(2.3)
    p = simulation.state.positions.numpy()
    p[:, :2] = p[:, :2] @ np.array([[c, s], [-s, c]])
    p[:, 2:] = p[:, 2:] @ np.array([[c, s], [-s, c]])
    simulation.state.positions.assign(p)
    assert simulation.sensors["turn"][0, 0] == pytest.approx(2.3, abs=1e-5)


def test_how_high_a_robot_has_been_is_kept_and_forgotten_with_its_world(device: str) -> None:
    """Robots that fall have been highest at the beginning; one that is dropped higher up again reads its own height."""
    simulation = simulated(device, 2, watch=True)
    simulation.sensors.add("place", voxels.position_of())
    simulation.sensors.add("highest", voxels.highest())
    start = simulation.sensors["place"][:, 1]
    np.testing.assert_allclose(simulation.sensors["highest"][:, 0], start, atol=1e-6)
    simulation.step(10)
    first = simulation.sensors["highest"][:, 0]
    assert (first > simulation.sensors["place"][:, 1] + 0.05).all()
    assert (first <= start + 1e-6).all()
    simulation.reset(worlds=[1])
    np.testing.assert_allclose(simulation.sensors["highest"][:, 0], [first[0], start[1]], atol=1e-6)


def test_how_high_a_robot_has_been_is_read_only_where_it_is_kept() -> None:
    with pytest.raises(InvalidValue, match="watch=True"):
        simulated("cpu").sensors.add("highest", voxels.highest())
    pair = voxels.simulation(
        [crawler()] * 2, obstacles=[voxels.terrain("flat")], together=True, watch=True, device="cpu"
    )
    with pytest.raises(InvalidValue, match="where each world has one robot"):
        pair.sensors.add("highest", voxels.highest())


def test_looking_changes_nothing(device: str) -> None:
    """Sensors that remember readings are fed at the calls of controllers only, whoever looks in between."""
    robot = voxels.worm(2, sensors=voxels.talamini_sensors(3))
    watched, alone = (
        voxels.simulation(robot, obstacles=[voxels.terrain("flat")], control_interval=3, device=device) for _ in "ab"
    )
    watched.sensors.add("voxels", voxels.readings_of())
    for _ in range(9):
        watched.step(1)
        before = watched.state_hash()
        watched.sensors.read()
        assert watched.state_hash() == before
    alone.step(9)
    assert alone.state_hash() == watched.state_hash()


def test_sensors_of_voxels_bring_them_to_a_size(device: str) -> None:
    """Each voxel adds to its last control value what it is too large by, knowing only its own area."""
    simulation = simulated(device, worlds=2, gravity=(0.0, 0.0, 0.0))
    simulation.sensors.add("voxels", voxels.readings_of())
    goals = np.array([[0.95, 1.0, 1.05], [1.06, 0.97, 0.99]])

    def settle(time: float, seen: np.ndarray) -> np.ndarray:
        area, last = np.moveaxis(seen.reshape(2, 3, 2), 2, 0)
        return last + 1.5 * (area - goals)

    control.connect(simulation, settle, every=0.1)
    simulation.run(6.0)
    areas = simulation.solver.readout.area_ratios(simulation.state).reshape(2, 3)
    np.testing.assert_allclose(areas, goals, atol=2e-3)


class Crawl(envs.Task):
    """Go along x."""

    seconds = 2.0
    every = 0.25

    def build(self, **machine: Any) -> Any:
        simulation = voxels.simulation(crawler(), obstacles=[voxels.terrain("flat")], **machine)
        simulation.sensors.add("place", voxels.position_of())
        simulation.sensors.add("voxels", voxels.readings_of())
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["place"][:, 0] - before["place"][:, 0]


def test_a_voxel_robot_is_a_task(device: str) -> None:
    """One world of three gets what it would get alone, also in its second episode."""
    pytest.importorskip("gymnasium")
    actions = np.random.default_rng(3).uniform(-1.0, 1.0, (12, 3, 3)).astype(np.float32)
    many, alone = (envs.make_vector_env(Crawl(), count, device=device) for count in (3, 1))
    many.reset(seed=[4, 5, 6])
    alone.reset(seed=[5])
    for action in actions:
        seen, worth, *_ = many.step(action)
        one, its, *_ = alone.step(action[1:2])
        np.testing.assert_array_equal(seen[1], one[0])
        assert worth[1] == its[0]


def test_bad_commands_and_sensors_are_refused() -> None:
    simulation = simulated("cpu", worlds=2)
    with pytest.raises(UnknownName, match="Did you mean 'voxel 1,0'"):
        simulation.controls["voxel 1.0"] = 0.5
    with pytest.raises(InvalidValue, match="control 'voxel 1,0' of world 1 cannot be nan"):
        simulation.controls["voxel 1,0"] = [0.0, np.nan]
    with pytest.raises(InvalidValue, match=r"no voxel in cell \(7, 0\)"):
        simulation.sensors.add("head", voxels.position_of([(7, 0)]))
    with pytest.raises(InvalidValue, match="has the robots 0 to 0, not 1"):
        simulation.sensors.add("other", voxels.velocity_of(robot=1))
    blind = voxels.simulation(voxels.worm(2), device="cpu")
    with pytest.raises(InvalidValue, match="robots have some"):
        blind.sensors.add("voxels", voxels.readings_of())
    with pytest.raises(InvalidValue, match="worlds of .* must be a whole number"):
        simulated("cpu", worlds=0)
    with pytest.raises(InvalidValue, match="2 robots have a world each"):
        voxels.simulation([crawler(), crawler()], worlds=3, device="cpu")


def test_different_robots_have_no_common_channels() -> None:
    simulation = voxels.simulation([voxels.worm(2), voxels.worm(3)], device="cpu")
    assert len(simulation.controls) == 0
    simulation.solver.set_controls(simulation.state, np.full(5, 0.5))
    np.testing.assert_array_equal(simulation.state.controls.numpy(), 0.5)


def test_worlds_beyond_the_memory_of_the_machine_are_refused_before_they_are_made() -> None:
    with pytest.raises(TooLarge, match="1000000000000 worlds of .* simulate fewer worlds"):
        simulated("cpu", worlds=10**12)
