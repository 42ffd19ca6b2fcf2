"""Gradients at equilibria, against differences: every constant of every law, loads, holds, nodes and actuators."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InexactGradient, InvalidValue, UnknownName
from annelid.fem.adjoint.law_slopes import changed_law, law_constants
from annelid.materials import Gent, Material, MooneyRivlin, NeoHooke, Ogden, OwnLaw, Yeoh
from annelid.shapes import tet_beam

from ..robots.robots import hollow, hollow_solid, trunk
from ..solids import rubber
from .differences import ERROR, slope

EXACT = fem.Settings(1e-13, 80)
GRAVITY = (0.0, 1.0, -9.81)


def stiffening(i1: Any, i2: Any, c: Any) -> Any:
    over = i1 - 3.0
    return c[0] * over + c[1] * over * over + c[2] * np.exp(0.1 * (i2 - 3.0))


def silicone(law: Any, **options: Any) -> Material:
    return Material.hyperelastic("silicone", law, **options)


def body(
    material: Any, *, quadratic: bool = False, moved: np.ndarray | float = 0.0, held: np.ndarray | float = 0.0
) -> fem.Solid:
    """A beam that is clamped at one end, bent by its weight and a force."""
    mesh = tet_beam(0.12, 0.03, 0.02, cells=(2, 1, 1) if quadratic else (3, 1, 1))
    mesh = mesh.quadratic() if quadratic else mesh
    clamp, tip = (np.flatnonzero(np.isclose(mesh.nodes[:, 0], x)) for x in (0.0, 0.12))
    solid = fem.Solid(replace(mesh, nodes=mesh.nodes + moved), material)
    solid.displace(clamp, np.broadcast_to(np.array(0.0) + held, (len(clamp), 3)))
    solid.forces[tip] = np.array([0.01, 0.02, -0.01]) * 2.0 / len(tip)
    return solid


def settled(solid: fem.Solid, gravity: tuple[float, float, float] = GRAVITY) -> tuple[fem.Model, np.ndarray]:
    model = fem.Model(solid, fem.World(gravity=gravity), "cpu", threads=1)
    positions = model.vectors(solid.nodes)
    fem.Newton(model, EXACT).equilibrium(positions)
    return model, positions.numpy()


def rates_by(solid: fem.Solid) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A loss, as weights of all positions, and its rates."""
    model, positions = settled(solid)
    weights = np.random.default_rng(1).standard_normal(positions.shape)
    return weights, fem.Sensitivity(model).rates(weights, positions=positions)


