"""The step that dt="auto" takes: random beds, bodies among them and either method stay finite and gain no energy."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Capsule, Rigid, Sphere, Surface, box_walls


def log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_surface(rng: np.random.Generator, rolls: bool) -> Surface:
    return Surface(
        friction=float(rng.choice([0.0, rng.uniform(0.0, 1.5)])),
        restitution=float(rng.choice([0.0, rng.uniform(0.0, 0.9)])),
        rolling=rolls * float(rng.choice([0.0, rng.uniform(0.0, 0.3)])),
    )


def random_grain(rng: np.random.Generator, rolls: bool) -> grains.Grain:
    return grains.Grain(
        density=log(rng, 300.0, 8000.0), friction=rng.uniform(0.0, 1.5), rolling=rolls * float(rng.choice([0.0, 0.1])),
        restitution=float(rng.choice([0.0, rng.uniform(0.0, 0.9)])),
    )  # fmt: skip


def random_body(rng: np.random.Generator, size: float, place: np.ndarray) -> Rigid:
    kind = int(rng.integers(3))
    form = (Box(tuple(rng.uniform(1.0, 3.0, 3) * size)), Sphere(2.0 * size), Capsule(size, 2.0 * size))[kind]
    return Rigid(
        form, random_surface(rng, rolls=True), position=tuple(place), motion="free", density=log(rng, 300.0, 3000.0)
    )


def random_bed(seed: int) -> Simulation[grains.Solver]:
    """Grains of unlike sizes above the floor of a box, moving at random, with or without a free body above them."""
    rng = np.random.default_rng(seed)
    largest, side, layers = log(rng, 2e-4, 0.05), int(rng.integers(2, 6)), int(rng.integers(1, 5))
    pitch = 2.2 * largest
    places = pitch * (np.indices((side, side, layers)).reshape(3, -1).T + 0.5)
    radii = largest * rng.uniform(rng.choice([0.3, 1.0]), 1.0, len(places))
    method = str(rng.choice(["nonsmooth", "nonsmooth", "hertz"]))
    rolls = method == "nonsmooth"
    speed = rng.uniform(0.0, 3.0) * np.sqrt(9.81 * largest)
    bed = grains.Bed(
        places, radii, tuple(random_grain(rng, rolls) for _ in range(2)), kinds=rng.integers(0, 2, len(places)),
        velocities=rng.normal(0.0, speed, places.shape),
    )  # fmt: skip
    walls = box_walls((0.0, 0.0, 0.0), (side * pitch, side * pitch, 50.0 * pitch), random_surface(rng, rolls))
    middle = np.array([0.5 * side * pitch, 0.5 * side * pitch, (layers + 2.5) * pitch])
    bodies = [random_body(rng, largest, middle)] if rolls and rng.random() < 0.5 else []
    return grains.simulation(bed, obstacles=[*walls, *bodies], method=method, device="cpu", threads=1)


@pytest.mark.parametrize("seed", range(6))
def test_random_beds_gain_no_energy(seed: int) -> None:
    simulation = random_bed(seed)
    begun, bed = simulation.summary(), simulation.solver.model.bed
    fall = np.sqrt(bed.radii.max() / 9.81)
    lift = 9.81 * float(begun.mass) * float(bed.radii.mean())
    for _ in range(8):
        simulation.run(2.0 * fall)
        assert simulation.summary().total <= begun.total + 0.05 * lift
