"""Bodies and readings that several tests of the springs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, springs

Sim = Simulation[springs.Solver]


@pytest.fixture
def simulate(device: str) -> Callable[..., Sim]:
    """`springs.simulation` in double precision and without gravity unless told otherwise, on the device under test.

    Kernels are compiled with dashpots whether a body has some or not, so that more tests share one; the tests of
    reference networks and of other integrators compile them without.
    """

    def make(body: springs.Body, **world: Any) -> Sim:
        if world.get("integrator", "symplectic") == "symplectic":
            world.setdefault("prepare", ("damping",))
        return springs.simulation(body, device=device, **{"precision": "float64", "gravity": (0.0, 0.0, 0.0), **world})

    return make


@pytest.fixture
def oscillator() -> Callable[..., springs.Body]:
    """A mass of 1 kg at x = 1.1 m on a spring of 100 N/m and 1 m, held at the origin: x = 1 + 0.1 cos(10 t)."""

    def make(**changes: Any) -> springs.Body:
        body = springs.Body(
            **{
                "positions": [[0.0, 0.0, 0.0], [1.1, 0.0, 0.0]],
                "masses": 1.0,
                "springs": [[0, 1]],
                "rest_lengths": 1.0,
                "stiffness": 100.0,
                **changes,
            }
        )
        return body.fix(np.array([0]))

    return make


@pytest.fixture
def network() -> Callable[..., springs.Body]:
    """A random network: parallel springs, a hub that holds 100 others, masses that hang on nothing."""

    def make(count: int = 150, seed: int = 0, *, damping: float = 0.0, hub: int = 100, alone: int = 3) -> springs.Body:
        rng = np.random.default_rng(seed)
        positions = rng.uniform(-1.0, 1.0, (count, 3))
        near = rng.integers(0, count - alone, (4 * count, 2))
        near = near[near[:, 0] != near[:, 1]]
        star = np.column_stack([np.zeros(hub, int), 1 + np.arange(hub)])
        links = np.concatenate([near, near[:7], near[:5, ::-1], star])
        lengths = np.linalg.norm(positions[links[:, 1]] - positions[links[:, 0]], axis=1)
        return springs.Body(
            positions=positions,
            masses=rng.uniform(0.5, 2.0, count),
            springs=links,
            rest_lengths=lengths * rng.uniform(0.9, 1.1, len(links)),
            stiffness=rng.uniform(50.0, 150.0, len(links)),
            damping=damping * rng.uniform(0.5, 1.5, len(links)),
            velocities=rng.normal(0.0, 0.3, (count, 3)),
        )

    return make


def positions_of(simulation: Sim) -> np.ndarray:
    return simulation.state.positions.numpy()[:, :3].astype(float)


def velocities_of(simulation: Sim) -> np.ndarray:
    return simulation.state.velocities.numpy().astype(float)


@pytest.fixture
def where() -> Callable[[Sim], np.ndarray]:
    """Positions of a simulation [m], shape [n, 3]."""
    return positions_of


@pytest.fixture
def speed() -> Callable[[Sim], np.ndarray]:
    """Velocities of a simulation [m/s], shape [n, 3]."""
    return velocities_of
