"""Voxels that touch each other: within a robot, between robots, and as the original does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import InvalidValue
from annelid.shapes import Plane

SIDE = 0.005


def block(shape: tuple[int, int, int], **material: Any) -> voxels3d.Robot:
    voxel = voxels3d.Voxel(**{"youngs_modulus": 1e6, "global_damping": 0.0, "collision_damping": 0.5, **material})
    return voxels3d.Robot(np.zeros(shape, int), (voxel,), SIDE)


def together(robots: list[voxels3d.Robot], positions: Any, **options: Any) -> Any:
    given = {"gravity": (0.0, 0.0, 0.0), "dt": 2e-5, "threads": 1, "collisions": "all", **options}
    return voxels3d.simulation(robots, positions=np.array(positions) * SIDE, precision="float64", device="cpu", **given)


def test_a_stack_rests_as_in_the_original() -> None:
    cube = block((2, 2, 2))
    stack = together(
        [cube, cube], [(0, 0, 0), (0, 0, 5)], gravity=(0.0, 0.0, -9.80665), obstacles=[Plane()], links="compatible"
    )
    stack.run(1.0)
    lower, upper = 1e3 * (stack.solver.readout.centers(stack.state)[:, 2] - 0.5 * SIDE)  # from centres of the lowest
    assert [lower, upper] == pytest.approx([2.4991, 13.748], abs=1e-3)
    assert stack.solver.worlds == 1


def test_blows_between_robots_conserve_both_momenta_whatever_the_threads() -> None:
    robots, places = [block((8, 8, 16)), block((4, 4, 1))], [(0, 0, 0), (7, 3, 16.6)]
    hashes = []
    for threads in (1, 2):
        simulation = together(robots, places, threads=threads)
        velocities = simulation.state.velocities.numpy()
        velocities[1024:] = (0.0, 0.0, -1.0)
        simulation.state.velocities.assign(velocities)
        before = simulation.summary()
        simulation.step(200)
        after = simulation.summary()
        assert after.momentum == pytest.approx(before.momentum, abs=1e-15)
        assert after.angular_momentum == pytest.approx(before.angular_momentum, abs=1e-17)
        assert simulation.solver.readout.velocities(simulation.state)[:1024, 2].min() < -0.01
        hashes.append(simulation.state_hash())
    assert hashes[0] == hashes[1]


def test_crowds_push_with_the_sum_of_all_pairs() -> None:
    cube = block((3, 3, 3))
    simulation = together([cube, cube], [(0, 0, 0), (0.4, 0.6, 0.7)])
    simulation.step(1)
    x = simulation.solver.model.places
    d = x[None, 27:] - x[:27, None]  # pairs of a cube are joined by few links
    distance = np.linalg.norm(d, axis=2)
    inside = np.arange(27) != 13  # the middle has all its links
    overlap = np.clip(1.25 * SIDE - distance, 0.0, None) * inside[:, None] * inside[None]
    force = -(2.0 * 1e6 * SIDE * overlap / distance)[..., None] * d
    moved = simulation.solver.readout.velocities(simulation.state) * (1000.0 * SIDE**3) / simulation.dt
    np.testing.assert_allclose(moved, np.concatenate([force.sum(axis=1), -force.sum(axis=0)]), atol=1e-12)
    assert (np.count_nonzero(distance < 2.25 * SIDE, axis=1) > 16).any()


def test_arms_of_a_robot_touch_when_asked() -> None:
    grid = np.full((6, 1, 3), -1)
    grid[:, :, ::2] = 0
    grid[0] = 0
    robot = voxels3d.Robot(grid, block((1, 1, 1)).materials, SIDE).fix(lambda x, y, z: x == 0)
    bent = robot.push(lambda x, y, z: (x == 5) & (z == 2), force=(0.0, 0.0, -0.2))
    gaps = {}
    for collisions in ("none", "self"):
        simulation = together([bent], (0, 0, 0), collisions=collisions)
        simulation.run(0.1)
        ends = simulation.positions()[(robot.cells[:, 0] == 5), 2]
        gaps[collisions] = (ends[1] - ends[0]) / SIDE
    assert gaps["none"] < 0.5
    assert gaps["self"] == pytest.approx(1.25, abs=0.05)
    with pytest.raises(InvalidValue, match="collisions of .* must be .*, not 'some'"):
        together([bent], (0, 0, 0), collisions="some")
