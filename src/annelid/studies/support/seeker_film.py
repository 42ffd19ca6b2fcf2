"""A film of a body that a network steers to a light, of the very states of the walk that is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from annelid import voxels3d
from annelid.core.snapshot import Look, Snapshot
from annelid.shapes import Plane, Sphere
from annelid.studies.support.light_seeking import Task
from annelid.view.picture import Painter
from annelid.view.video import video
from annelid.voxels3d.codesign.batch import MUSCLE, SIDE, STEP

_FPS = 20.0


def seeker_film(task: Task, weights: np.ndarray, grid: np.ndarray, light: np.ndarray, path: Path) -> Path:
    """Write a film, as fast as it is.

    Args:
        task: How it walks.
        weights: Weights of the network.
        grid: Cells of the body that are filled, shape [x, y, z].
        light: Place of the light [m], shape [2].
        path: The MP4 file.
    """
    painter = Painter(size=(640, 400), follow=False, samples=2, name=None, device=task.device)
    video(moments(task, weights, grid, light), path, fps=_FPS, painter=painter)
    return path


def moments(task: Task, weights: np.ndarray, grid: np.ndarray, light: np.ndarray) -> Iterator[Snapshot]:
    """The pictures of the film; the light is a ball."""
    ground = task.ground
    walk = task.seekers(ground, grid[None], light[None], keep=True)
    walk.run(task.network(weights, ground))
    robot = voxels3d.Robot(np.where(grid, 0, -1), (MUSCLE,), SIDE)
    shown = voxels3d.simulation(
        robot, dt=STEP, precision=task.precision, positions=walk.places[0] - robot.centers[0], device=task.device,
        obstacles=[Plane(), Sphere(0.05, center=(float(light[0]), float(light[1]), 0.05))],
    )  # fmt: skip
    for row in range(0, task.intervals * task.every + 1, max(1, round(1.0 / (_FPS * STEP)))):
        displacements, rotations = walk.state(row)
        shown.state.displacements.assign(displacements)
        shown.state.rotations.assign(rotations)
        yield shown.snapshot(Look(host=False))
