"""What the tests of the coupling share: a box of sand and blocks of springs to drop into it."""

from __future__ import annotations

from typing import Any

import pytest

from annelid import coupling, robots, springs
from annelid.core.simulation import Simulation
from annelid.shapes import Surface

RADIUS = 0.01
SKIN = Surface(friction=0.5)


def block(masses: int = 5, pitch: float = 0.016, *, mass: float = 1.0, stiffness: float = 600.0) -> springs.Body:
    """A damped cube of springs about the origin of x and y, its lowest masses at z = 0."""
    body = springs.block((masses,) * 3, pitch, mass=mass / masses**3, stiffness=stiffness, damping=1.0)
    return body.moved((-0.5 * pitch * (masses - 1), -0.5 * pitch * (masses - 1), 0.0))


def box(side: float = 0.16, depth: float = 0.08, seed: int = 1) -> robots.Sandbox:
    """A small box of sand."""
    return robots.Sandbox(length=side, width=side, depth=depth, radius=RADIUS, seed=seed)


def dropped(body: springs.Body, sand: robots.Sandbox, **options: Any) -> Simulation[coupling.Solver]:
    """A body among the sand of a box."""
    options = {"skin": SKIN, "device": "cpu", "threads": 1, "dt": 2e-4, "spring_dt": 1e-4, **options}
    return coupling.simulation(body, sand.bed(), obstacles=options.pop("obstacles", sand.walls()), **options)


def above_a_bed(device: str) -> Simulation[coupling.Solver]:
    """A block just above a small bed, built anew."""
    return dropped(block().moved((0.0, 0.0, 0.08)), box(side=0.13, depth=0.05), device=device)


@pytest.fixture
def resting(device: str) -> Simulation[coupling.Solver]:
    """A block just above a small bed, which has not settled yet."""
    return above_a_bed(device)


def kinetic_per_grain(simulation: Simulation[Any]) -> float:
    """Kinetic energy of a grain in the mean, in units of its m g R."""
    bed = simulation.solver.model.bed
    squares = (simulation.solver.readout.grain_velocities(simulation.state) ** 2).sum(axis=1)
    return float((0.5 * bed.masses * squares).mean() / (9.81 * bed.masses * bed.radii).mean())


def height(simulation: Simulation[coupling.Solver]) -> float:
    """Height of the centre of mass of the spring body [m]."""
    return float(simulation.summary().parts["springs"].center_of_mass[2])
