"""Several worlds side by side: each moves as it would alone."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import coupling, grains, springs
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.shapes import Rigid, Sphere, Surface

from .conftest import SKIN, block, box

SAND = box(side=0.14, depth=0.06)
TWO = np.repeat([0, 1], len(SAND.bed()))


def _bed(count: int) -> grains.Bed:
    bed = SAND.bed()
    return grains.Bed(np.tile(bed.positions, (count, 1)), np.tile(bed.radii, count), bed.materials)


def _solver(speeds: list[float], device: str = "cpu", **options: object) -> coupling.Solver:
    count = len(speeds)
    body = block(4).moved((0.0, 0.0, 0.08)).replicated(np.zeros((count, 3)))
    body.velocities[:, 2] = np.repeat(speeds, body.mass_count // count)
    walls = [wall for world in range(count) for wall in SAND.walls(world)]
    options = {
        "world_of": np.repeat(np.arange(count), len(SAND.bed())),
        "lanes": 4,
        **options,
    }
    world = coupling.World(
        dt=2e-4, spring_dt=1e-4, obstacles=walls, skin=SKIN, inside="allow", overlapping="allow",
        grains={"iterations": 1},  # whatever the speeds
    )  # fmt: skip
    return coupling.Solver(coupling.Model(body, _bed(count), world=world, device=device, **options), threads=2)


def test_a_world_among_others_moves_as_alone(device: str) -> None:
    speeds = [-1.5, 0.0, -0.5]
    many = _solver(speeds, device)
    together = many.initial_state()
    many.reserve(together, 32, 8)
    many.advance(together, 250)
    masses = many.readout.body_positions(together).reshape(3, -1, 3)
    bed = many.readout.grain_positions(together).reshape(3, -1, 3)
    for world, speed in enumerate(speeds):
        single = _solver([speed], device)
        alone = single.initial_state()
        single.reserve(alone, 32, 8)
        single.advance(alone, 250)
        assert np.array_equal(single.readout.body_positions(alone), masses[world])
        assert np.array_equal(single.readout.grain_positions(alone), bed[world])
    assert not np.array_equal(masses[0], masses[1])


def test_a_world_that_begins_again_moves_as_a_new_one(device: str) -> None:
    speeds = [-1.5, -0.5]
    fresh, treated = (Simulation(_solver(speeds, device)) for _ in range(2))
    fresh.step(120)
    treated.step(160)
    treated.reset([1])
    treated.step(120)
    for read in (coupling.Readout.body_positions, coupling.Readout.grain_positions):
        new, old = (read(s.solver.readout, s.state).reshape(2, -1, 3) for s in (fresh, treated))
        assert np.array_equal(new[1], old[1])
        assert not np.array_equal(new[0], old[0])
    treated.reset()
    assert treated.state_hash() == Simulation(_solver(speeds, device)).state_hash()


def test_worlds_that_are_not_copies() -> None:
    body = block(4).moved((0.0, 0.0, 0.08))
    world = coupling.World(inside="allow")
    with pytest.raises(InvalidValue, match="not equal copies for 2 worlds"):
        coupling.Model(springs.join([body, block(3)]), _bed(2), world=world, world_of=TWO, device="cpu")
    with pytest.raises(InvalidValue, match="repeat that bed"):
        coupling.Model(body.replicated(np.zeros((2, 3))), _bed(2), world_of=TWO, device="cpu")


def test_one_obstacle_that_could_bounce_has_no_partner_in_other_worlds() -> None:
    ball = Rigid(Sphere(0.01), Surface(restitution=0.5), position=(0.0, 0.0, 0.2))
    alone, many = (
        coupling.simulation(
            block(4).moved((0.0, 0.0, 0.08)), SAND.bed(), obstacles=[*SAND.walls(), ball], worlds=worlds, device="cpu"
        ).solver.model.grains
        for worlds in (1, 2)
    )
    assert alone.converges
    assert many.converges
    assert (many.dt, many.features.bouncing) == (alone.dt, alone.features.bouncing)
