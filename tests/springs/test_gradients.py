"""Rollouts of springs: gradients against central differences, the same bits however they are computed, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annelid import Match, Rollout, Simulation, Track, Travel, springs
from annelid.core import rollout as core_rollout
from annelid.core.errors import InvalidValue, TooLarge, UnknownName
from annelid.core.replay import Graphs
from annelid.shapes import Capsule, Cylinder, Plane, Rigid, Sphere, Surface, Torus, turned_about
from annelid.springs.adjoint import adjoint as adjoint_module
from annelid.springs.adjoint import motion as motion_module

from .crawlers import crawler, crawling, mixed

Sim = Simulation[springs.Solver]

STEPS = 500


@pytest.fixture
def crawl(device: str) -> Callable[..., Sim]:
    def make(body: springs.Body | None = None, **world: Any) -> Sim:
        return crawling(body, device=device, **world)

    return make


def all_parameters(rollout: Rollout) -> dict[str, Any]:
    """Every parameter, at values of the first world that are not those of the simulation where it is a factor."""
    rng = np.random.default_rng(2)
    given: dict[str, Any] = {name: rollout.value(name)[0] for name in rollout.names}
    for name in ("stiffness_factor", "rest_length_factor", "damping_factor"):
        given[name] = rng.uniform(0.95, 1.05, given[name].shape)
    given["mass_factor"], given["controls"] = 1.02, 1.0 + 0.1 * rng.uniform(-1.0, 1.0, (20, 1))
    del given["sliding_friction"]  # follows friction, but for that of the box
    return given


def direction(name: str, value: Any) -> Any:
    rng = np.random.default_rng(sum(map(ord, name)))
    scale = 0.1 if name in ("positions", "velocities", "controls") else np.maximum(np.abs(value), 0.01)
    return rng.standard_normal(np.shape(value)) * scale


def test_every_rate_agrees_with_central_differences(crawl: Callable[..., Sim]) -> None:
    rollout = Rollout(crawl(), STEPS, looks=170)
    given = all_parameters(rollout)
    value, rates = rollout.gradient(mixed, given)
    assert value.shape == (1,)
    errors = {}
    for name in given:
        assert np.shape(rates[name]) == np.shape(given[name])
        along, found = direction(name, given[name]), []
        exact = float((rates[name] * along).sum())
        for step in (1e-5, 1e-6, 1e-7):
            ends = [mixed(rollout.forward({**given, name: given[name] + s * step * along}))[0][0] for s in (1, -1)]
            found.append(abs((ends[0] - ends[1]) / (2.0 * step) - exact) / abs(exact))
        errors[name] = min(found)
    assert {name: error for name, error in errors.items() if not error < 1e-6} == {}


def test_rates_by_masses_in_contacts_that_suit_the_body(crawl: Callable[..., Sim]) -> None:
    below = Rigid(Plane(point=(0.0, 0.0, -0.003)), Surface(friction=0.8))
    rollout = Rollout(crawl(obstacles=[below]), STEPS, looks=170)
    for name in ("mass_factor", "masses", "friction"):
        given = rollout.value(name)[0]
        _, rates = rollout.gradient(mixed, {name: given})
        along = direction(name, given)
        ends = [mixed(rollout.forward({name: given + s * 1e-6 * along}))[0][0] for s in (1, -1)]
        exact = float((rates[name] * along).sum())
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(exact, rel=1e-5), name
    with pytest.raises(InvalidValue, match="contact_stiffness.*: stiffness of a surface is not given"):
        rollout.gradient(mixed, {"contact_stiffness": [1e4]})


def test_rates_through_contacts_with_round_shapes(crawl: Callable[..., Sim]) -> None:
    surface, turn = Surface(friction=0.5, stiffness=1e4), turned_about("x", 0.4)
    ring = Rigid(Torus(0.15, 0.06, axis="x"), surface, position=(0.1, 0.1, -0.205), rotation=turn)
    others = [Rigid(shape(0.1, 0.3, axis="y"), surface, position=(x, 0.1, -0.1))
              for shape, x in ((Capsule, 0.35), (Cylinder, 0.55))]  # fmt: skip
    rollout = Rollout(crawl(obstacles=[ring, *others]), STEPS, looks=170)
    given = rollout.value("positions")[0]
    _, rates = rollout.gradient(mixed, {"positions": given})
    along = direction("positions", given)
    ends = [mixed(rollout.forward({"positions": given + s * 1e-6 * along}))[0][0] for s in (1, -1)]
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(float((rates["positions"] * along).sum()), rel=1e-6)


def test_the_way_there_is_that_of_the_simulation(crawl: Callable[..., Sim]) -> None:
    table = 1.0 + 0.1 * np.sin(np.arange(5.0))[:, None]
    rollout = Rollout(crawl(), 100, every=17)
    track = rollout.forward({"controls": table, "stiffness": rollout.value("stiffness")})
    plain = crawl(dashpots="growing")
    for row in table:
        plain.controls["back"] = row[0]
        plain.step(20)
    assert np.array_equal(track.positions[0, 0], plain.solver.readout.positions(plain.state))
    assert np.array_equal(track.velocities[0, 0], plain.solver.readout.velocities(plain.state))


def test_it_begins_where_the_simulation_stands(crawl: Callable[..., Sim]) -> None:
    whole, begun = crawl(dashpots="growing"), crawl(dashpots="growing")
    whole.step(100)
    begun.step(40)
    track = Rollout(begun, 60, looks="all").forward()
    assert track.shape == (60, 1, 72, 3)
    assert np.array_equal(track.positions[-1, 0], whole.solver.readout.positions(whole.state))
    assert begun.step_count == 40


def gradient_of(simulation: Sim, steps: int = 60, **options: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rollout = Rollout(simulation, steps, looks=20, **options)
    given = all_parameters(rollout)
    worlds = rollout.worlds  # rates of each world, not their sum
    each = {name: np.tile(value, (worlds,) + (1,) * np.ndim(value)) for name, value in given.items()}
    return rollout.gradient(mixed, each)


def test_rates_stay_what_they_were(crawl: Callable[..., Sim]) -> None:
    rollout = Rollout(crawl(), 20)
    given = all_parameters(rollout)
    _, rates = rollout.gradient(Travel("x"), given)
    kept = {name: rate.copy() for name, rate in rates.items()}
    rollout.gradient(Travel("y"), {**given, "gravity": [0.0, 1.0, -9.0]})
    assert all(np.array_equal(rates[name], kept[name]) for name in kept)


def test_single_precision(crawl: Callable[..., Sim]) -> None:
    _, exact = gradient_of(crawl(), 300)
    _, rates = gradient_of(crawl(precision="float32", worlds=1), 300)
    off = {name: np.linalg.norm(rates[name] - exact[name]) / np.linalg.norm(exact[name]) for name in exact}
    assert {name: error for name, error in off.items() if not error < 1e-3} == {}


def test_the_same_bits(crawl: Callable[..., Sim]) -> None:
    """For any spacing of checkpoints, run again, alone or among other worlds."""
    value, rates = gradient_of(crawl(precision="float32", worlds=1))
    for options, worlds in (({"every": 1}, 1), ({"every": 7}, 1), ({"every": 60}, 1), ({"every": 25}, 3)):
        again, found = gradient_of(crawl(precision="float32", worlds=worlds), **options)
        assert np.array_equal(again, np.tile(value, worlds)), options
        for name in rates:
            for world in range(worlds):
                assert np.array_equal(found[name][world], rates[name][0]), (options, name)


def test_the_same_bits_on_any_number_of_threads(crawl: Callable[..., Sim]) -> None:
    found = []
    for threads in (1, 2):
        simulation = crawl(crawler((11, 10, 10)), precision="float32", worlds=1, threads=threads)
        found.append(gradient_of(simulation, 20)[1])
        if simulation.solver.device.is_cpu:
            assert simulation.solver.threads == threads
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


def launch_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rollouts on a CPU do what they do on CUDA."""
    monkeypatch.setattr(adjoint_module, "CPU_GROUP", adjoint_module.CUDA_GROUP)

    monkeypatch.setattr(motion_module, "Team", lambda threads: None)
    monkeypatch.setattr(Graphs, "run", lambda self, key, work: work())


