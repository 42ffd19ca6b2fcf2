"""A bed with a ball falling into it: what several tests look at, so that its kernels are compiled once."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Rigid, Sphere, box_walls

RADIUS = 0.01
SIDE = 8


def bed_with_ball(
    device: str, threads: int | None = 1, *, layers: int = 7, speed: float = 1.0
) -> Simulation[grains.Solver]:
    """448 grains in a box, and a free ball above them; not yet settled."""
    edge = 2.1 * RADIUS * SIDE
    spots = jittered_lattice((SIDE, SIDE, layers), 2.1 * RADIUS, jitter=0.09 * RADIUS, seed=1)
    top = float(spots[:, 2].max()) + RADIUS
    ball = Rigid(
        Sphere(0.03),
        position=(0.5 * edge, 0.5 * edge, top + 0.04),
        motion="free",
        density=2000.0,
        velocity=(0.0, 0.0, -speed),
        name="ball",
    )
    walls = box_walls((0.0, 0.0, 0.0), (edge, edge, 1.0))
    bed = grains.Bed(spots, RADIUS, grains.Grain(friction=0.5))
    return grains.simulation(bed, obstacles=[*walls, ball], dt=2.5e-4, device=device, threads=threads)


@pytest.fixture(scope="session")
def settled() -> Simulation[grains.Solver]:
    """Bed and ball at rest, on the CPU."""
    simulation = bed_with_ball("cpu")
    simulation.run(1.2)  # after 0.8 s a grain still rolls in every sixth bed
    return simulation


def momentum_of(simulation: Simulation[grains.Solver]) -> np.ndarray:
    return simulation.summary().momentum
