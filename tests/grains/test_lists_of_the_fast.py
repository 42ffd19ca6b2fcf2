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
