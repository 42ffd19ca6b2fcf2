"""Gradients through motions of solids, against differences, and what they do not depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import annelid
from annelid import fem
from annelid.core.errors import InexactGradient, InvalidValue, UnknownName
from annelid.materials import Material, NeoHooke
from annelid.shapes import Plane, Rigid, Sphere, Surface, tet_beam

from ..robots.robots import hollow_solid
from ..solids import rubber
from .differences import slope

STEPS = 6
EXACT = fem.Settings(1e-12, 40)
WAYS = {
    "nodes": 1e-5,
    "positions": 1e-5,
    "velocities": 1e-2,
    "offsets": 1e-5,
    "forces": 1e-4,
    "gravity": 0.1,
    "velocity_damping": 0.05,
    "controls": 1e-4,
}
"""How far parameters go for differences; others go by a hundredth, Poisson's ratio by as much of what is left to 1/2.

Differences in steps of 1e-3 at 0.498 are off by 2e-4: Lamé's first parameter grows like 1 / (1 - 2 nu).
"""


def beam(material: Material, *, quadratic: bool = False) -> fem.Solid:
    """A beam that is held at one end, a little away from where it rests."""
    mesh = tet_beam(0.12, 0.02, 0.02, cells=(1 if quadratic else 3, 1, 1))
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, material)
    return solid.displace(lambda p: p[:, 0] < 1e-9, (0.0, 1e-3, 0.0)).push(lambda p: p[:, 0] > 0.11, (0.0, 0.01, 0.0))


def simulation(solid: fem.Solid, **options: Any) -> Any:
    tip = int(np.argmax(solid.nodes.sum(axis=1)))
    push = fem.PointForce(name="push", at=tip, direction=(0.0, 0.3, 1.0), force=(-1.0, 1.0), force_rate=5.0)
    pull = fem.Cable(name="pull", through=[(0.0, 0.0, 0.05), tip], tension=(0.0, 5.0))
    chosen: dict[str, Any] = {"actuators": [push, pull], "settings": EXACT, "velocity_damping": 1.0, "ramp": 0.05}
    return fem.simulation(solid, device="cpu", **({"threads": 1} | chosen | options))


class Weighted:
    """A loss that looks at all positions and velocities."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        chance = np.random.default_rng(1)
        self.rates = {"positions": chance.standard_normal(shape), "velocities": 0.01 * chance.standard_normal(shape)}

    def __call__(self, track: Any) -> tuple[float, dict[str, np.ndarray]]:
        sums = (self.rates["positions"] * track.positions).sum() + (self.rates["velocities"] * track.velocities).sum()
        return float(sums), self.rates


def beginning(rollout: annelid.Rollout, *without: str) -> dict[str, np.ndarray]:
    """All parameters, with commands that change and a start that is not at rest."""
    chance = np.random.default_rng(2)
    found = {name: rollout.value(name) for name in rollout.names if name not in without}
    found["positions"] = found["positions"] + 1e-4 * chance.standard_normal(found["positions"].shape)
    found["velocities"] = 0.1 * chance.standard_normal(found["velocities"].shape)
    if "controls" in found:
        worlds, _, channels = found["controls"].shape
        found["controls"] = chance.uniform(0.1, 0.4, (worlds, 3, channels))
    return found


@pytest.mark.parametrize(
    ("material", "quadratic"),
    [
        (rubber(0.45, 1e5), False),
        (rubber(0.498, 1e5), False),
        (rubber(0.3, 1e5), True),
        (Material.hyperelastic("soft", NeoHooke(3e4)), False),
        (Material.hyperelastic("creeps", NeoHooke(3e4), poisson_ratio=0.3, prony=((0.3, 0.02), (0.2, 0.3))), False),
    ],
    ids=["corotational", "nearly incompressible", "10-node", "hyperelastic", "relaxing"],
)
def test_every_parameter_of_a_motion(material: Material, quadratic: bool) -> None:
    solid = beam(material, quadratic=quadratic)
    rollout = annelid.Rollout(simulation(solid), STEPS, looks="all")
    loss = Weighted((STEPS, 1, solid.node_count, 3))
    values = beginning(rollout, *(["youngs_modulus"] if material.law is not None else []))
    _, rates = rollout.gradient(loss, values)
    chance = np.random.default_rng(3)
    few = ("poisson_ratio", "shear", "prony", "density", "nodes", "offsets")  # those that depend on the elements
    for name, value in values.items():
        if name not in few and (quadratic or material.law is not None):
            continue
        usual = 1e-2 * (0.5 - value if name == "poisson_ratio" else value)
        way = np.abs(chance.standard_normal(value.shape)) * WAYS.get(name, usual)

        def at(part: float, name: str = name, way: np.ndarray = way) -> float:
            return loss(rollout.forward({**values, name: values[name] + part * way}))[0]

        found = slope(at, 0.0, 0.5)
        assert float((rates[name] * way).sum()) == pytest.approx(found, rel=1e-7), name