LAWS = {
    "neo-hooke": silicone(NeoHooke(3e4), poisson_ratio=0.3),
    "neo-hooke-relaxed": silicone(NeoHooke(4e4), prony=((0.2, 0.1),)),
    "mooney-rivlin": silicone(MooneyRivlin(1e4, 5e3)),
    "yeoh": silicone(Yeoh(1.5e4, 2e3, 3e3)),
    "gent": silicone(Gent(3e4, 5.0)),
    "ogden": silicone(Ogden(((1e4, 2.3), (-5e3, -1.5)))),
    "own": silicone(OwnLaw(stiffening, values=(1.2e4, 1e3, 2e4))),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_constant_of_a_law(name: str) -> None:
    material = LAWS[name]
    weights, rates = rates_by(body(material))
    law = material.law
    assert law is not None

    def loss(changed: Material) -> float:
        return float((weights * settled(body(changed))[1]).sum())

    def with_constant(constant: str, index: tuple[int, ...], value: float) -> Material:
        moved = law_constants(law)[constant]
        moved[index] = value
        return material.with_(law=changed_law(law, {constant: moved}))

    for constant, values in law_constants(law).items():
        for index, value in np.ndenumerate(values):
            found = slope(
                partial(lambda *where: loss(with_constant(*where)), constant, index), value, 1e-2 * abs(value)
            )
            assert rates[constant][index] == pytest.approx(found, rel=1e-6), (constant, index)
    found = slope(lambda ratio: loss(material.with_(poisson_ratio=ratio)), material.poisson_ratio, 1e-4)
    assert rates["poisson_ratio"] == pytest.approx(found, rel=ERROR)
    if material.prony:
        found = slope(lambda share: loss(replace(material, prony=((share, 0.1),))), 0.2, 2e-3)
        assert rates["prony"][0] == pytest.approx(found, rel=ERROR)


@pytest.mark.parametrize(
    ("material", "quadratic"),
    [
        (rubber(0.3, 1e5), False),
        (rubber(0.45, 1e5), False),
        (rubber(0.3, 1e5), True),
        (silicone(NeoHooke(3e4)), False),
        (silicone(NeoHooke(3e4)), True),
    ],
    ids=["plain", "mean", "10-node", "hyperelastic", "hyperelastic-10-node"],
)
def test_nodes_holds_loads_and_density(material: Material, quadratic: bool) -> None:
    weights, rates = rates_by(body(material, quadratic=quadratic))
    chance = np.random.default_rng(2)
    ways = 1e-3 * chance.standard_normal(weights.shape)
    holds = 1e-3 * chance.standard_normal((len(np.flatnonzero(rates["offsets"].any(axis=1))), 3))

    def loss(changed: Material = material, gravity: Any = GRAVITY, **options: Any) -> float:
        return float((weights * settled(body(changed, quadratic=quadratic, **options), gravity)[1]).sum())

    found = slope(lambda t: loss(moved=t * ways), 0.0, 2e-2)
    assert float((rates["nodes"] * ways).sum()) == pytest.approx(found, rel=ERROR)
    found = slope(lambda t: loss(held=t * holds), 0.0, 2e-2)
    assert float((rates["offsets"][rates["offsets"].any(axis=1)] * holds).sum()) == pytest.approx(found, rel=ERROR)
    found = slope(lambda pull: loss(gravity=(0.0, 1.0, pull)), -9.81, 0.1)
    assert rates["gravity"][2] == pytest.approx(found, rel=ERROR)
    found = slope(lambda density: loss(material.with_(density=density)), material.density, 10.0)
    assert rates["density"] == pytest.approx(found, rel=ERROR)
    found = slope(lambda modulus: loss(material.with_(youngs_modulus=modulus)), material.youngs_modulus, 500.0)
    assert rates["youngs_modulus"] == pytest.approx(found, rel=ERROR)


def test_each_of_two_materials_has_its_own_rate() -> None:
    soft, hard = rubber(0.3, 1e5), rubber(0.4, 3e5)

    def two(modulus: float) -> fem.Solid:
        solid = body(soft)
        solid.materials = (soft, hard.with_(youngs_modulus=modulus))
        solid.element_materials = (solid.nodes[solid.elements].mean(axis=1)[:, 0] > 0.05).astype(np.int32)
        return solid

    weights, rates = rates_by(two(3e5))
    found = slope(lambda modulus: float((weights * settled(two(modulus))[1]).sum()), 3e5, 3e3)
    assert rates["youngs_modulus"].shape == (2,)
    assert rates["youngs_modulus"][1] == pytest.approx(found, rel=ERROR)


PUSH = fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(-1.0, 0.0, 0.0))
ROBOTS: dict[str, tuple[Any, dict[str, float], str]] = {
    "air": (lambda: hollow(fem.Pneumatic(name="air"), PUSH), {"air": 3e3, "push": 0.2}, "air"),
    "water": (lambda: hollow(fem.Hydraulic(name="water"), PUSH), {"water": 3e3, "push": 0.2}, "water"),
    "cables": (trunk, {"up": 1.5, "left": 1.0}, "up"),
    "closed-air": (lambda: hollow(fem.Pneumatic(name="air", closed=True), PUSH), {"push": 0.4}, "push"),
    "held-cable": (lambda: trunk(left={"pull": 0.004, "tension": (0.0, 100.0)}), {"up": 1.5}, "up"),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_efforts_of_a_robot(name: str) -> None:
    make, efforts, which = ROBOTS[name]
    robot = make()
    fem.Forward(robot, EXACT).settle(efforts)
    weights = np.random.default_rng(3).standard_normal((robot.solid.node_count, 3))
    rates = fem.Sensitivity(robot).rates(weights, names=["efforts"])

    def loss(effort: float) -> float:
        twin = make()
        fem.Forward(twin, EXACT).settle(efforts | {which: effort})
        return float((weights * twin.positions.numpy()).sum())

    found = slope(loss, efforts[which], 1e-2 * efforts[which])
    assert rates["efforts"][robot.number(which)] == pytest.approx(found, rel=ERROR)


def test_a_stroke_at_which_an_actuator_is_held() -> None:
    def at(pull: float) -> fem.Robot:
        robot = trunk(up={"pull": pull, "tension": (0.0, 100.0)})
        fem.Forward(robot, EXACT).settle()
        return robot

    weights = np.random.default_rng(3).standard_normal((at(0.004).solid.node_count, 3))
    rates = fem.Sensitivity(at(0.004)).rates(weights)
    found = slope(lambda pull: float((weights * at(pull).positions.numpy()).sum()), 0.004, 4e-5)
    assert rates["strokes"][0] == pytest.approx(found, rel=ERROR)
    assert "nodes" not in rates  # the stroke would change with them


def test_a_simulation_without_inertia() -> None:
    air = fem.Pneumatic(name="air", pressure=(0.0, 1e5))

    def at(pressure: float) -> Any:
        simulation = fem.simulation(
            hollow_solid(), dynamic=False, actuators=[air], device="cpu", threads=1, settings=EXACT
        )
        simulation.controls["air"] = pressure
        simulation.step()
        return simulation

    simulation = at(2e3)
    weights = np.random.default_rng(3).standard_normal(simulation.solver.model.solid.nodes.shape)
    found = slope(lambda pressure: float((weights * at(pressure).state.positions.numpy()).sum()), 2e3, 20.0)
    assert fem.Sensitivity(simulation).rates(weights)["efforts"][0] == pytest.approx(found, rel=ERROR)


def test_what_is_not_settled_is_told() -> None:
    simulation = fem.simulation(hollow_solid(), dynamic=False, device="cpu", threads=1)
    with pytest.warns(InexactGradient, match="N are left on nodes, .* this is no equilibrium.*settle first"):
        fem.Sensitivity(simulation).rates(np.ones(hollow_solid().nodes.shape))


def test_what_has_no_gradient_is_refused_by_name() -> None:
    columns = fem.Hydraulic(name="water", weight="columns", cells=20)
    with pytest.raises(InvalidValue, match="water, whose weight is found by columns"):
        fem.Sensitivity(hollow(columns))
    moving = fem.simulation(hollow_solid(), device="cpu", threads=1)
    with pytest.raises(InvalidValue, match="dynamic=False"):
        fem.Sensitivity(moving)
    sensitivity = fem.Sensitivity(hollow(fem.Hydraulic(name="water")))
    nothing = np.zeros((hollow_solid().node_count, 3))
    with pytest.raises(UnknownName, match="The weight of the liquid in water"):
        sensitivity.rates(nothing, names=["gravity"])
    with pytest.raises(InvalidValue, match="finite numbers of shape"):
        sensitivity.rates(nothing[:-1])
    with pytest.raises(InvalidValue, match="finite numbers of shape"):
        sensitivity.rates("height")
    with pytest.raises(InvalidValue, match="give positions="):
        fem.Sensitivity(fem.Model(hollow_solid(), device="cpu")).rates(nothing)
