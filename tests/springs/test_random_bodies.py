"""The step that dt="auto" takes: random bodies of any stiffness, mass and damping stay finite and gain no energy."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import springs
from annelid.shapes import Box, ground

MATTER = ("ecoflex-00-30", "dragon-skin-30", "pdms", "tpu", "pla")


def log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_block(rng: np.random.Generator) -> springs.Body:
    damping = float(rng.choice([0.0, log(rng, 1e-3, 1e3)]))
    shape = (int(rng.integers(2, 6)), int(rng.integers(2, 6)), int(rng.integers(2, 6)))
    stiffness, mass = log(rng, 1.0, 1e5), log(rng, 1e-5, 1.0)
    return springs.block(shape, log(rng, 1e-3, 0.3), mass=mass, stiffness=stiffness, damping=damping)


def random_lattice(rng: np.random.Generator) -> springs.Body:
    """A cube of one material with a core of another."""
    pitch, cells = log(rng, 1e-3, 0.02), int(rng.integers(3, 6))
    core = Box((0.5 * cells * pitch,) * 3, center=(0.5 * cells * pitch,) * 3)
    matter, other = (str(name) for name in rng.choice(MATTER, 2))
    frequency = None if rng.random() < 0.2 else log(rng, 0.1, 1e3)
    return springs.box((cells * pitch,) * 3, pitch, matter, inserts=[(core, other)], damping_frequency=frequency)


def random_network(rng: np.random.Generator) -> springs.Body:
    count, size = int(rng.integers(4, 60)), log(rng, 1e-2, 1.0)
    places, ends = rng.uniform(-size, size, (count, 3)), rng.integers(0, count, (4 * count, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    stiffness = np.exp(rng.uniform(0.0, np.log(1e5), len(ends)))
    damping = np.where(rng.random(len(ends)) < 0.5, 0.0, log(rng, 1e-5, 1e-1)) * stiffness
    lengths = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1)
    return springs.Body(
        places, np.exp(rng.uniform(np.log(1e-3), 0.0, count)), ends, lengths, stiffness, damping=damping
    )


def gains(seed: int, *, parts: int = 8, steps: int = 250) -> float:
    """Energy that a random body gains, in that of its motion at the beginning.

    Symplectic integrators keep an energy that differs from the true one by a part of that of the fastest motions, which
    oscillates. What matters is that the later half has no more than the earlier one.
    """
    rng = np.random.default_rng(seed)
    body = (random_block, random_lattice, random_network)[seed % 3](rng)
    height = rng.uniform(0.0, 0.3) * np.ptp(body.positions, axis=0).max()
    body = body.moved((0.0, 0.0, -body.bounds()[0][2] + height))
    speed = 0.02 * np.median(body.rest_lengths) * np.sqrt(np.median(body.stiffness) / np.median(body.masses))
    body.velocities[:] = rng.normal(0.0, speed, body.positions.shape)
    stiffness = None if rng.random() < 0.7 else log(rng, 1e2, 1e6)
    floor = ground(rng.uniform(0.0, 1.0), restitution=float(rng.choice([0.0, 0.2, 0.5, 0.8])), stiffness=stiffness)
    simulation = springs.simulation(
        body, obstacles=[floor], integrator=str(rng.choice(["symplectic", "symplectic", "verlet", "rk4"])),
        velocity_damping=float(rng.choice([0.0, 1.0, 100.0])), precision="float64", device="cpu", threads=1,
    )  # fmt: skip
    begun, energies = simulation.summary(), []
    for _ in range(parts):
        simulation.step(steps)
        energies.append(simulation.summary().total - begun.total)
    early, late = max(0.0, *energies[: parts // 2]), max(energies[parts // 2 :])
    return float(max(late - 1.5 * early, early - 2.0 * begun.kinetic) / begun.kinetic)


@pytest.mark.parametrize("seed", range(9))
def test_random_bodies_gain_no_energy(seed: int) -> None:
    assert gains(seed) < 0.05
