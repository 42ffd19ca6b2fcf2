"""Obstacles thinner than a voxel sinks in: no voxel leaves them on another side than it came from."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import voxels3d
from annelid.shapes import Box, Revolved, Rigid, Surface, turned_about


def fallen(
    obstacle: Rigid, velocity: tuple[float, float, float], low: float, *, voxels: int = 2, modulus: float = 1e5
) -> np.ndarray:
    """Where the voxels of a cube of 4 cm are that flies off with a velocity, its lowest face at a height."""
    side = 0.04 / voxels
    robot = voxels3d.Robot(np.zeros((voxels,) * 3, int), [voxels3d.Voxel(youngs_modulus=modulus)], side_length=side)
    place = (-0.02, -0.02, low)
    simulation = voxels3d.simulation(robot, obstacles=[obstacle], positions=place, device="cpu", threads=1)
    simulation.state.velocities.assign(np.tile(velocity, (robot.voxel_count, 1)))
    simulation.run(0.03)
    return np.asarray(simulation.positions())


@pytest.mark.parametrize("kind", ["box", "mesh", "turned mesh"])
@pytest.mark.parametrize(("thickness", "speed"), [(0.0005, 0.5), (0.0005, 10.0), (0.015, 8.4), (0.03, 10.0)])
@pytest.mark.parametrize(("voxels", "modulus"), [(1, 1e7), (2, 1e5), (3, 1e4)])
def test_a_robot_does_not_pass_a_plate(kind: str, thickness: float, speed: float, voxels: int, modulus: float) -> None:
    box = Box((0.3, 0.3, thickness))
    plate = Rigid(box if kind == "box" else box.surface(), Surface(friction=0.5))
    if kind == "turned mesh":
        plate = Rigid(Box((0.3, thickness, 0.3)).surface(), rotation=turned_about("x", 0.5 * np.pi))
    places = fallen(plate, (0.0, 0.0, -speed), 0.5 * thickness + 0.002, voxels=voxels, modulus=modulus)
    assert places[:, 2].min() > -0.3 * thickness


def test_a_bucket_with_thin_walls_holds_a_robot() -> None:
    bucket = Rigid(Revolved(((0, 0), (0.1, 0), (0.1, 0.2), (0.098, 0.2), (0.098, 0.002), (0, 0.002))))
    places = fallen(bucket, (6.0, 1.0, -4.0), 0.02)
    assert np.hypot(places[:, 0], places[:, 1]).max() < 0.1
    assert places[:, 2].min() > 0.0


def test_a_plate_that_is_driven_carries_a_robot_along() -> None:
    def rise(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.outer(times, [0.0, 0.0, 10.0]), np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))

    plate = Rigid(Box((0.3, 0.3, 0.002)), motion=rise)
    assert fallen(plate, (0.0, 0.0, 0.0), 0.003)[:, 2].min() > 10.0 * 0.03
