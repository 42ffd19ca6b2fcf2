"""Several worlds of springs with all that a body can have: each is to the bit what it would be alone.

Most simulations of this file have the same features, so that they share their kernels.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look
from annelid.shapes import ImplicitSurface, Rigid, Surface, ground

DT = 2e-4


@wp.func
def sway(time: wp.float32, index: int, position: wp.vec3, velocity: wp.vec3, mass: wp.float32) -> wp.vec3:
    """A force that differs from mass to mass and with time."""
    return wp.vec3(0.5 * wp.sin(40.0 * time + float(index)), 2.0 * float(index % 3) * time, 0.0)


@wp.func
def rein(time: wp.float32, index: int, position: wp.vec3, velocity: wp.vec3) -> wp.vec3:
    """Holds every seventh mass back for a while."""
    free = velocity
    if index % 7 == 0 and time < 0.006:
        free = wp.vec3(velocity[0], 0.0, velocity[2])
    return free


@wp.func
def heaving(time: wp.float32, position: wp.vec3) -> wp.vec4:
    """A floor that moves up and down."""
    return wp.vec4(0.0, 0.0, 1.0, position[2] - 0.02 * wp.sin(50.0 * time) + 0.01)


@wp.func
def third_mass_is_late(time: wp.float32, index: int, position: wp.vec3, velocity: wp.vec3) -> bool:
    return index == 2 and time > 0.0099


def robot(length: int = 3, yield_strain: float = 0.03) -> springs.Body:
    """Two blocks on a hinge that commands, signals, collisions and breaking act on; 4 does not divide its masses."""
    first = springs.block((length, 3, 3), 0.1, damping=3.0).group("first", None)
    second = springs.block((2, 3, 3), 0.1, damping=3.0).moved((0.1 * length + 0.03, 0.0, 0.0)).group("second", None)
    body = springs.hinge(
        springs.join([first, second]), "joint", rotor="second", stator="first",
        point=(0.1 * length - 0.03, 0.1, 0.1), direction=(1.0, 0.2, 0.0), links=6,
    ).moved((0.0, 0.0, 0.01))  # fmt: skip
    middle = body.positions[body.springs].mean(axis=1)[:, 0]
    body.control("back", middle > 0.2).actuate(springs.expand_contract(0.1, 30.0), middle <= 0.08)
    body.yield_strains[::5] = yield_strain
    body.velocities = np.random.default_rng(0).normal(0.0, 0.6, body.velocities.shape)
    body.velocities[body.groups["second"], 0] -= 4.0  # into the first, whose spheres its own nearly touch
    return body


def build(device: str, worlds: int | None, *, goal: str = "angle", radius: float = 0.06, **shape: Any) -> Any:
    """The robot with everything, in some worlds."""
    high = {"torque": 0.3, "speed": 8.0, "angle": 0.5}[goal]
    motors = [
        springs.Motor("joint", limit=0.5, **{goal: springs.Command(-high, high, name="turn")}),
        springs.Motor("joint", limit=0.2, angle=springs.swing(0.4, 10.0)),
    ]
    simulation = springs.simulation(
        robot(**shape), dt=DT, worlds=worlds, motors=motors, forces=[sway], constraints=[rein], device=device,
        collisions=[springs.Collide("all", "all", radius=radius)],
        obstacles=[ground(0.8, stiffness=5e3), Rigid(ImplicitSurface(heaving), Surface(stiffness=5e3))],
    )  # fmt: skip
    simulation.sensors.add("strain", springs.strain_of())
    return simulation


def act(simulation: Any, shares: np.ndarray, steps: int) -> None:
    """Ramp the channels to shares of their ranges, and take steps."""
    lows, highs = simulation.controls.lows, simulation.controls.highs
    simulation.controls.command(lows + (highs - lows) * shares, ramp=0.003)
    simulation.step(steps)


def seen(simulation: Any, world: int = 0) -> dict[str, np.ndarray]:
    """What a world is like: positions, velocities, what has broken, what the sensor reads."""
    state, worlds = simulation.state, simulation.solver.worlds
    parts = {name: getattr(state, name).numpy() for name in ("positions", "velocities", "broken")}
    found = {name: array.reshape(worlds, -1, *array.shape[1:])[world] for name, array in parts.items()}
    return {**found, "strain": simulation.sensors.read().numpy()[world]}


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**16),
    worlds=st.integers(2, 5),
    goal=st.sampled_from(["torque", "speed", "angle"]),
    radius=st.sampled_from([0.05, 0.06]),
    length=st.integers(2, 3),
    yield_strain=st.sampled_from([0.02, 1.0]),
)
def test_any_world_is_what_it_would_be_alone(
    seed: int, worlds: int, goal: str, radius: float, length: int, yield_strain: float
) -> None:
    """Random commands and resets; then each world is built alone and told what it was told since it last began."""
    options = {"goal": goal, "radius": radius, "length": length, "yield_strain": yield_strain}
    rng, many = np.random.default_rng(seed), build("cpu", worlds, **options)
    told: list[list[tuple[np.ndarray, int]]] = [[] for _ in range(worlds)]
    for turn in range(3):
        again = np.flatnonzero(rng.random(worlds) < (0.4 if turn else 0.0))
        many.reset(worlds=again)
        shares, steps = rng.random((worlds, len(many.controls))), int(rng.integers(5, 50))
        act(many, shares, steps)
        for world in range(worlds):
            told[world] = [*([] if world in again else told[world]), (shares[world], steps)]
    many.solver.model.network.verify()
    assert (many.state.partners.numpy() >= 0).any() or radius < 0.06
    for world in range(worlds):
        alone = build("cpu", 1, **options)
        for shares, steps in told[world]:
            act(alone, shares, steps)
        assert_same(seen(many, world), seen(alone))


def test_a_batch_of_one_begins_again_by_its_own_clock(device: str) -> None:
    simulation = build(device, 1)
    act(simulation, np.array([0.2, 0.9]), 40)
    first = seen(simulation)
    simulation.step(23)
    simulation.reset(worlds=[0])
    act(simulation, np.array([0.2, 0.9]), 40)
    assert_same(seen(simulation), first)


def test_a_world_goes_on_alone_where_it_is_taken_out(device: str) -> None:
    """With its clock, its commands, what broke and what friction holds."""
    many, alone = build(device, 3), build(device, 1)
    many.step(17)
    many.reset(worlds=[2])
    act(many, np.array([[0.1, 0.9], [0.5, 0.5], [1.0, 0.2]]), 60)
    many.solver.take_world(many.state, alone.state, 2)
    marks, drawn = seen(alone)["broken"], alone.snapshot(Look(lines=True)).parts[-1].segments
    assert marks.any()
    assert len(drawn) == alone.solver.model.one.spring_count - np.bitwise_count(marks).sum() // 2
    for simulation in (many, alone):
        simulation.solver.advance(simulation.state, 40)
    assert (many.state.partners.numpy() >= 0).any()
    assert_same(seen(many, 2), seen(alone))


def test_what_broke_in_a_world_is_told_and_whole_when_it_begins_again(device: str, tmp_path: Path) -> None:
    many, alone = build(device, 3, yield_strain=0.02), build(device, 1, yield_strain=0.02)
    shares = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    act(many, shares, 50)
    act(alone, shares[1], 50)
    model, each = many.solver.model, many.solver.model.one.spring_count
    broken = np.concatenate([event.detail.index for event in many.events])
    of_second = broken[broken // each == 1] % each
    assert sorted(of_second) == sorted(np.concatenate([event.detail.index for event in alone.events]))
    assert model.spring_count == 3 * each - len(broken)
    assert 0 < len(of_second) < len(broken)
    many.save(tmp_path / "torn.npz")
    before = many.sensors["strain"].copy()
    many.reset(worlds=[1])
    assert model.spring_count == 3 * each - len(broken) + len(of_second)
    model.network.verify()
    np.testing.assert_array_equal(many.sensors["strain"][[0, 2]], before[[0, 2]])
    many.load(tmp_path / "torn.npz")
    assert model.spring_count == 3 * each - len(broken)
    np.testing.assert_array_equal(many.sensors["strain"], before)


def test_a_strain_leaves_out_what_has_broken(device: str) -> None:
    """Read from the marks on the device, before the host has looked at what broke."""
    simulation = build(device, 2, yield_strain=0.02)
    simulation.solver.advance(simulation.state, 60)
    body, state = simulation.solver.model.one, simulation.state
    reading = simulation.sensors["strain"][1, 0]
    assert simulation.events == []
    simulation.solver.collect_events(state)
    left = simulation.solver.model.network.springs.alive[body.spring_count : 2 * body.spring_count]
    assert 0 < left.sum() < len(left)
    places = state.positions.numpy()[body.mass_count :, :3].astype(float)
    lengths = np.linalg.norm(np.diff(places[body.springs], axis=1)[:, 0], axis=1)
    assert reading == pytest.approx((lengths / body.rest_lengths - 1.0)[left].mean(), rel=1e-5)


def test_signals_and_motors_of_all_worlds_change_while_they_run(device: str) -> None:
    many, alone = build(device, 3), build(device, 1)
    other = robot()
    other.signal_parameters[other.signal_parameters[:, 1] == 30.0, 0] = 0.05
    for simulation in (many, alone):
        simulation.step(10)
        model = simulation.solver.model
        commanded, swinging = model.world.motors
        motors = [commanded, replace(swinging, angle=springs.swing(-0.3, 20.0))]
        model.set_world(replace(model.world, motors=motors))
        model.set_actuation(other)
        simulation.step(30)
    assert_same(seen(many, 2), seen(alone))
    with pytest.raises(InvalidValue, match="channels that command them cannot change"):
        many.solver.model.set_world(
            replace(model.world, motors=[replace(commanded, angle=springs.Command(-1.0, 1.0)), swinging])
        )


def test_summaries_and_snapshots_are_of_all_worlds(device: str) -> None:
    many, alone = build(device, 3), build(device, 1)
    for simulation in (many, alone):
        simulation.step(20)
    together, one = many.summary(), alone.summary()
    assert together.mass == pytest.approx(3.0 * one.mass)
    assert together.kinetic == pytest.approx(3.0 * one.kinetic)
    np.testing.assert_allclose(together.center_of_mass, one.center_of_mass)
    drawn = [shot.parts[1].vertices for shot in (many.snapshot(), alone.snapshot())]
    np.testing.assert_array_equal(drawn[0].reshape(3, -1, 3)[2], drawn[1])


def test_a_channel_of_a_motor_has_its_name_unit_and_limits() -> None:
    simulation = build("cpu", 2, goal="speed")
    assert simulation.controls.names == ("back", "turn")
    channel = simulation.controls.channels[1]
    assert (channel.low, channel.high, channel.rest, channel.unit) == (-8.0, 8.0, 0.0, "rad/s")


def test_a_condition_knows_mass_and_time_of_its_world(device: str) -> None:
    """It holds at the first step at which the third mass of some world is 0.0099 s old, not the third of all."""
    simulation = springs.simulation(springs.block((2, 2, 2)), dt=DT, worlds=3, gravity=(0, 0, 0), device=device)
    simulation.step(20)
    simulation.reset(worlds=[0, 2])
    simulation.step(15)
    simulation.reset(worlds=[1])
    simulation.breakpoint(when=third_mass_is_late)
    simulation.start()
    assert simulation.wait(120.0).step == 20 + 50


def test_a_world_that_verlet_steps_begins_with_its_own_force(device: str) -> None:
    def made(worlds: int) -> Any:
        body = springs.block((2, 2, 2)).actuate(springs.expand_contract(0.1, 30.0))
        options = {"integrator": "verlet", "forces": [sway], "gravity": (0, 0, 0)}
        return springs.simulation(body, dt=DT, worlds=worlds, device=device, **options)

    many, alone = made(3), made(1)
    many.step(31)
    many.reset(worlds=[1])
    for simulation in (many, alone):
        simulation.step(40)
    for name in ("positions", "velocities", "accelerations"):
        rows = getattr(many.state, name).numpy()
        np.testing.assert_array_equal(rows.reshape(3, -1, rows.shape[1])[1], getattr(alone.state, name).numpy())


def test_the_words_about_a_divergence_name_the_world() -> None:
    simulation = build("cpu", 3)
    simulation.state.velocities.numpy()[2 * simulation.solver.model.one.mass_count + 5] = 1e30
    words = simulation.solver.describe_divergence(simulation.state)
    assert words.startswith("mass 5 of world 2 moves fastest, at 1.73e+30 m/s")