def test_a_pressure_that_grows_with_the_ramp() -> None:
    solid = hollow_solid()
    air = fem.Pneumatic(name="air", pressure=(0.0, 1e5))
    rollout = annelid.Rollout(simulation(solid, actuators=[air]), 4)
    loss = Weighted((1, 1, solid.node_count, 3))
    values = {"controls": np.array([[[2e3], [3e3]]]), "youngs_modulus": 18e4}
    _, rates = rollout.gradient(loss, values)
    way = np.array([[[20.0], [30.0]]])
    found = slope(
        lambda part: loss(rollout.forward(values | {"controls": values["controls"] + part * way}))[0], 0.0, 1.0
    )
    assert float((rates["controls"] * way).sum()) == pytest.approx(found, rel=1e-8)
    found = slope(lambda modulus: loss(rollout.forward(values | {"youngs_modulus": modulus}))[0], 18e4, 1e3)
    assert rates["youngs_modulus"] == pytest.approx(found, rel=1e-8)


def block(surface: Surface, **options: Any) -> Any:
    """A small beam between a plane and a sphere, within the reach of both."""
    solid = fem.Solid(tet_beam(0.04, 0.02, 0.02, cells=(2, 1, 1)), rubber(0.45, 1e5), surface=surface)
    low, high = solid.nodes[:, 2].min(), solid.nodes[:, 2].max()
    plane = Rigid(Plane(point=(0.0, 0.0, low - 3e-3)), surface)
    ball = Rigid(Sphere(0.05), surface, position=(0.02, 0.0, high + 0.053))
    contact = fem.Contact(reach=4e-3, stiffness=2e3)
    if not options.get("dynamic", True):
        solid.fix(lambda p: p[:, 0] < 1e-9)
    return fem.simulation(
        solid, obstacles=[plane, ball], contact=contact, device="cpu", threads=1,
        settings=fem.Settings(1e-12, 200), **options,
    )  # fmt: skip


def test_contacts_that_push_and_do_not_rub() -> None:
    smooth = Surface(friction=0.0)
    rollout = annelid.Rollout(block(smooth), 5)
    loss = Weighted((1, 1, rollout.value("nodes").shape[1], 3))
    values = {"youngs_modulus": 1e5, "velocities": np.array([0.02, 0.01, 0.1])}
    _, rates = rollout.gradient(loss, values)
    found = slope(lambda modulus: loss(rollout.forward(values | {"youngs_modulus": modulus}))[0], 1e5, 200.0)
    assert rates["youngs_modulus"] == pytest.approx(found, rel=1e-7)
    way = np.array([1e-4, 1e-4, 1e-4])
    found = slope(
        lambda part: loss(rollout.forward(values | {"velocities": values["velocities"] + part * way}))[0], 0.0, 1.0
    )
    assert float(rates["velocities"] @ way) == pytest.approx(found, rel=1e-7)


def test_an_equilibrium_among_obstacles() -> None:
    def at(gravity: float) -> Any:
        still = block(Surface(friction=0.0), dynamic=False, gravity=(0.0, 0.0, gravity))
        still.step()
        return still

    resting = at(-40.0)
    assert np.abs(resting.state.touch.forces.numpy()).max() > 0.0
    weights = np.random.default_rng(3).standard_normal(resting.solver.model.solid.nodes.shape)
    found = slope(lambda pull: float((weights * at(pull).state.positions.numpy()).sum()), -40.0, 0.05)
    assert fem.Sensitivity(resting).rates(weights)["gravity"][2] == pytest.approx(found, rel=1e-7)
    with pytest.raises(InvalidValue, match="no gradient through friction"):
        fem.Sensitivity(block(Surface(friction=0.5), dynamic=False))


