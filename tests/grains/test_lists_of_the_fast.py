"""Lists of neighbours last where grains fall freely and where a body flies: they are made for what is about to come."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.grains.kernels.layout import BUILDS
from annelid.shapes import Plane, Rigid, Sphere

from .conftest import RADIUS, bed_with_ball


def builds_in(simulation: Simulation[grains.Solver], seconds: float) -> float:
    """How often lists are made, of the steps that are taken."""
    before, begin = int(simulation.state.flags.numpy()[BUILDS]), simulation.time
    simulation.run(seconds)
    made = int(simulation.state.flags.numpy()[BUILDS]) - before
    return made / ((simulation.time - begin) / simulation.dt)


def test_grains_that_fall_faster_and_faster_keep_their_lists() -> None:
    spots = np.random.default_rng(1).permutation(np.indices((6, 6, 6)).reshape(3, -1).T * 3.0 * RADIUS)
    spots[:, 2] += 3.0
    rain = grains.simulation(grains.Bed(spots, RADIUS), obstacles=[Plane()], dt=2e-4, device="cpu")
    rain.run(0.2)
    assert builds_in(rain, 0.3) < 0.2


@pytest.mark.parametrize("speed", [1.0, 3.0, 8.0])
def test_a_ball_that_flies_does_not_ask_for_new_lists_of_the_bed(speed: float) -> None:
    radius, dt = 0.03, 2.5e-4
    lying = np.stack(np.meshgrid(*2 * [np.arange(8) * 2.0 * RADIUS], [RADIUS]), -1).reshape(-1, 3)
    ball = Rigid(Sphere(radius), position=(0.07, 0.07, 1.5), motion="free", density=2000.0, velocity=(0.0, 0.0, -speed))
    bed = grains.Bed(lying, RADIUS)
    simulation = grains.simulation(bed, obstacles=[Plane(), ball], dt=dt, device="cpu")
    assert builds_in(simulation, 0.1) < 0.02


def test_what_a_ball_touches_that_came_from_afar_is_listed() -> None:
    radius, dt = 0.03, 2.5e-4
    spots = np.random.default_rng(2).uniform(0.0, 0.2 * RADIUS, (8, 8, 3, 3))
    spots += np.stack(np.meshgrid(*3 * [np.arange(8)], indexing="ij"), -1)[:, :, :3] * 2.3 * RADIUS + 1.05 * RADIUS
    ball = Rigid(Sphere(radius), position=(0.09, 0.09, 0.6), motion="free", density=4000.0, velocity=(0.3, 0.0, -6.0))
    bed = grains.Bed(spots.reshape(-1, 3), RADIUS)
    simulation = grains.simulation(bed, obstacles=[Plane(), ball], dt=dt, device="cpu")
    touched = 0
    for _ in range(150):
        simulation.step(4)
        state = simulation.state
        count = len(state.counts)
        away = np.linalg.norm(state.positions.numpy()[:count, :3] - state.places.numpy()[1], axis=1)
        close = np.flatnonzero(away < radius + 1.02 * RADIUS)
        lengths, lists = state.counts.numpy()[:, 1], state.bodies.numpy().reshape(count, -1)
        named = ((lists == 1) & (np.arange(lists.shape[1]) < lengths[:, None])).any(axis=1)
        assert named[close].all()
        touched += len(close)
    assert touched > 50


def test_fast_balls_meet_the_bed_as_slow_ones_do() -> None:
    """No grain is passed over by lists that were made while the ball was far away."""
    simulation = bed_with_ball("cpu", speed=6.0)
    deepest = 0.0
    for _ in range(60):
        simulation.run(5 * simulation.dt)
        readout, state = simulation.solver.readout, simulation.state
        away = np.linalg.norm(readout.positions(state) - readout.body_position(state, "ball"), axis=1)
        deepest = max(deepest, float((0.03 + RADIUS - away).max()))
    assert deepest < 0.5 * RADIUS


def test_worlds_are_as_alone_where_the_lists_of_another_grow_while_a_ball_flies() -> None:
    """Lists that do not fit are made once more, which must not tell the others what they knew by then."""
    hashes = []
    for places in (0, 64):
        spots = np.random.default_rng(3).uniform(-0.02, 0.02, (40, 3)) * [1.0, 1.0, 0.2] + [0.0, 0.0, 0.05]
        lying = np.stack(np.meshgrid(*2 * [np.arange(6) * 2.0 * RADIUS], [RADIUS]), -1).reshape(-1, 3)
        bed = grains.Bed(np.concatenate([spots, lying]), np.where(np.arange(40 + len(lying)) < 40, 0.5, 1.0) * RADIUS)
        balls = [
            Rigid(Sphere(0.02), position=(0.05, 0.05, 0.6), motion="free", density=3000.0, velocity=(0, 0, -9), world=1)
        ]
        world_of = np.repeat([0, 1], [40, len(lying)])
        simulation = grains.simulation(
            bed, obstacles=[Plane(), Rigid(Plane(), world=1), *balls], dt=2e-4, world_of=world_of,
            overlapping="allow", device="cpu", threads=1,
        )  # fmt: skip
        if places:
            simulation.solver.reserve(simulation.state, places, 8)
        simulation.step(400)
        hashes.append(simulation.positions()[40:].tobytes())
    assert hashes[0] == hashes[1]


def test_a_very_fast_ball_that_comes_from_afar_takes_smaller_steps() -> None:
    radius = 1e-3
    spots = np.stack(np.meshgrid(*2 * [np.arange(8)], np.arange(5), indexing="ij"), -1).reshape(-1, 3) * 2.05 * radius
    ball = Rigid(Sphere(3 * radius), position=(0.007, 0.007, 0.06), motion="free", density=2500.0, velocity=(0, 0, -40))
    simulation = grains.simulation(
        grains.Bed(spots + radius, radius), obstacles=[Plane(), ball], too_fast="substep", dt=3e-4, device="cpu"
    )
    deepest = 0.0
    for _ in range(40):
        simulation.step(1)
        away = np.linalg.norm(
            simulation.positions() - simulation.solver.readout.body_position(simulation.state, ball), axis=1
        )
        deepest = max(deepest, float((4 * radius - away).max()))
    assert deepest < 1.2 * radius
