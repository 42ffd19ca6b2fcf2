"""Impacts: how fast things part that meet, alone or several at once, at any phase of a step, by any sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.grains.filling import fill
from annelid.shapes import Box, Capsule, Plane, Rigid, Sphere, Surface, box_walls, ground

HERE = {"device": "cpu", "threads": 1}
STILL = (0.0, 0.0, 0.0)
SHAPES = (Sphere(0.03), Capsule(0.03, 0.06), Box((0.06,) * 3))
GAPS = np.linspace(0.005, 0.0059, 3)  # meets at another phase of a step each


def many_worlds(
    count: int, bodies: list[Rigid], gravity: tuple[float, float, float], *, bouncing: bool = False
) -> Simulation[grains.Solver]:
    """Bodies in worlds with a grain each; what is far away has all their shapes, so that one kernel serves them all.

    Where bodies bounce, grains differ, and the kernel is that of the laboratory.
    """
    far = [Rigid(shape, position=(0.0, 5.0 + place, 0.0)) for place, shape in enumerate(SHAPES)]
    far.append(Rigid(Plane(point=(0.0, 0.0, -9.0))))
    grain = (grains.Grain(friction=0.1), grains.Grain(friction=0.2)) if bouncing else (grains.Grain(),)
    bed = grains.Bed(np.full((count, 3), 9.0), 0.005, grain, kinds=np.arange(count) % len(grain))
    return grains.simulation(bed, obstacles=[*bodies, *far], world_of=np.arange(count), gravity=gravity, **HERE)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_two_bodies_part_as_fast_as_they_should(gap: float, restitution: float) -> None:
    """Two of each shape in a world of their own."""
    surface, pairs = Surface(restitution=restitution, friction=0.0), []
    for world, shape in enumerate(SHAPES):
        place = (-0.06 - gap, 0.0, 0.0)
        first = Rigid(shape, surface, position=place, velocity=(1.0, 0.0, 0.0), motion="free", world=world)
        pairs.append((first, Rigid(shape, surface, motion="free", world=world)))
    bodies = [body for pair in pairs for body in pair]
    simulation = many_worlds(len(pairs), bodies, STILL, bouncing=restitution > 0.0)
    simulation.run(0.012)
    for pair in pairs:
        speeds = [float(simulation.solver.readout.body_velocity(simulation.state, body)[0]) for body in pair]
        assert sum(speeds) == pytest.approx(1.0, abs=1e-4), pair[0]
        assert speeds[1] - speeds[0] == pytest.approx(restitution, abs=0.03), pair[0]


def test_a_box_that_falls_flat_stays_down() -> None:
    heights = (0.05, 0.08, 0.1, 0.12)
    boxes = [
        Rigid(Box((0.06,) * 3), position=(0.0, 0.0, 0.03 + height), motion="free", world=world)
        for world, height in enumerate(heights)
    ]
    floors = [Rigid(Plane(), world=world) for world in range(len(heights))]
    simulation = many_worlds(len(heights), [*boxes, *floors], (0.0, 0.0, -9.81))
    fastest = np.zeros(len(heights))
    while simulation.time < 0.25:
        simulation.step()
        speeds = [simulation.solver.readout.body_velocity(simulation.state, body)[2] for body in boxes]
        fastest = np.maximum(fastest, speeds)
    assert (fastest < 0.05 * np.sqrt(2.0 * 9.81 * np.array(heights))).all()


@pytest.mark.parametrize("iterations", [None, 1, 2, 5, 20])
@pytest.mark.parametrize("restitution", [0.5, 0.9])
def test_sweeps_do_not_change_a_bounce(iterations: int | None, restitution: float) -> None:
    grain = grains.Grain(restitution=restitution)
    bed = grains.Bed([[0.0, 0.0, 0.06]], 0.01, grain)
    simulation = grains.simulation(bed, obstacles=[ground(restitution=restitution)], iterations=iterations, **HERE)
    simulation.run((2.0 * 0.05 / 9.81) ** 0.5 + 0.005)
    heights = []
    while simulation.time < 0.3:
        simulation.step()
        heights.append(simulation.solver.readout.positions(simulation.state)[0, 2] - 0.01)
    assert max(heights) == pytest.approx(0.05 * restitution**2, rel=0.01)


def test_a_wall_that_is_touched_does_not_take_the_bounce_away() -> None:
    surface = {"restitution": 0.8, "friction": 0.0}
    bed = grains.Bed([[0.01, 0.0, 0.06]], 0.01, grains.Grain(**surface))
    wall = Rigid(Plane(normal=(1.0, 0.0, 0.0)), Surface(**surface))
    simulation = grains.simulation(bed, obstacles=[ground(**surface), wall], iterations=1, **HERE)
    simulation.run((2.0 * 0.05 / 9.81) ** 0.5 + 0.005)
    heights = []
    while simulation.time < 0.25:
        simulation.step()
        heights.append(simulation.solver.readout.positions(simulation.state)[0, 2] - 0.01)
    assert max(heights) == pytest.approx(0.64 * 0.05, rel=0.01)


def test_two_walls_at_the_same_moment() -> None:
    surface = {"restitution": 1.0, "friction": 0.0}
    bed = grains.Bed([[0.03, 0.03, 0.0]], 0.01, grains.Grain(**surface), velocities=[[-1.0, -1.0, 0.0]])
    walls = [Rigid(Plane(normal=normal), Surface(**surface)) for normal in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))]
    simulation = grains.simulation(bed, obstacles=walls, gravity=STILL, **HERE)
    simulation.run(0.05)
    assert simulation.solver.readout.velocities(simulation.state)[0, :2] == pytest.approx([1.0, 1.0], abs=0.01)


def test_an_elastic_gas_keeps_its_energy_the_better_the_shorter_the_step() -> None:
    surface = {"restitution": 1.0, "friction": 0.0}
    spots, radii = fill(Box((0.12,) * 3), 0.008, 0.15, seed=1)
    velocities = np.random.default_rng(0).normal(0.0, 1.0, (len(spots), 3))
    bed = grains.Bed(spots, radii, grains.Grain(**surface), velocities=velocities)
    walls = box_walls((-0.06,) * 3, (0.06,) * 3, top=True, surface=Surface(**surface))
    kept = []
    for dt in (2e-4, 2e-5):
        simulation = grains.simulation(bed, obstacles=walls, gravity=STILL, dt=dt, **HERE)
        before = simulation.summary().kinetic
        simulation.run(0.04)
        kept.append(simulation.summary().kinetic / before)
    assert 0.8 < kept[0] < 1.01
    assert 0.98 < kept[1] < 1.01


@pytest.mark.parametrize("iterations", [None, 1, 20])
def test_a_bed_of_grains_that_bounce_comes_to_rest(iterations: int | None) -> None:
    spots, radii = fill(Box((0.08, 0.08, 0.05), center=(0.0, 0.0, 0.035)), 0.005, 0.5, seed=1)
    bed = grains.Bed(spots, radii, grains.Grain(restitution=0.5))
    walls = box_walls((-0.04, -0.04, 0.0), (0.04, 0.04, 1.0), surface=Surface(restitution=0.5))
    simulation = grains.simulation(bed, obstacles=walls, iterations=iterations, **HERE)
    simulation.run(0.3)
    assert simulation.solver.readout.overlap(simulation.state).largest < 0.05
    assert simulation.solver.readout.largest_speed(simulation.state) < 0.3


def test_one_body_that_could_bounce_has_no_partner_in_other_worlds() -> None:
    bed = grains.Bed([[0.0, 0.0, 0.012]], 0.01)
    obstacles = [Plane(), Rigid(Box((0.02, 0.02, 0.02)), Surface(restitution=0.7), position=(0.05, 0.0, 0.01))]
    alone, many = (
        grains.simulation(bed, obstacles=obstacles, worlds=worlds, device="cpu", threads=1) for worlds in (1, 3)
    )
    for simulation in (alone, many):
        simulation.run(0.05)
    assert not many.solver.model.features.bouncing
    np.testing.assert_array_equal(many.positions()[1:2], alone.positions())


def test_a_ball_comes_as_deep_in_grains_that_bounce_in_shorter_steps() -> None:
    """Steps of eight sweeps may be longer than plain ones. Single drops differ by some percent: two, side by side."""
    radius, size, side = 0.006, 0.024, 0.12
    region = Box((side, side, 0.08), center=(0.0, 0.0, 0.04))
    poured, _ = fill(region, radius, 0.52, seed=1, device="cpu")
    glass, corners = grains.Grain(friction=0.5, restitution=0.5), ((-0.5 * side,) * 2, (0.5 * side,) * 2)
    resting = grains.simulation(
        grains.Bed(poured, radius, grains.Grain(friction=0.5)),
        obstacles=box_walls((*corners[0], 0.0), (*corners[1], 1.0)), **HERE,
    )  # fmt: skip
    resting.run(0.3)
    spots, places = resting.positions(), ((0.0, 0.0), (0.025, -0.02))
    walls = [one for w in range(2) for one in box_walls((*corners[0], 0.0), (*corners[1], 1.0), world=w)]
    top = float(spots[:, 2].max()) + radius + size
    balls = [
        Rigid(Sphere(size), Surface(restitution=0.5), motion="free", density=3000.0, position=(x, y, top),
              velocity=(0.0, 0.0, -1.5), name=f"ball {world}", world=world)
        for world, (x, y) in enumerate(places)
    ]  # fmt: skip

    def deep(**steps: float) -> tuple[float, Simulation[grains.Solver]]:
        bed = grains.Bed(np.tile(spots, (2, 1)), radius, glass)
        worlds = np.repeat(np.arange(2), len(spots))
        simulation = grains.simulation(bed, obstacles=[*walls, *balls], world_of=worlds, **steps, **HERE)
        simulation.run(0.03)
        readout, state = simulation.solver.readout, simulation.state
        return float(np.mean([top - readout.body_position(state, ball)[2] for ball in balls])), simulation

    usual, simulation = deep()
    assert simulation.dt > 8e-5
    shorter, _ = deep(dt=0.5 * simulation.dt, contact_step=simulation.solver.model.contact_step)
    assert 0.5 * size < usual
    assert usual == pytest.approx(shorter, rel=0.08)
