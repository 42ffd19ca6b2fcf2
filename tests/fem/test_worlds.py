"""Copies of a solid side by side: each moves as it would alone, begins again and is lost by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import control, envs, fem
from annelid.core.errors import FileFormatError, InvalidValue, SimulationDiverged, TooLarge, Unsupported
from annelid.core.snapshot import Look, Mesh, host_array
from annelid.shapes import Plane

from .robots.robots import hollow, hollow_solid, hyperelastic_hollow

AIR = fem.Pneumatic(name="air", pressure=(0.0, 6e4))
END = "end"
HASTY = fem.Settings(iterations=6, smallest_part=1.0)  # gives up at once


def motion(**options: Any) -> Any:
    """A hollow finger along x in motion."""
    settings: dict[str, Any] = {"actuators": [AIR], "dt": 0.01, "velocity_damping": 20.0, "threads": 1, **options}
    solid = hollow_solid().group(END, lambda p: p[:, 0] > 0.0999)
    return fem.simulation(solid, **{"device": "cpu", **settings})


def rest(**options: Any) -> Any:
    """The same from equilibrium to equilibrium, under loads that grow."""
    return motion(dynamic=False, ramp=0.02, settings=HASTY, **options)


def kept(**options: Any) -> Any:
    """The same on the ground with a factor that is kept, which states carry."""
    return motion(linear="kept", obstacles=[Plane(point=(0.0, 0.0, -0.0165))], **options)


def held(**options: Any) -> Any:
    """A robot whose chamber is held at the volume that is commanded, on the ground that its tip touches."""
    chamber = fem.Pneumatic(name="air", growth=(0.0, 8e-6))
    robot = hollow(chamber, obstacles=[Plane(point=(0.0, 0.0, -0.0165))])
    return fem.forward_simulation(robot, strokes=["air"], **options)


def watery(**options: Any) -> Any:
    """A robot that a liquid fills, whose weight is found by columns."""
    water = fem.Hydraulic(name="air", pressure=(0.0, 5e3), weight="columns", cells=8)
    return fem.forward_simulation(hollow(water), **options)


def together(**options: Any) -> Any:
    """The first of these, of a material for large strains, whose worlds are stepped together."""
    solid = hyperelastic_hollow().group(END, lambda p: p[:, 0] > 0.0999)
    settings: dict[str, Any] = {"actuators": [AIR], "dt": 0.01, "velocity_damping": 20.0, "threads": 1}
    return fem.simulation(solid, **{"device": "cpu", "worlds": 1, "together": True, **settings, **options})


MAKERS = [motion, rest, kept, held, watery, together]


def add_sensors(simulation: Any) -> None:
    ahead = lambda p: p[:, 0] > 0.0999  # noqa: E731
    sensors = {
        "end": fem.position_of(ahead),
        "turn": fem.orientation_of(ahead),
        "effort": fem.effort_of("air"),
        "stroke": fem.stroke_of("air"),
        "volume": fem.volume_of(0),
        "energy": fem.strain_energy(),
    }
    for name, sensor in sensors.items():
        simulation.sensors.add(name, sensor)


def drive(simulation: Any, world: int | slice = slice(None)) -> None:
    """Some commands for each of three worlds, of which the second begins again; in one world those of `world`."""
    high = min(simulation.controls.highs[0], 4e3)
    simulation.controls.command({"air": np.array([0.3, 0.9, 0.6])[world] * high}, ramp=2.5 * simulation.dt)
    simulation.step(2)
    if world == slice(None):
        simulation.reset(worlds=[1])
    elif world == 1:
        simulation.reset(worlds=[0])
    simulation.controls["air"] = np.array([0.5, 0.8, 0.2])[world] * high
    simulation.step(2)


@pytest.mark.parametrize("make", MAKERS)
def test_a_world_among_others_moves_to_the_bit_as_it_would_alone(make: Callable[..., Any]) -> None:
    many, alone = make(worlds=3), make()
    for simulation in (many, alone):
        add_sensors(simulation)
    drive(many)
    positions, readings = np.split(many.positions(), 3), many.sensors.read().numpy()
    assert np.isfinite(readings).all()
    for world in range(3):
        alone.reset()
        drive(alone, world)
        np.testing.assert_array_equal(positions[world], alone.positions())
        np.testing.assert_array_equal(readings[world], alone.sensors.read().numpy()[0])


@pytest.mark.parametrize("make", [motion, together])
def test_worlds_on_a_device_begin_again_by_a_mask(make: Callable[..., Any], device: str) -> None:
    simulation = make(worlds=3, device=device)
    simulation.sensors.add("end", fem.position_of(END))
    simulation.sensors.add("speed", fem.velocity_of(END))
    first = simulation.sensors.read().numpy().copy()
    simulation.controls["air"] = [1e3, 2e3, 3e3]
    simulation.step(2)
    moved = simulation.sensors.read().numpy().copy()
    mask = wp.array([False, True, False], dtype=wp.bool, device=device)
    simulation.solver.reset(simulation.state, mask)
    now = simulation.sensors.read().numpy()
    np.testing.assert_array_equal(now[[0, 2]], moved[[0, 2]])
    np.testing.assert_array_equal(now[1], first[1])
    assert simulation.state.begun.numpy().tolist() == [0, 2, 0]
    assert simulation.controls["air"].tolist() == [1e3, 0.0, 3e3]
    simulation.reset()
    np.testing.assert_array_equal(simulation.sensors.read().numpy(), first)
    assert simulation.state.clock.numpy().tolist() == [0]


@pytest.mark.parametrize("make", [kept, held, together])
def test_saved_and_loaded_worlds_go_on_with_the_same_bits(make: Callable[..., Any], tmp_path: Path) -> None:
    simulation = make(worlds=3)
    drive(simulation)
    simulation.save(tmp_path / "state.npz")
    simulation.step(2)
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.step(2)
    assert simulation.state_hash() == after
    with pytest.raises(FileFormatError, match="belongs to another model"):
        make(worlds=2).load(tmp_path / "state.npz")


def test_a_world_that_finds_no_equilibrium_is_lost_by_itself() -> None:
    simulation, other = rest(worlds=3), rest(worlds=3)
    simulation.controls["air"] = [1e3, 6e4, 2e3]
    other.controls["air"] = [1e3, 0.0, 2e3]
    before = simulation.state_hash()
    with pytest.raises(SimulationDiverged, match="at step 1 .* in world 1 the solid finds no equilibrium") as caught:
        simulation.step(3)
    assert caught.value.step == simulation.step_count == 0
    assert simulation.state_hash() == before
    solver, state = simulation.solver, simulation.state
    solver.advance(state, 3)  # as environments do, which end the episodes of lost worlds
    other.step(3)
    assert solver.diverged_at() == 1
    assert state.clock.numpy().tolist() == [3]
    found, expected = (np.split(each.positions(), 3) for each in (simulation, other))
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[2], expected[2])
    simulation.sensors.add("pressure", fem.effort_of("air"))
    np.testing.assert_array_equal(simulation.sensors["pressure"][:, 0], [1e3, np.nan, 2e3])
    simulation.reset(worlds=[1])
    other.reset(worlds=[1])
    for each in (simulation, other):
        each.step()
    np.testing.assert_array_equal(simulation.positions(), other.positions())
    assert solver.diverged_at() is None


def test_a_world_in_motion_that_is_no_longer_finite_is_lost_by_itself() -> None:
    simulation, other = motion(worlds=2), motion(worlds=2)
    simulation.state.velocities.numpy()[-1] = np.nan
    simulation.solver.advance(simulation.state, 2)
    other.step(2)
    assert simulation.solver.diverged_at() == 1
    assert "in world 1 node" in simulation.solver.describe_divergence(other.state)
    found, expected = (np.split(each.positions(), 2) for each in (simulation, other))
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[0], expected[0])


def test_a_solid_by_itself_stays_in_its_last_equilibrium() -> None:
    """And a batch of one is lost, so that an environment of one world ends its episode as one of many does."""
    alone, one = rest(), rest(worlds=1)
    for simulation, error in ((alone, fem.NoEquilibrium), (one, SimulationDiverged)):
        simulation.step()
        stood = simulation.positions()
        simulation.controls["air"] = 6e4
        with pytest.raises(error, match="no equilibrium"):
            simulation.step()
        np.testing.assert_array_equal(simulation.positions(), stood)


def test_an_error_in_one_world_leaves_all_where_they_were() -> None:
    def script(time: float) -> dict[str, float]:
        if time > 0.12:
            raise RuntimeError("no more")
        return {"air": 1e4 * time}

    simulation = fem.forward_simulation(hollow(AIR), script, worlds=2)
    before = simulation.state_hash()
    with pytest.raises(RuntimeError, match="no more"):
        simulation.solver.advance(simulation.state, 3)
    assert simulation.state_hash() == before
    simulation.step(2)
    assert simulation.solver.readout.efforts(simulation.state, 1) == {"air": 1e3}


def test_readouts_and_pictures_are_of_all_worlds() -> None:
    simulation = fem.forward_simulation(hollow(AIR), worlds=3)
    alone = fem.forward_simulation(hollow(AIR))
    simulation.controls["air"] = [0.0, 1e3, 2e3]
    alone.controls["air"] = 2e3
    for each in (simulation, alone):
        each.step()
    solver, state, one = simulation.solver, simulation.state, alone.summary()
    assert simulation.positions().shape == simulation.velocities().shape == (3 * solver.model.node_count, 3)
    assert simulation.summary().mass == pytest.approx(3 * one.mass)
    assert solver.readout.strokes(state, 2) == alone.solver.readout.strokes(alone.state)
    places = [each.solver.readout.places(each.state, world)["tip"] for each, world in ((simulation, 2), (alone, 0))]
    np.testing.assert_array_equal(*places)
    energies = [solver.readout.elastic(solver.world(state, world)) for world in range(3)]
    assert simulation.summary().elastic == pytest.approx(sum(energies))
    solver.limit(state, "air", effort=fem.Limits(0.0, 500.0))
    assert solver.limits(state, 2)["air"][0].high == 500.0
    look = Look(fields=("displacement",), spheres=True)
    many, single = (next(p for p in each.snapshot(look).parts if isinstance(p, Mesh)) for each in (simulation, alone))
    count = len(single.vertices)
    shift = many.vertices[2 * count] - single.vertices[0]
    assert np.linalg.norm(shift) > 0.014
    np.testing.assert_allclose(many.vertices[2 * count :], single.vertices + shift, atol=1e-6)
    np.testing.assert_array_equal(many.triangles[-1], single.triangles[-1] + 2 * count)
    np.testing.assert_array_equal(many.fields["displacement"].values[2 * count :], single.fields["displacement"].values)
    again = next(p for p in simulation.snapshot(look).parts if isinstance(p, Mesh))
    assert again.triangles is many.triangles
    with pytest.raises(InvalidValue, match="the worlds 0 to 2, not 3"):
        solver.readout.efforts(state, 3)


def test_loops_are_closed_in_every_world() -> None:
    simulation = fem.forward_simulation(hollow(AIR), worlds=2)
    simulation.sensors.add("volume", fem.volume_of("air"))
    simulation.sensors.add("pressure", fem.effort_of("air"))
    goals = float(simulation.sensors["volume"][0, 0]) + np.array([[1e-6], [2e-6]])
    control.connect(simulation, lambda time, seen: seen[:, 1:] + 5e8 * (goals - seen[:, :1]), every=0.05)
    simulation.step(8)
    np.testing.assert_allclose(simulation.sensors["volume"], goals, rtol=1e-4)


class Grow(envs.Task):
    """Lengthen the finger."""

    seconds = 0.1
    every = 0.02

    def build(self, **machine: Any) -> Any:
        simulation = rest(**machine)
        simulation.sensors.add("end", fem.position_of(END))
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["end"][:, 0] - before["end"][:, 0]


def acted(count: int, world: int | slice = slice(None), actions: int = 2) -> Any:
    """Some actions; in one world those of `world` among three."""
    worlds = envs.make_worlds(Grow, count, device="cpu", threads=1)
    worlds.restart(seeds=np.arange(count))
    for k in range(actions):
        worlds.step((np.array([[-0.9], [-0.95], [-1.0]]) + 0.02 * k)[world].reshape(count, 1))
    return worlds


def test_a_task_learns_in_many_worlds(tmp_path: Path) -> None:
    many, alone = acted(3), acted(1, world=1)
    seen = many.observations["observation"].numpy()
    np.testing.assert_array_equal(seen[1], alone.observations["observation"].numpy()[0])
    assert len(set(many.rewards.numpy().tolist())) == 3
    many.save(tmp_path / "worlds.npz")
    shots = [next(p for p in many.snapshot(world).parts if isinstance(p, Mesh)) for world in (0, 2)]
    assert shots[0].vertices.shape == shots[1].vertices.shape
    assert not np.array_equal(host_array(shots[0].vertices), host_array(shots[1].vertices))
    many.step([[1.0], [-1.0], [-1.0]])  # the first one bursts
    assert many.terminated.numpy().tolist() == [True, False, False]
    assert np.isfinite(many.rewards.numpy()).all()
    many.restart(mask=many.terminated.numpy().copy())
    many.step([[-0.9], [-1.0], [-1.0]])
    assert np.isfinite(many.observations["observation"].numpy()).all()
    after = []
    for _ in range(2):
        many.load(tmp_path / "worlds.npz")
        many.step([[-0.8], [-1.0], [-0.9]])
        after.append(many.observations["observation"].numpy().copy())
    np.testing.assert_array_equal(*after)


def test_a_task_of_one_world_ends_where_the_finger_bursts() -> None:
    worlds = acted(1, world=1)
    worlds.step([[1.0]])
    assert worlds.terminated.numpy().tolist() == [True]
    worlds.restart(mask=np.array([True]))
    worlds.step([[-0.9]])
    assert worlds.terminated.numpy().tolist() == [False]


@pytest.mark.parametrize("worlds", [0, -1, 1.5, "two", True])
def test_numbers_that_are_none_of_worlds_are_refused(worlds: Any) -> None:
    with pytest.raises(InvalidValue, match="worlds of .* must be a whole number of 1 or more"):
        motion(worlds=worlds)


def test_what_several_worlds_cannot_do_is_refused() -> None:
    with pytest.raises(TooLarge, match="1000000000000 worlds of .* simulate fewer worlds"):
        motion(worlds=10**12)
    with pytest.raises(Unsupported, match="inverse control cannot have 3 worlds side by side.*forward_simulation"):
        fem.inverse_simulation(hollow(AIR), worlds=3)
