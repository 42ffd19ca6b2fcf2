"""A bed dropped at 5 m/s and sizes of 1:3 poured together: nothing explodes, nothing gets through the floor."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Surface, box_walls

SMALL, LARGE = 0.005, 0.015
EDGE = 0.128
ROUGH = Surface(friction=0.5)


def spots(pitch: float, layers: int, low: float) -> np.ndarray:
    side = int(EDGE / pitch)
    corner = (0.5 * (EDGE - side * pitch), 0.5 * (EDGE - side * pitch), low)
    return jittered_lattice((side, side, layers), pitch, jitter=0.02 * pitch, corner=corner, seed=2)


@pytest.fixture(scope="module")
def treated() -> Simulation[grains.Solver]:
    """World 0: a bed of small grains falls at 5 m/s. World 1: small and large grains are poured together."""
    falling = spots(0.0106, 4, 0.02)
    lattice = spots(0.032, 8, 0.0)
    large = np.random.default_rng(0).random(len(lattice)) < 0.5
    few = [lattice[~large] + 0.0075 * np.array([x, y, z]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    mixed = np.concatenate([lattice[large], *few])
    radii = np.concatenate([
        np.full(len(falling), SMALL), np.full(large.sum(), LARGE), np.full(8 * (~large).sum(), SMALL),
    ])  # fmt: skip
    velocities = np.zeros((len(radii), 3))
    velocities[: len(falling), 2] = -5.0
    bed = grains.Bed(np.concatenate([falling, mixed]), radii, grains.Grain(friction=0.4), velocities=velocities)
    walls = [wall for world in range(2) for wall in box_walls((0.0, 0.0, 0.0), (EDGE, EDGE, 1.0), ROUGH, world=world)]
    worlds = np.repeat([0, 1], [len(falling), len(mixed)])
    simulation = grains.simulation(bed, obstacles=walls, world_of=worlds, device="cpu", threads=1)
    peaks: list[tuple[float, float]] = []
    simulation.attachments["peaks"] = peaks

    def look(sim: Simulation[grains.Solver]) -> None:
        summary, x = sim.summary(), sim.solver.readout.positions(sim.state)
        peaks.append((summary.total, float((x[:, 2] - radii).min())))

    look(simulation)
    simulation.observe(look, every=0.002)
    simulation.run(0.36)
    return simulation


def test_energy_only_falls(treated: Simulation[grains.Solver]) -> None:
    energies = np.array([energy for energy, _ in treated.attachments["peaks"]])
    assert np.isfinite(energies).all()
    assert np.diff(energies).max() < 1e-3 * energies[0]
    assert energies[-1] < 0.5 * energies[0]


def test_nothing_gets_through_floor_or_walls(treated: Simulation[grains.Solver]) -> None:
    lowest = min(low for _, low in treated.attachments["peaks"])
    assert lowest > -0.35 * SMALL
    solver = treated.solver
    x, radii = solver.readout.positions(treated.state), solver.model.bed.radii[:, None]
    assert (x - radii > -0.1 * SMALL).all()
    assert ((x + radii)[:, :2] < EDGE + 0.1 * SMALL).all()


def test_it_comes_to_rest(treated: Simulation[grains.Solver]) -> None:
    solver = treated.solver
    speeds = np.linalg.norm(solver.readout.velocities(treated.state), axis=1)
    assert np.quantile(speeds, 0.95) < 0.05
    assert solver.readout.overlap(treated.state).largest < 0.08
    x, worlds = solver.readout.positions(treated.state), solver.model.worlds
    assert x[worlds == 0, 2].max() < 0.06