def test_a_launch_a_step_is_the_same_motion(crawl: Callable[..., Sim], monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs on CUDA, run on the CPU: one thread a mass, one launch a step."""
    simulation = crawl(precision="float32", worlds=2)
    if simulation.solver.device.is_cuda:
        pytest.skip("this is what a GPU does anyway")
    value, rates = gradient_of(simulation, 20)
    launch_a_step(monkeypatch)
    other, found = gradient_of(simulation, 20)
    assert np.allclose(other, value, rtol=1e-5)
    for name in rates:
        assert np.allclose(found[name], rates[name], rtol=1e-3, atol=1e-4 * np.abs(rates[name]).max()), name
    for every in (1, 6, 9):  # each stretch is run again while the next one is run back, in the rows of that one
        again, same = gradient_of(simulation, 20, every=every)
        assert np.array_equal(again, other)
        assert all(np.array_equal(same[name], found[name]) for name in found), every


def test_a_launch_a_step_books_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On CUDA rates by stiffness are booked alone, but for springs of none: their tension does not tell a length."""
    launch_a_step(monkeypatch)
    body = springs.block((3, 2, 2), stiffness=1e3)
    soft = np.where(np.arange(body.spring_count) == 3, 0.0, body.stiffness)
    cases = (({"stiffness": body.stiffness}, (True, False, False)), ({"stiffness": soft}, (True, True, False)),
             ({"rest_length_factor": 1.1}, (False, True, False)), ({"damping": body.damping}, (False, False, True)),
             ({"gravity": 0.0}, (False, False, False)))  # fmt: skip
    adjoint = Rollout(springs.simulation(body, dt=1e-3, device="cpu"), 5)._adjoint
    for given, booked in cases:
        values = {name: adjoint.inputs[name].fitted(value) for name, value in given.items()}
        way = adjoint._way(
            values, replace(adjoint._base, **{name: values[name] for name in values.keys() & {"stiffness"}})
        )
        assert (way.stiffness, way.tensions, way.dashpots) == booked, given


def test_worlds_have_their_own_numbers(crawl: Callable[..., Sim]) -> None:
    simulation = crawl(precision="float32", worlds=3)
    rollout = Rollout(simulation, 20)
    given = {
        "friction": np.linspace(0.1, 0.9, 3)[:, None],
        "gravity": [[0.0, 0.0, -9.81], [1.0, 0.0, -9.0], [0.0, 0.0, 0.0]],
        "stiffness": rollout.value("stiffness") * [[0.9], [1.0], [1.1]],
        "amplitude": [[0.1], [0.0], [-0.1]],
    }
    together, rates = rollout.gradient(Travel("x"), given)
    assert rates["friction"].shape == (3, 1)
    alone = Rollout(crawl(precision="float32", worlds=1), 20)
    for world in range(3):
        one = {name: np.asarray(value)[world : world + 1] for name, value in given.items()}
        value, found = alone.gradient(Travel("x"), one)
        assert value[0] == together[world]
        assert all(np.array_equal(found[name][0], rates[name][world]) for name in given)


def test_memory(crawl: Callable[..., Sim], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Rollout(crawl(precision="float32"), 1000).plan.checkpoints == 1
    monkeypatch.setattr(adjoint_module, "device_memory", lambda device: 10**6)
    assert Rollout(crawl(precision="float32"), 1000).plan.every < 200
    rollout = Rollout(crawl(precision="float32"), 10_000)
    state = 7 * 4 * 72
    steps = rollout.plan.checkpoints * 6 / 7 + rollout.plan.every + 1
    assert steps < 200
    assert rollout._adjoint.memory(rollout.plan) < 2.0 * 200 * state  # with rates of all springs


def test_checkpoints_that_do_not_fit(crawl: Callable[..., Sim], monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = crawl(precision="float32")
    monkeypatch.setattr(core_rollout, "device_memory", lambda device: 3 * 10**6)
    with pytest.raises(TooLarge, match=r"10000 steps with checkpoints every 1 needs about 17.* MB .* every=\d+ needs"):
        Rollout(simulation, 10_000, every=1)
    assert Rollout(simulation, 20_000).plan.every < 200
    with pytest.raises(TooLarge, match="fewer steps, looks or worlds"):
        Rollout(simulation, 10_000_000)


REFUSED: dict[str, tuple[dict[str, Any], Callable[[springs.Body], Any]]] = {
    "integrator": ({"integrator": "verlet"}, lambda body: None),
    "break": ({}, lambda body: setattr(body, "yield_strains", np.full(body.spring_count, 0.5))),
    "smaller steps": ({}, lambda body: body.substep(np.array([0]), 2)),
    "collisions": ({"collisions": [springs.Collide("a", "b")]}, lambda body: body.group("a", [0]).group("b", [9])),
    "closed shapes": ({"obstacles": [Rigid(Sphere(0.2).surface(), cells=8)]}, lambda body: None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    options, change = REFUSED[name]
    body = springs.block((3, 2, 2))
    change(body)
    with pytest.raises(InvalidValue, match=rf"{name}.* cannot be run back for gradients \(Rollout\): \w+"):
        Rollout(springs.simulation(body, device="cpu", dt=1e-4, **options), 10)


def test_edited_bodies_are_refused() -> None:
    simulation = springs.simulation(springs.block((3, 2, 2)), device="cpu")
    with simulation.edit() as edit:
        edit.remove_springs(simulation.solver.model.network.springs.handles()[:1])
    with pytest.raises(InvalidValue, match="edited while they ran cannot be run back"):
        Rollout(simulation, 10)


def test_motors_are_refused() -> None:
    arms = springs.block((2, 2, 2)) + springs.block((2, 2, 2)).moved((0.3, 0.0, 0.0))
    axis = {"point": (0.2, 0.05, 0.05), "direction": (0.0, 1.0, 0.0)}
    elbow = springs.hinge(arms, "elbow", rotor=np.arange(8), stator=np.arange(8, 16), **axis)
    simulation = springs.simulation(elbow, device="cpu", motors=[springs.Motor("elbow", torque=0.1)])
    with pytest.raises(InvalidValue, match="motors cannot be run back"):
        Rollout(simulation, 10)


def test_bad_parameters_and_losses(crawl: Callable[..., Sim]) -> None:
    rollout = Rollout(crawl(), 20)
    stiff = {"stiffness_factor": 1.0}
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: rollout.forward({"stifness": 1.0}), "Did you mean 'stiffness'"),
        (lambda: rollout.forward({"masses": 0.0}), "'masses' cannot be 0: it must be above 0 kg"),
        (lambda: rollout.forward({"masses": np.ones(5)}), r"shape \[5\].*\[1 world, 72 masses\]"),
        (lambda: rollout.forward({"controls": np.ones((7, 1))}), "7 intervals does not divide the 20 steps"),
        (lambda: rollout.forward({"controls": 1.3}), "1.3 for control 'back' is outside 0.8 to 1.2"),
        (lambda: rollout.backward(0.0), "call forward"),
        (lambda: rollout.gradient(lambda track: (np.nan, 0.0), stiff), "the loss is nan"),
        (lambda: rollout.gradient(lambda track: (1.0, 0.0), stiff), "depends on nothing"),
        (lambda: rollout.gradient(lambda track: (1.0, np.ones(5)), stiff), "not that of the track"),
        (lambda: rollout.gradient(lambda track: (1.0, np.inf), stiff), "not finite"),
        (lambda: rollout.gradient(Travel("x"), {}), "no parameters"),
        (lambda: Rollout(crawl(), 0), "whole number of 1 or more"),
        (lambda: Rollout(crawl(), 10, looks=[11]), "between 1 and 10"),
        (lambda: Rollout(crawl(), 10**12, looks=10), "looks are too many: take a spacing of 10001 steps"),
        (lambda: Travel("w"), "'x', 'y', 'z'"),
        (lambda: rollout.gradient(Travel("x", things=[72]), stiff), "things must be some of the 72 masses"),
        (lambda: rollout.gradient(Match([0.0] * 3, things=[]), stiff), "things must be some of the 72 masses"),
    ]
    for call, sentence in cases:
        with pytest.raises((InvalidValue, UnknownName), match=sentence):
            call()
    bare = Rollout(springs.simulation(springs.block((2, 2, 2)), device="cpu"), 5)
    for name in ("friction", "controls", "amplitude"):
        assert name not in bare.names
        with pytest.raises(InvalidValue, match=f"parameter '{name}' feeds nothing here: "):
            bare.forward({name: 1.0})


def test_a_world_without_obstacles_has_rates_by_gravity_and_masses() -> None:
    """The fall of a block: its height after n steps is that at first and g dt² n (n + 1) / 2."""
    body = springs.block((3, 2, 2), 0.1, mass=0.1, stiffness=100.0, damping=1.0)
    rollout = Rollout(springs.simulation(body, device="cpu", dt=1e-3, precision="float64"), 20)
    _, rates = rollout.gradient(Travel("z"), {"gravity": np.array([0.0, 0.0, -9.81]), "mass_factor": 1.0})
    np.testing.assert_allclose(rates["gravity"], [0.0, 0.0, -(1e-3**2) * 210], rtol=1e-9, atol=1e-15)
    assert rates["mass_factor"] == pytest.approx(0.0, abs=1e-12)


def test_ready_losses(crawl: Callable[..., Sim]) -> None:
    track = Rollout(crawl(), 20, looks=10).forward()
    rng = np.random.default_rng(0)
    targets = track.positions[:, :, [3, 5]] + 0.01
    targets[0, 0, 0] = np.nan
    for loss in (Travel((1.0, 1.0, 0.0)), Match(targets, things=[3, 5])):
        value, rates = loss(track)
        along = rng.standard_normal(track.shape)
        ends = []
        for sign in (1.0, -1.0):
            moved = Track(track.steps, 5e-4, track.arrays)
            moved.positions = track.positions + sign * 1e-6 * along
            ends.append(loss(moved)[0])
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx((rates * along).sum(axis=(0, 2, 3)), rel=1e-6)
        assert value.shape == (1,)


@pytest.mark.parametrize("restitution", [0.2, 0.5, 0.9])
def test_a_dashpot_that_grows_has_its_restitution_at_one_metre_a_second(restitution: float, device: str) -> None:
    ball = springs.Body([[0.0, 0.0, 0.0]], 0.1, np.zeros((0, 2)), [], [], velocities=[[0.0, 0.0, -1.0]])
    floor = Rigid(Plane(), Surface(restitution=restitution))
    simulation = springs.simulation(
        ball, dt=1e-5, gravity=(0.0, 0.0, 0.0), obstacles=[floor], precision="float64", dashpots="growing",
        device=device,
    )  # fmt: skip
    simulation.run(0.1)
    assert simulation.solver.readout.velocities(simulation.state)[0, 2] == pytest.approx(restitution, rel=2e-3)
