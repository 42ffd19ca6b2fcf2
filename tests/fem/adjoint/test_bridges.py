"""Rollouts of solids as functions of PyTorch and JAX: gradients by constants and through a network that steers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import JaxRollout, Rollout, TorchRollout, fem
from annelid.core.errors import InvalidValue

from ..solids import rubber
from .test_motion import beam, simulation

HIDDEN = np.random.default_rng(0).standard_normal((7, 2))
OUT = np.random.default_rng(1).standard_normal((2, 1))


def pushed(**options: Any) -> Any:
    """A beam that a force pushes, whose rate is not limited: a motion may then be put together of others."""
    solid = beam(rubber(0.45, 1e5))
    tip = int(np.argmax(solid.nodes.sum(axis=1)))
    return simulation(
        solid, actuators=[fem.PointForce(name="push", at=tip, direction=(0.0, 0.3, 1.0), force=(-1.0, 1.0))], **options
    )


def test_gradcheck_in_torch() -> None:
    torch = pytest.importorskip("torch")
    motion = TorchRollout(Rollout(pushed(), 2))

    def steered(modulus: Any, hidden: Any, out: Any) -> tuple[Any, Any]:
        def policy(time: float, positions: Any, velocities: Any) -> Any:
            tip = torch.cat([10.0 * positions[:, -1], velocities[:, -1], torch.full((1, 1), time)], dim=1)
            return 0.3 * torch.tanh(torch.tanh(tip @ hidden) @ out)

        positions, velocities = motion.steer(policy, 2, youngs_modulus=1e5 * modulus)
        return (100.0 * positions**2).sum(), velocities.sum()

    given = (torch.ones(1, dtype=torch.float64), torch.tensor(HIDDEN), torch.tensor(OUT))
    assert torch.autograd.gradcheck(
        steered, tuple(one.requires_grad_() for one in given), eps=1e-5, atol=1e-7, rtol=1e-4
    )


def test_check_grads_in_jax() -> None:
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    jnp, before = jax.numpy, jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        motion = JaxRollout(Rollout(pushed(), 2))

        def steered(modulus: Any, layers: Any) -> Any:
            def policy(time: float, positions: Any, velocities: Any) -> Any:
                tip = jnp.concatenate([10.0 * positions[:, -1], velocities[:, -1], jnp.full((1, 1), time)], axis=1)
                return 0.3 * jnp.tanh(jnp.tanh(tip @ layers[0]) @ layers[1])

            positions, velocities = motion.steer(policy, 2, youngs_modulus=1e5 * modulus)
            return (100.0 * positions**2).sum() + velocities.sum()

        layers = [jnp.asarray(HIDDEN), jnp.asarray(OUT)]
        check_grads(steered, (jnp.ones(1), layers), order=1, modes=["rev"], atol=1e-6, rtol=1e-5, eps=1e-5)
    finally:
        jax.config.update("jax_enable_x64", before)


def test_what_remembers_is_not_put_together() -> None:
    torch = pytest.importorskip("torch")
    motion = TorchRollout(Rollout(simulation(beam(rubber(0.45, 1e5))), 2))
    with pytest.raises(InvalidValue, match="limited rate depend on their last efforts"):
        motion.steer(lambda time, positions, velocities: torch.zeros(1, 2, dtype=torch.float64), 2)
