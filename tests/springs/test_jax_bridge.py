"""Rollouts in JAX: gradients through networks, compiled or not, shared memory, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from annelid import JaxLoss, JaxRollout, Rollout, Travel, springs
from annelid.core.errors import InvalidValue, UnknownName

from .crawlers import crawling

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def travel(positions: Any, velocities: Any) -> Any:
    return -(positions[-1, ..., 0] - positions[0, ..., 0]).mean(axis=1)


def test_check_grads_through_a_network(device: str) -> None:
    """In two worlds: through the physics, what is seen of it, and the network that sees it."""
    from jax.test_util import check_grads

    simulation = crawling(device=device, worlds=2)
    simulation.sensors.add("eye", springs.position_of([0]))
    simulation.sensors.add("speed", springs.velocity_of([5, 6]))
    motion = JaxRollout(Rollout(simulation, 10))

    def steered(factor: Any, layers: Any) -> Any:
        def policy(time: float, positions: Any, velocities: Any) -> Any:
            seen = jnp.concatenate([*simulation.sensors.at(positions, velocities), jnp.full((2, 1), time)], axis=1)
            return 1.0 + 0.15 * jnp.tanh(jnp.tanh(seen @ layers[0]) @ layers[1])

        positions, velocities = motion.steer(policy, 4, stiffness_factor=factor)
        return (positions**2).sum() + 0.1 * velocities.sum()

    rng = np.random.default_rng(0)
    layers = [jnp.asarray(rng.standard_normal(shape)) for shape in ((7, 3), (3, 1))]
    factor = jnp.asarray([[1.0], [1.1]])
    # Friction and touch-down have kinks: differences must not reach across one.
    check_grads(steered, (factor, layers), order=1, modes=["rev"], atol=1e-6, rtol=1e-6, eps=1e-6)
    plain, compiled = jax.grad(steered)(factor, layers), jax.jit(jax.grad(steered))(factor, layers)
    assert np.allclose(plain, compiled, rtol=1e-9)


def test_it_is_the_gradient_of_the_rollout(device: str) -> None:
    rollout = Rollout(crawling(device=device), 40, looks=20)
    motion = JaxRollout(rollout)

    def loss(factor: Any, table: Any) -> Any:
        return travel(*motion(stiffness_factor=factor, controls=table, velocity_damping=5.0)).sum()

    found = jax.grad(loss, argnums=(0, 1))(jnp.asarray(1.0), jnp.ones((4, 1)))
    given = {"stiffness_factor": 1.0, "controls": np.ones((4, 1)), "velocity_damping": 5.0}
    _, rates = rollout.gradient(Travel("x"), given)
    assert found[0] == pytest.approx(float(rates["stiffness_factor"]), rel=1e-12)
    assert np.allclose(found[1], rates["controls"], rtol=1e-12)
    many = jax.vmap(loss, in_axes=(0, None))(jnp.asarray([1.0, 1.1]), jnp.ones((4, 1)))
    assert many.tolist() == pytest.approx([float(loss(jnp.asarray(f), jnp.ones((4, 1)))) for f in (1.0, 1.1)])


def test_a_loss_in_jax(device: str) -> None:
    rollout, given = Rollout(crawling(device=device), 40, looks=20), {"stiffness_factor": 1.0, "velocity_damping": 5.0}
    value, rates = rollout.gradient(JaxLoss(travel), given)
    expected, by_hand = rollout.gradient(Travel("x"), given)
    assert value == pytest.approx(expected, rel=1e-12)
    assert rates["stiffness_factor"] == pytest.approx(by_hand["stiffness_factor"], rel=1e-12)


def test_tracks_are_not_copied(device: str) -> None:
    rollout = Rollout(crawling(device=device), 10)
    positions, _ = JaxRollout(rollout)(stiffness_factor=1.0)
    track = rollout._track
    assert track is not None
    assert positions.unsafe_buffer_pointer() == track.arrays["positions"].ptr


def test_bad_input() -> None:
    rollout = Rollout(crawling(device="cpu"), 10)
    motion = JaxRollout(rollout)
    bare = JaxRollout(Rollout(springs.simulation(springs.block((2, 2, 2)), device="cpu"), 5))
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: motion(stiffness_factor=jnp.asarray(1)), "array of int64: give one of float32 or float64"),
        (lambda: motion(stiffness_factor="much"), "must be given as numbers"),
        (lambda: motion(masses=jnp.ones(5)), r"shape \[5\].*\[1 world, 72 masses\]"),
        (lambda: motion(stifness=1.0), "Did you mean 'stiffness'"),
        (lambda: bare(friction=1.0), "parameter 'friction' feeds nothing here: "),
        (lambda: motion.steer(lambda *_: jnp.ones((2, 1)), 2), r"shape \[1, 1\], worlds and controls, not \[2, 1\]"),
        (lambda: jax.grad(lambda k: motion(stiffness_factor=k)[0].sum() * jnp.inf)(1.0), "by .* are not finite"),
        (lambda: rollout.gradient(JaxLoss(lambda x, v: jnp.ones(())), {"masses": 0.1}), "depends on nothing"),
        (lambda: JaxLoss(3), "a function of positions and velocities, not of 3"),
    ]
    for call, sentence in cases:
        with pytest.raises((InvalidValue, UnknownName), match=sentence):
            call()
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(InvalidValue, match="jax.config.update"):
        JaxRollout(rollout)