def test_checkpoints_threads_and_worlds_do_not_change_a_bit() -> None:
    solid = beam(rubber(0.45, 1e5))
    shape = (3, 1, solid.node_count, 3)
    rollout = annelid.Rollout(simulation(solid), STEPS, looks=2)
    values = beginning(rollout)
    _, rates = rollout.gradient(Weighted(shape), values)
    others = [annelid.Rollout(simulation(solid), STEPS, looks=2, every=4)]
    others.append(annelid.Rollout(simulation(solid, worlds=1, threads=2), STEPS, looks=2))
    for other in others:
        _, again = other.gradient(Weighted(shape), values)
        for name in values:
            np.testing.assert_array_equal(again[name], rates[name], err_msg=name)
    two = annelid.Rollout(simulation(solid, worlds=2), STEPS, looks=2)
    twice = {name: np.concatenate([value, value]) for name, value in values.items()}
    twice["youngs_modulus"] = np.array([values["youngs_modulus"][0], [2e5]])
    seeds = {name: np.concatenate([one, one], axis=1) for name, one in Weighted(shape).rates.items()}
    two.forward(twice)
    both = two.backward(seeds)
    for name in values:
        np.testing.assert_array_equal(both[name][0], rates[name][0], err_msg=name)
    assert not np.array_equal(both["density"][1], rates["density"][0])


def test_a_rollout_leaves_its_simulation_alone_and_does_what_it_would() -> None:
    live = simulation(beam(rubber(0.45, 1e5)))
    live.controls["push"] = 0.2
    live.step(2)
    before = live.state.positions.numpy().copy()
    track = annelid.Rollout(live, 3, looks="all").forward({"youngs_modulus": 1e5})
    np.testing.assert_array_equal(live.state.positions.numpy(), before)
    live.step(3)
    np.testing.assert_array_equal(track.positions[-1, 0], live.state.positions.numpy())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"integrator": "midpoint"}, "the midpoint integrator"),
        ({"obstacles": [Plane(point=(0.0, 0.0, -0.5))]}, "friction of contacts"),
        ({"obstacles": [Rigid(Plane(point=(0.0, 0.0, -0.5)), Surface(friction=0.0))], "linear": "kept"}, "kept factor"),
    ],
)
def test_what_cannot_be_run_back_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidValue, match=named):
        annelid.Rollout(simulation(beam(rubber()), **options), 2)


def test_a_step_that_is_not_solved_is_told() -> None:
    rollout = annelid.Rollout(simulation(beam(rubber(0.45, 1e5)), settings=fem.Settings(1e-12, 1)), 2)
    with pytest.warns(InexactGradient, match="2 of 2 steps of the rollout were not solved"):
        rollout.forward({"youngs_modulus": 1e5})


def test_parameters_that_say_the_same_or_have_no_gradient_are_refused() -> None:
    soft = Material.hyperelastic("soft", NeoHooke(3e4))
    rollout = annelid.Rollout(simulation(beam(soft)), 2)
    with pytest.raises(InvalidValue, match="'youngs_modulus' follows from 'shear'"):
        rollout.forward({"youngs_modulus": 1e5, "shear": 3e4})
    with pytest.raises(UnknownName, match="c10"):
        rollout.forward({"c10": 1e5})
    with pytest.raises(InvalidValue, match="does not divide the 2 steps"):
        rollout.forward({"controls": np.zeros((1, 3, 2))})
    water = fem.Hydraulic(name="water", pressure=(0.0, 1e4))
    wet = annelid.Rollout(simulation(hollow_solid(), actuators=[water]), 2)
    with pytest.raises(InvalidValue, match="the weight of the liquid in water"):
        wet.forward({"gravity": [0.0, 0.0, -5.0]})
    assert "gravity" not in wet.names


def test_a_motion_of_two_is_one_motion() -> None:
    """Loads that grow go on; what remembers more than positions and velocities is refused."""
    solid = beam(rubber())
    push = fem.PointForce(name="push", at=0, direction=(0.0, 0.3, 1.0), force=(-1.0, 1.0))
    whole, half = (annelid.Rollout(simulation(solid, actuators=[push]), steps) for steps in (STEPS, STEPS // 2))
    table = np.array([[0.2], [0.1]])
    first = half.forward({"controls": table[:1]})
    begin = {"positions": first.positions[0], "velocities": first.velocities[0]}
    second = half.forward({"controls": table[1:], **begin}, after=STEPS // 2)
    assert np.allclose(second.positions, whole.forward({"controls": table}).positions, rtol=0.0, atol=1e-12)
    limited = annelid.Rollout(simulation(solid), 2)
    with pytest.raises(InvalidValue, match="cannot go on from another: actuators with a limited rate"):
        limited.forward(after=2)
