"""The steps that "auto" takes: random soft bodies that fall into random beds stay finite and gain no energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, springs
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.shapes import Box, Rigid, Surface, box_walls, tet_beam


def log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_springs(rng: np.random.Generator, size: float) -> springs.Body:
    """A block of a material that soft robots are made of."""
    matter = str(rng.choice(["ecoflex-00-30", "dragon-skin-30", "pdms"]))
    pitch = size / int(rng.integers(2, 5))
    return springs.box((size, size, size), pitch, matter, damping_frequency=log(rng, 1.0, 100.0))


def random_solid(rng: np.random.Generator, size: float, low: np.ndarray) -> fem.Solid:
    """A cube whose lowest corner is given."""
    cells = (int(rng.integers(2, 4)),) * 3
    rubber = material("ecoflex-00-30").with_(
        youngs_modulus=log(rng, 2e4, 1e6), poisson_ratio=rng.uniform(0.0, 0.45), density=log(rng, 500.0, 2000.0)
    )
    mesh = tet_beam(size, size, size, cells=cells)
    return fem.Solid(mesh.moved(low - mesh.nodes.min(axis=0)), rubber)


def random_fall(seed: int) -> Simulation[Any]:
    """A soft block above loose grains in a box, with or without a rigid one beside it."""
    rng = np.random.default_rng(seed)
    radius, side = log(rng, 2e-3, 0.02), int(rng.integers(5, 8))
    pitch, size = 2.1 * radius, rng.uniform(3.0, 5.0) * radius
    spots = pitch * (np.indices((side, side, 3)).reshape(3, -1).T + 0.5)
    bed = grains.Bed(spots, radius * rng.uniform(0.7, 1.0, len(spots)), grains.Grain(friction=rng.uniform(0.0, 1.0)))
    low = np.array([rng.uniform(0.1, 0.9) * (side * pitch - size), 0.5 * (side * pitch - size), 3.3 * pitch])
    velocity = np.array([0.0, 0.0, -rng.uniform(0.0, 3.0) * np.sqrt(9.81 * size)])
    body: springs.Body | fem.Solid
    if rng.random() < 0.7:
        body = random_springs(rng, size)
        body = body.moved(low - body.bounds()[0])
        body.velocities[:] = velocity
    else:
        body = random_solid(rng, size, low)
    skin = Surface(friction=rng.uniform(0.0, 1.0))
    walls = box_walls((0.0, 0.0, 0.0), (side * pitch, side * pitch, 50.0 * pitch), skin)
    lid = Rigid(Box((size, size, 2.0 * radius)), skin, position=(*low[:2] + 0.5 * size, low[2] + 1.5 * size),
                motion="free", density=log(rng, 300.0, 3000.0))  # fmt: skip
    bodies = [lid] if rng.random() < 0.3 else []
    return coupling.simulation(body, bed, obstacles=[*walls, *bodies], skin=skin, device="cpu", threads=1)


@pytest.mark.parametrize("seed", [0, 1, 150])  # in the last one a lid presses a light solid onto grains
def test_random_bodies_among_grains_gain_no_energy(seed: int) -> None:
    simulation = random_fall(seed)
    begun = simulation.summary()
    fall = np.sqrt(0.02 / 9.81)
    lift = 9.81 * float(begun.mass) * float(simulation.solver.model.bed.radii.mean())
    for _ in range(5):
        simulation.run(fall)
        assert simulation.summary().total <= begun.total + 0.05 * lift
