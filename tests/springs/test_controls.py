"""Controls and sensors of spring bodies, alone and in several worlds."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import springs
from annelid.core.controls import CommandClipped
from annelid.core.errors import AnnelidError, InvalidValue, TooLarge, UnknownName
from annelid.core.recording import Recording
from annelid.shapes import ground

G = 9.81


def walker() -> springs.Body:
    """A small block whose two halves take commands."""
    body = springs.block((5, 3, 3), 0.1, damping=20.0)
    middle = body.positions[body.springs].mean(axis=1)
    body.groups["front"] = np.flatnonzero(body.positions[:, 0] > 0.35)
    return body.control("back", middle[:, 0] < 0.2).control("front", middle[:, 0] >= 0.2, low=0.7, high=1.3)


def simulated(device: str, worlds: int | None = 1) -> Any:
    return springs.simulation(walker(), dt=2e-4, obstacles=[ground(0.8)], worlds=worlds, device=device)


def drive(simulation: Any, world: int | slice = slice(None)) -> None:
    """Some commands for each of five worlds; in a simulation of one world those of `world`."""
    simulation.run(0.02)
    simulation.controls["back"] = np.linspace(0.8, 1.2, 5)[world]
    simulation.controls.command({"front": np.linspace(1.3, 0.7, 5)[world]}, ramp=0.03)
    simulation.run(0.05)


def test_a_command_sets_the_rest_length_and_holds(device: str) -> None:
    pair = springs.Body(
        positions=[[0, 0, 0], [1, 0, 0]], masses=1.0, springs=[[0, 1]], rest_lengths=1.0, stiffness=50.0
    )
    pair.damping[:] = 10.0
    simulation = springs.simulation(pair.control("length", low=0.5, high=2.0), gravity=(0, 0, 0), device=device)
    assert simulation.controls.names == ("length",)
    simulation.controls["length"] = 1.5
    simulation.run(4.0)
    assert np.linalg.norm(np.diff(simulation.positions(), axis=0)) == pytest.approx(1.5, rel=1e-4)
    assert simulation.controls["length"].tolist() == [1.5]


def test_a_ramp_is_smooth_and_ends_where_it_should(device: str) -> None:
    simulation = simulated(device)
    simulation.controls.command({"front": 1.2}, ramp=0.1)
    seen = []
    for _ in range(5):
        simulation.run(0.025)
        seen.append(float(simulation.controls["front"][0]))
    smooth = [1.0 + 0.2 * p * p * (3.0 - 2.0 * p) for p in (0.25, 0.5, 0.75, 1.0, 1.0)]
    np.testing.assert_allclose(seen, smooth, rtol=1e-12)
    assert simulation.controls.targets().tolist() == [[1.0, 1.2]]
    simulation.controls["front"] = 0.9  # from the middle of a ramp, too
    assert simulation.controls["front"].tolist() == [0.9]


def test_a_world_among_others_moves_as_it_would_alone(device: str) -> None:
    many = simulated(device, worlds=5)
    drive(many)
    worlds = many.positions().reshape(5, -1, 3)
    for world in (0, 3):
        alone = simulated(device)
        drive(alone, world)
        np.testing.assert_array_equal(worlds[world], alone.positions())
    assert len({row.tobytes() for row in worlds}) == 5


def test_a_world_that_begins_again_later_moves_alike(device: str) -> None:
    many = simulated(device, worlds=5)
    drive(many)
    first = many.positions().reshape(5, -1, 3)[1].copy()
    many.run(0.013)
    many.reset(worlds=[1])
    np.testing.assert_array_equal(many.controls.values()[1], [1.0, 1.0])
    drive(many)
    np.testing.assert_array_equal(many.positions().reshape(5, -1, 3)[1], first)


def test_functions_of_time_begin_with_their_world(device: str) -> None:
    body = springs.block((5, 3, 3), 0.1, damping=20.0).actuate(springs.expand_contract(0.2, 10.0))
    many = springs.simulation(body, dt=2e-4, obstacles=[ground(0.8)], worlds=3, device=device)
    many.run(0.031)
    first = many.positions().reshape(3, -1, 3)[0].copy()
    many.reset(worlds=[2])
    many.run(0.031)
    np.testing.assert_array_equal(many.positions().reshape(3, -1, 3)[2], first)


def test_commands_are_saved_hashed_and_survive_a_divergence(device: str, tmp_path: Path) -> None:
    simulation = simulated(device)
    before = simulation.state_hash()
    simulation.controls.command({"front": 1.3}, ramp=0.05)
    assert simulation.state_hash() != before
    simulation.run(0.02)
    simulation.save(tmp_path / "state.npz")
    simulation.run(0.05)
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.run(0.05)
    assert simulation.state_hash() == after


def test_commands_come_from_a_thread_while_it_runs(device: str) -> None:
    simulation = simulated(device)
    simulation.start()

    def command() -> None:
        for value in np.linspace(0.8, 1.2, 20):
            simulation.controls["back"] = value

    threads = [threading.Thread(target=command) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    simulation.stop()
    assert simulation.controls["back"].tolist() == [1.2]


def test_bad_commands_are_refused_before_anything_changes(device: str) -> None:
    simulation = simulated(device, worlds=5)
    with pytest.raises(UnknownName, match="Did you mean 'front'"):
        simulation.controls["fromt"] = 1.0
    with pytest.raises(InvalidValue, match="control 'front' of world 2 cannot be nan"):
        simulation.controls["front"] = [1.0, 1.0, np.nan, 1.0, 1.0]
    with pytest.raises(InvalidValue, match="one for each of 5 worlds"):
        simulation.controls["front"] = [1.0, 1.0]
    with pytest.raises(InvalidValue, match=r"need the shape \[2\] or \[5, 2\], not \[3\]"):
        simulation.controls.command([1.0, 1.0, 1.0])
    with pytest.raises(InvalidValue, match="must be given as numbers, not 'far'"):
        simulation.controls["front"] = "far"
    with pytest.raises(InvalidValue, match="a ramp must be a time"):
        simulation.controls.command({"front": 1.0}, ramp=-1.0)
    np.testing.assert_array_equal(simulation.controls.targets(), 1.0)
    with pytest.warns(CommandClipped, match="7 for control 'front' is outside 0.7 to 1.3"):
        simulation.controls["front"] = 7.0
    assert simulation.controls["front"].tolist() == [1.3] * 5


def test_arrays_of_other_libraries_are_taken(device: str) -> None:
    simulation = simulated(device, worlds=5)
    rows = np.column_stack([np.linspace(0.8, 1.2, 5), np.linspace(0.7, 1.3, 5)]).astype(np.float32)
    simulation.controls.command(wp.array(rows, dtype=wp.float32, device=device))
    np.testing.assert_allclose(simulation.controls.values(), rows, rtol=1e-6)
    torch = pytest.importorskip("torch")
    simulation.controls.command(torch.tensor(rows[::-1].copy(), requires_grad=True))
    np.testing.assert_allclose(simulation.controls.values(), rows[::-1], rtol=1e-6)


def test_joined_bodies_keep_their_controls(device: str) -> None:
    other = springs.block((3, 3, 3), 0.1).moved((0, 1, 0)).control("other")
    both = other + walker()
    simulation = springs.simulation(both, gravity=(0, 0, 0), device=device)
    assert simulation.controls.names == ("other", "back", "front")
    simulation.controls["front"] = 1.3
    simulation.run(0.05)
    moved = np.abs(simulation.positions() - both.positions).max(axis=1)
    assert moved[:27].max() < 1e-5
    assert moved[27:].max() > 1e-3


@pytest.mark.parametrize(("limits", "problem"), [((1.1, 1.2), "0 < low"), ((-1.0, 1.2), "0 < low")])
def test_bad_controls_are_refused(limits: tuple[float, float], problem: str) -> None:
    body = springs.block((3, 3, 3), 0.1)
    with pytest.raises(InvalidValue, match=problem):
        body.control("all", low=limits[0], high=limits[1])
    with pytest.raises(InvalidValue, match="has no springs"):
        body.control("none", np.zeros(body.spring_count, bool))
    with pytest.raises(InvalidValue, match="two controls are named 'all'"):
        body.control("all").control("all")


def test_what_several_worlds_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidValue, match="worlds of .* must be a whole number"):
        simulated("cpu", worlds=0)
    simulation = simulated("cpu", worlds=2)
    with pytest.raises(InvalidValue, match="several worlds cannot be edited"), simulation.edit():
        pass


def test_sensors_read_what_the_readout_knows(device: str) -> None:
    simulation = simulated(device, worlds=5)
    sensors = {
        "place": springs.position_of("front"),
        "speed": springs.velocity_of("front"),
        "force": springs.contact_force_of(),
        "touch": springs.touch_of(),
        "strain": springs.strain_of(),
    }
    for name, sensor in sensors.items():
        simulation.sensors.add(name, sensor)
    drive(simulation)
    group = simulation.solver.model.one.groups["front"]
    places = simulation.positions().reshape(5, -1, 3)[:, group].mean(axis=1)
    speeds = simulation.velocities().reshape(5, -1, 3)[:, group].mean(axis=1)
    np.testing.assert_allclose(simulation.sensors["place"], places, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(simulation.sensors["speed"], speeds, rtol=1e-5, atol=1e-6)
    whole = simulation.sensors.read().numpy()
    assert whole.shape == (5, simulation.sensors.size) == (5, len(simulation.sensors.labels))
    np.testing.assert_array_equal(whole[:, simulation.sensors.columns("strain")], simulation.sensors["strain"])
    assert simulation.sensors.labels[:3] == ("place.x", "place.y", "place.z")


def test_the_ground_carries_the_weight_of_a_body_at_rest(device: str) -> None:
    simulation = simulated(device)
    simulation.sensors.add("force", springs.contact_force_of())
    simulation.sensors.add("touch", springs.touch_of(lambda x: x[:, 2] < 0.01))
    simulation.run(1.0)
    weight = G * simulation.solver.model.body.masses.sum()
    np.testing.assert_allclose(simulation.sensors["force"][0], [0.0, 0.0, weight], atol=2e-3 * weight)
    assert simulation.sensors["touch"][0, 0] == 1.0


def test_orientation_is_that_of_the_body(device: str) -> None:
    body = springs.block((4, 3, 3), 0.1)
    turned = body.rotated((1.0, 2.0, 3.0), 0.7)
    simulation = springs.simulation(body, gravity=(0, 0, 0), device=device)
    simulation.sensors.add("turn", springs.orientation_of())
    with simulation.edit() as edit:
        edit.change_masses(np.arange(body.mass_count), positions=turned.positions)
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    np.testing.assert_allclose(simulation.sensors["turn"][0], [*(np.sin(0.35) * axis), np.cos(0.35)], atol=1e-5)


def test_snapshots_and_recordings_tell_readings_and_commands(tmp_path: Path) -> None:
    simulation = simulated("cpu")
    simulation.sensors.add("tip", springs.position_of("front"))
    simulation.controls["front"] = 1.2
    numbers = simulation.snapshot_numbers()
    assert numbers["front"].value == 1.2
    assert numbers["tip.z"].unit == "m"
    with simulation.record(tmp_path / "run.rec", every=0.01):
        simulation.run(0.02)
    with Recording(tmp_path / "run.rec") as recording:
        assert recording.numbers()["front"].tolist() == [1.2, 1.2, 1.2]


def test_bad_sensors_are_refused() -> None:
    simulation = simulated("cpu")
    simulation.sensors.add("tip", springs.position_of("front"))
    with pytest.raises(InvalidValue, match="a name of its own"):
        simulation.sensors.add("tip", springs.position_of("front"))
    with pytest.raises(UnknownName, match="Did you mean 'front'"):
        simulation.sensors.add("other", springs.position_of("frint"))
    with pytest.raises(UnknownName, match="Did you mean 'tip'"):
        simulation.sensors["tio"]
    with pytest.raises(InvalidValue, match="must be a Sensor"):
        simulation.sensors.add("other", 3)  # type: ignore[arg-type]
    simulation.sensors.remove("tip")
    assert simulation.sensors.size == 0


def test_arrays_of_no_numbers_are_refused_and_spoil_nothing(device: str) -> None:
    """A kernel for any type that once fails to compile for one fails for all of them."""
    simulation = simulated(device)
    for wrong in (wp.zeros((1, 2), dtype=wp.vec3, device=device), wp.zeros((1, 2), dtype=wp.mat33, device=device)):
        with pytest.raises(InvalidValue, match="must hold numbers"):
            simulation.controls.command(wrong)
    simulation.controls["front"] = 1.25
    assert simulation.controls["front"] == [1.25]


def test_one_row_of_the_device_is_for_all_worlds(device: str) -> None:
    simulation = simulated(device, worlds=3)
    simulation.controls.command(wp.array([0.875, 1.25], dtype=wp.float32, device=device))
    np.testing.assert_array_equal(simulation.controls.values(), 3 * [[0.875, 1.25]])
    with pytest.raises(InvalidValue, match="shape"):
        simulation.controls.command(wp.zeros(3, device=device))


@pytest.mark.parametrize(
    "wrong",
    ["left", 1j, pytest.param(10**400, id="huge"), object(), np.datetime64("2020-01-01"), {3: 1.0}, {"front": 10**400}],
)
def test_commands_are_numbers_of_channels(wrong: object) -> None:
    with pytest.raises(AnnelidError):
        simulated("cpu").controls.command(wrong)


@pytest.mark.parametrize("ramp", ["slow", None, -1.0, np.nan, np.array([1.0, 2.0])])
def test_a_ramp_is_a_time(ramp: Any) -> None:
    with pytest.raises(InvalidValue, match="a ramp must be"):
        simulated("cpu").controls.command({"front": 1.0}, ramp=ramp)


def test_worlds_beyond_the_memory_of_the_machine_are_refused_before_they_are_made() -> None:
    with pytest.raises(TooLarge, match="1000000000000 worlds of 45 masses"):
        simulated("cpu", worlds=10**12)
