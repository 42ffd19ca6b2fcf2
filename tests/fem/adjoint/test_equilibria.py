"""Rollouts from equilibrium to equilibrium: gradients against differences, in PyTorch and in JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import JaxRollout, Match, Rollout, TorchRollout, fem
from annelid.core.errors import InvalidValue
from annelid.materials import Material, NeoHooke, Yeoh
from annelid.shapes import Surface, tet_beam

from ..robots.robots import hollow_solid
from ..solids import rubber
from .differences import slope
from .test_motion import block

EXACT = fem.Settings(1e-12, 60)
AIR = fem.Pneumatic(name="air", pressure=(0.0, 1e5))


def standing(material: Material, **options: Any) -> Any:
    """A beam without inertia that a cable and a force bend, clamped a little away from where it rests."""
    solid = fem.Solid(tet_beam(0.12, 0.02, 0.02, cells=(3, 1, 1)), material)
    solid.displace(lambda p: p[:, 0] < 1e-9, (0.0, 1e-3, 0.0)).push(lambda p: p[:, 0] > 0.11, (0.0, 0.01, 0.0))
    tip = int(np.argmax(solid.nodes.sum(axis=1)))
    push = fem.PointForce(name="push", at=tip, direction=(0.0, 0.3, 1.0), force=(-1.0, 1.0))
    pull = fem.Cable(name="pull", through=[(0.0, 0.0, 0.05), tip], tension=(0.0, 5.0))
    chosen: dict[str, Any] = {"actuators": [push, pull], "settings": EXACT, "threads": 1, "device": "cpu"}
    return fem.simulation(solid, dynamic=False, **(chosen | options))


def inflated() -> Any:
    options: dict[str, Any] = {"device": "cpu", "threads": 1, "settings": EXACT}
    return fem.simulation(hollow_solid(), dynamic=False, actuators=[AIR], ramp=0.025, **options)


YEOH = Material.hyperelastic("silicone", Yeoh(1.5e4, 2e3, 3e3))
CASES: dict[str, tuple[Any, str, int]] = {
    "linear": (lambda: standing(rubber(0.45, 1e5)), "youngs_modulus poisson_ratio density nodes offsets forces", 2),
    "growing": (lambda: standing(rubber(0.3, 1e5), ramp=0.025), "density gravity nodes offsets forces controls", 2),
    "yeoh": (lambda: standing(YEOH), "c1 c2 poisson_ratio nodes controls", 2),
    "worlds": (lambda: standing(rubber(0.45, 1e5), worlds=2), "youngs_modulus controls", 2),
    "touching": (lambda: block(Surface(friction=0.0), dynamic=False), "youngs_modulus gravity forces", 1),
    "air": (inflated, "youngs_modulus controls", 2),
}
WAYS = {"nodes": 1e-5, "offsets": 1e-5, "forces": 1e-4, "gravity": 0.1, "controls": 1e-2}


@pytest.mark.parametrize("name", CASES)
def test_rates_of_several_equilibria(name: str) -> None:
    make, names, intervals = CASES[name]
    rollout, chance = Rollout(make(), 2, looks="all"), np.random.default_rng(1)
    weights = chance.standard_normal(rollout.track_shape)
    given = {one: rollout.value(one) for one in names.split()}
    if "controls" in given:
        strength = 2e3 if name == "air" else 0.1
        shape = (rollout.worlds, intervals, given["controls"].shape[2])
        given["controls"] = strength * chance.uniform(0.5, 1.0, shape)
    rollout.forward(given)
    rates = rollout.backward(weights)
    for one, value in given.items():
        way = chance.standard_normal(value.shape) * WAYS.get(one, 1e-3 * float(np.abs(value).max()))
        way *= strength if one == "controls" else 1.0

        def loss(part: float, one: str = one, value: np.ndarray = value, way: np.ndarray = way) -> float:
            return float((weights * rollout.forward(given | {one: value + part * way}).positions).sum())

        assert float((rates[one] * way).sum()) == pytest.approx(slope(loss, 0.0, 1.0), rel=1e-6), one


def test_equilibria_are_those_of_the_simulation() -> None:
    simulation = standing(YEOH)
    table = np.array([[0.05, 0.1], [0.1, 0.2]])
    track = Rollout(simulation, 2, looks="all").forward({"controls": table})
    for step, (push, pull) in enumerate(table):
        simulation.controls.command({"push": push, "pull": pull})
        simulation.step()
        np.testing.assert_array_equal(track.positions[step, 0], simulation.state.positions.numpy())
    assert not track.velocities.any()


def test_it_is_the_gradient_at_rest() -> None:
    simulation = standing(rubber(0.45, 1e5))
    rollout = Rollout(simulation, 1)
    targets = rollout.forward().positions[0, 0] + np.array([0.0, 0.0, 0.01])
    _, rates = rollout.gradient(Match(targets), {"youngs_modulus": 1e5, "forces": rollout.value("forces")})
    simulation.step()
    seeds = Match(targets)(rollout.forward())[1]
    seeds = seeds["positions"] if isinstance(seeds, dict) else seeds
    expected = fem.Sensitivity(simulation).rates(np.asarray(seeds)[0, 0])
    assert rates["youngs_modulus"] == pytest.approx(expected["youngs_modulus"], rel=1e-6)
    assert np.allclose(rates["forces"][0], expected["forces"], rtol=1e-6)


def test_gradcheck_in_torch() -> None:
    torch = pytest.importorskip("torch")
    rest = TorchRollout(Rollout(standing(rubber(0.45, 1e5)), 2, looks="all"))

    def bent(modulus: Any, table: Any) -> tuple[Any, Any]:
        positions, _ = rest(youngs_modulus=1e5 * modulus, controls=table)
        tip = positions[:, 0, -1]
        return 100.0 * tip, (100.0 * positions[-1]).square().sum()

    given = (torch.ones(1, dtype=torch.float64), torch.tensor([[0.05, 0.1], [0.1, 0.2]], dtype=torch.float64))
    assert torch.autograd.gradcheck(bent, tuple(one.requires_grad_() for one in given), eps=1e-4, atol=1e-6, rtol=1e-5)


def test_a_policy_that_sees_equilibria() -> None:
    torch = pytest.importorskip("torch")
    rest = TorchRollout(Rollout(standing(rubber(0.45, 1e5)), 1))

    def steered(gain: Any) -> Any:
        positions, velocities = rest.steer(lambda t, x, v: gain * (1.0 + 10.0 * x[:, -1, 2:]), 3)
        assert not velocities.any()
        return 100.0 * positions[:, 0, -1]

    gain = torch.tensor([0.05, 0.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(steered, (gain,), eps=1e-4, atol=1e-6, rtol=1e-5)


def test_check_grads_in_jax() -> None:
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    jnp, before = jax.numpy, jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        rest = JaxRollout(Rollout(standing(rubber(0.45, 1e5)), 2))

        def bent(modulus: Any, table: Any) -> Any:
            positions, _ = rest(youngs_modulus=1e5 * modulus, controls=table)
            return (100.0 * positions**2).sum()

        given = (jnp.ones(1), jnp.asarray([[0.05, 0.1], [0.1, 0.2]]))
        check_grads(bent, given, order=1, modes=["rev"], atol=1e-6, rtol=1e-5, eps=1e-4)
        plain, compiled = jax.grad(bent)(*given), jax.jit(jax.grad(bent))(*given)
        assert np.allclose(plain, compiled, rtol=1e-9)
    finally:
        jax.config.update("jax_enable_x64", before)


def test_what_has_no_gradient_is_refused_by_name() -> None:
    rollout = Rollout(standing(rubber(0.45, 1e5)), 1)
    with pytest.raises(InvalidValue, match="'velocity_damping' feeds nothing here: a solid without inertia"):
        rollout.forward({"velocity_damping": 1.0})
    creeping = Material.hyperelastic("gel", NeoHooke(3e4), prony=((0.2, 0.1),))
    with pytest.raises(InvalidValue, match=r"creeps from equilibrium to equilibrium .*give material\.relaxed\(\)"):
        Rollout(standing(creeping), 1)
    slide = fem.Slide(name="in", where=lambda p: p[:, 0] < 1e-9, direction=(1.0, 0.0, 0.0), travel=(0.0, 1e-3))
    with pytest.raises(InvalidValue, match="'controls' here yet: in moves held nodes: give the rollout offsets"):
        Rollout(standing(rubber(0.45, 1e5), actuators=[slide]), 1).forward({"controls": 5e-4})
