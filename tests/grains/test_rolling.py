"""Rolling resistance: a grain comes to rest where it should, and stays there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from annelid import grains
from annelid.shapes import Box, Plane, Rigid, Surface

RADIUS, GRAVITY, FRICTION, ROLLING = 0.01, 9.81, 0.5, 0.2


def on_the_ground(ground: Rigid, speed: float = 0.0, degrees: float = 0.0) -> tuple[float, float, float]:
    """Where a grain is along x [m] after 0.5 s, and its speeds along x and of turning then, times its radius [m/s]."""
    grain = grains.Grain(friction=FRICTION, rolling=ROLLING)
    bed = grains.Bed(
        [[0.0, 0.0, RADIUS]], RADIUS, grain, velocities=[[speed, 0.0, 0.0]], spins=[[0.0, speed / RADIUS, 0.0]]
    )
    down = (GRAVITY * math.sin(math.radians(degrees)), 0.0, -GRAVITY * math.cos(math.radians(degrees)))
    simulation = grains.simulation(bed, obstacles=[ground], gravity=down, device="cpu", threads=1)
    simulation.run(0.5)
    spin = simulation.solver.readout.spins(simulation.state)[0, 1]
    return float(simulation.positions()[0, 0]), float(simulation.velocities()[0, 0]), float(spin * RADIUS)


@pytest.fixture(params=["plane", "box"])
def ground(request: pytest.FixtureRequest) -> Rigid:
    surface = Surface(friction=FRICTION, rolling=ROLLING)
    if request.param == "plane":
        return Rigid(Plane(), surface)
    return Rigid(Box((1.0, 1.0, 0.1)), surface, position=(0.0, 0.0, -0.05))


def test_a_grain_rolls_as_far_as_it_should_and_stops(ground: Rigid) -> None:
    way, speed, turning = on_the_ground(ground, speed=0.3)
    assert way == pytest.approx(0.3**2 / (2.0 * 5.0 / 7.0 * ROLLING * GRAVITY), rel=0.01)
    np.testing.assert_allclose([speed, turning], 0.0, atol=1e-5)


@pytest.mark.parametrize("degrees", [2.0, 8.0])
def test_a_grain_stays_on_a_slope_that_its_resistance_holds(ground: Rigid, degrees: float) -> None:
    way, speed, turning = on_the_ground(ground, degrees=degrees)
    assert abs(way) < 1e-3 * RADIUS
    np.testing.assert_allclose([speed, turning], 0.0, atol=1e-6)


def test_a_grain_stays_near_the_top_of_a_large_one() -> None:
    large, aside = 0.1, math.radians(4.0)
    grain = grains.Grain(friction=FRICTION, rolling=ROLLING)
    apart = (large + RADIUS) * np.array([math.sin(aside), 0.0, math.cos(aside)])
    below = np.array([0.0, 0.0, large])
    bed = grains.Bed([below, below + apart], [large, RADIUS], grain)
    floor = Rigid(Plane(), Surface(friction=FRICTION, rolling=ROLLING))
    simulation = grains.simulation(bed, obstacles=[floor], device="cpu", threads=1)
    simulation.run(0.5)
    assert np.abs(simulation.positions()[1] - simulation.positions()[0] - apart).max() < 0.01 * RADIUS
    assert np.abs(simulation.solver.readout.spins(simulation.state)[1]).max() * RADIUS < 1e-5
