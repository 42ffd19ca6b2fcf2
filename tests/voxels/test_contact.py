"""Contact with the ground, with objects and with other robots, against what is known in advance."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import voxels
from annelid.voxels import Box, Terrain, Voxel


def test_a_robot_at_rest_stands_on_the_ground(simulate: Callable[..., Any], level: Terrain) -> None:
    simulation = simulate(voxels.box(2, 1, Voxel.v1()), obstacles=[level], gravity=(0.0, 0.0, -9.8))
    simulation.step(600)
    corners = simulation.solver.readout.corners(simulation.state)
    assert corners[..., 1].min() == pytest.approx(0.0, abs=0.01)
    np.testing.assert_allclose(simulation.state.velocities.numpy()[:, :3], 0.0, atol=1e-3)


@pytest.mark.parametrize(("friction", "moves"), [(0.2, True), (0.5, False)])
def test_a_box_slides_when_the_slope_is_steeper_than_friction(
    simulate: Callable[..., Any], friction: float, moves: bool
) -> None:
    """On a slope of 20° (tan = 0.364) a box slides with g (sin - μ cos) or stays."""
    angle = np.radians(20.0)
    slope = Terrain([[-500.0, 500.0 * np.tan(angle)], [500.0, -500.0 * np.tan(angle)]], friction=friction)
    up = np.array([np.sin(angle), np.cos(angle)])
    box = Box(size=(2.0, 1.0), position=tuple(0.5 * up), angle=-angle, friction=friction)
    simulation = simulate(
        voxels.box(1, 1), obstacles=[slope, box], gravity=(0.0, 0.0, -9.8), positions=[[300.0, 0.0]], watch=True
    )
    simulation.step(60)
    place = simulation.solver.readout.box_positions(simulation.state)[0, 0, :2]
    along = (place - 0.5 * up) @ np.array([np.cos(angle), -np.sin(angle)])
    expected = 0.5 * 9.8 * (np.sin(angle) - friction * np.cos(angle)) if moves else 0.0
    assert along == pytest.approx(expected, rel=0.03, abs=2e-3)


def test_restitution(simulate: Callable[..., Any], level: Terrain) -> None:
    """A box that falls flat from height H on a surface of restitution e rises to e² H."""
    box = Box(size=(1.0, 1.0), position=(0.0, 0.5 + 5.0), restitution=0.6)
    simulation = simulate(
        voxels.box(1, 1), obstacles=[level, box], gravity=(0.0, 0.0, -9.8), positions=[[100.0, 0.0]], substeps=16
    )
    heights = []
    for _ in range(110):
        simulation.step()
        heights.append(simulation.solver.readout.box_positions(simulation.state)[0, 0, 1] - 0.5)
    landed = int(np.argmin(heights))
    assert max(heights[landed:]) == pytest.approx(0.36 * 5.0, rel=0.03)


def test_a_peak_holds_a_flat_box(simulate: Callable[..., Any]) -> None:
    """A box whose corners hang in the air rests on a peak of the ground under its middle."""
    peak = Terrain([[-50.0, -50.0], [0.0, 0.0], [50.0, -50.0]])
    box = Box(size=(4.0, 1.0), position=(0.0, 0.5))
    simulation = simulate(voxels.box(1, 1), obstacles=[peak, box], gravity=(0.0, 0.0, -9.8), positions=[[40.0, 100.0]])
    simulation.step(60)
    x, y, angle = simulation.solver.readout.box_positions(simulation.state)[0, 0]
    assert y == pytest.approx(0.5, abs=0.01)
    assert (abs(x), abs(angle)) == pytest.approx((0.0, 0.0), abs=0.01)


def test_impact_keeps_momentum(simulate: Callable[..., Any], calm: Callable[..., Voxel]) -> None:
    """Two robots that meet in empty space exchange momentum and keep the sum, linear and angular."""
    pair = [voxels.box(2, 2, calm()), voxels.box(1, 2, calm())]
    simulation = simulate(pair, together=True, positions=[[0.0, 0.0], [8.0, 1.0]])
    state = simulation.state
    velocities = state.velocities.numpy()
    velocities[simulation.solver.model.robot_of_body == 1, 0] = -6.0
    state.velocities.assign(velocities)
    before = simulation.summary()
    simulation.step(60)
    after = simulation.summary()
    np.testing.assert_allclose(after.momentum, before.momentum, atol=1e-11)
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=1e-10)
    first = simulation.state.velocities.numpy()[simulation.solver.model.robot_of_body == 0, 0]
    assert first.mean() < -0.5  # it was pushed to the left


def test_robots_apart_do_not_touch(simulate: Callable[..., Any], level: Terrain) -> None:
    """Robots in worlds of their own may stand in the same place."""
    pair = [voxels.box(2, 1, Voxel.v1())] * 2
    simulation = simulate(pair, obstacles=[level], gravity=(0.0, 0.0, -9.8), positions=[[0.0, 0.0], [0.0, 0.0]])
    simulation.step(60)
    centers = simulation.solver.readout.centers(simulation.state)
    np.testing.assert_array_equal(centers[0], centers[1])


def test_a_box_lies_on_a_robot(simulate: Callable[..., Any], level: Terrain) -> None:
    box = Box(size=(2.0, 1.0), position=(3.0, 3.6))
    simulation = simulate(
        voxels.box(2, 1, Voxel.v1()), obstacles=[level, box], gravity=(0.0, 0.0, -9.8), positions=[[0.0, 0.0]]
    )
    simulation.step(300)
    x, y, angle = simulation.solver.readout.box_positions(simulation.state)[0, 0]
    top = simulation.solver.readout.corners(simulation.state)[..., 1].max()
    assert y == pytest.approx(top + 0.5, abs=0.05)
    assert (x, angle) == pytest.approx((3.0, 0.0), abs=0.1)
