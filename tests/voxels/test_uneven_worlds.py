"""Worlds of voxel robots on ground of their own: heights as a factor says, and another part of a long one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import Uniform, control, voxels
from annelid.core.errors import InvalidValue
from annelid.shapes import ground
from annelid.view import sensors as seeing

POINTS = np.array([[-20.0, 0.0], [4.0, 0.0], [5.0, 0.8], [6.5, -0.4], [8.0, 0.5], [9.0, 0.0], [40.0, 0.0]])
LAWS = {"terrain": Uniform(0.0, 1.5), "terrain_x": Uniform(-2.0, 2.0)}


def simulated(device: str, worlds: int = 1, points: np.ndarray = POINTS) -> Any:
    """A worm that drops onto a few hills, with lidars that look down and ahead."""
    looking = [voxels.sensors.lidar(angle, 10.0) for angle in (-np.pi / 2, -0.3)]
    robot = voxels.worm(3, sensors=looking)
    robot = robot.with_controller(control.PhasedSines(np.zeros(robot.voxel_count), amplitude=0.0))
    terrain = voxels.Terrain(points, friction=0.5)
    places = np.tile([4.5, 1.5], (worlds, 1))
    return voxels.simulation(
        [robot] * worlds if worlds > 1 else robot, obstacles=[terrain], positions=places, device=device
    )


def test_a_world_on_its_own_ground_is_the_one_alone(device: str) -> None:
    seeds = [5, 3, 8]
    several = simulated(device, 3)
    several.parameters.randomise(LAWS, seeds=seeds)
    several.step(60)
    several.reset([1])
    several.step(60)
    places = several.positions().reshape(3, -1, 3)
    assert len({row.tobytes() for row in places}) == 3
    for world, seed in enumerate(seeds):
        alone = simulated(device)
        alone.parameters.randomise(LAWS, seeds=[seed])
        alone.step(60)
        if world == 1:
            alone.reset([0])
        alone.step(60)
        np.testing.assert_array_equal(alone.positions(), places[world])


def test_ground_is_what_other_points_would_be(device: str) -> None:
    shapes = [(1.0, 0.0), (0.0, 0.0), (1.5, 0.0), (1.0, 1.25)]
    several = simulated(device, 4)
    factors, shifts = np.array(shapes).T
    several.parameters.set({"terrain": factors, "terrain_x": shifts})
    several.step(60)
    inputs = several.solver.inputs().reshape(4, -1)
    for world, (factor, shift) in enumerate(shapes):
        other = simulated(device, points=POINTS * [1.0, factor] + [shift, 0.0])
        other.step(60)
        np.testing.assert_allclose(several.positions().reshape(4, -1, 3)[world], other.positions(), atol=2e-3)
        np.testing.assert_allclose(inputs[world], other.solver.inputs(), atol=2e-3)
    assert len({row.tobytes() for row in inputs}) == 4


def test_cameras_and_pictures_show_the_ground_of_a_world(device: str) -> None:
    simulation = simulated(device, 3)
    simulation.parameters.set({"terrain": [1.0, 0.0, 2.0], "terrain_x": [0.0, 0.0, -0.5]})
    simulation.sensors.add("down", seeing.lidar([(0, 0, -1)], position=(4.25, 0.0, 9.0), far=20.0))
    np.testing.assert_allclose(simulation.sensors["down"][:, 0], 9.0 - np.array([0.2, 0.0, 1.2]), atol=1e-4)
    alone = simulated(device)
    alone.parameters["terrain"] = 2.0
    (drawn,) = [part for part in alone.snapshot().parts if part.name == "ground"]
    assert drawn.vertices[:, 2].max() == pytest.approx(1.6, abs=1e-5)


def test_level_ground_has_no_shape_to_change() -> None:
    simulation = voxels.simulation(voxels.worm(2), obstacles=[ground(0.5)], device="cpu")
    with pytest.raises(InvalidValue, match="parameter 'terrain' needs ground with heights"):
        simulation.parameters["terrain"] = 2.0
    with pytest.raises(InvalidValue, match="parameter 'terrain_y' needs ground with heights"):
        simulated("cpu").parameters["terrain_y"] = 2.0
