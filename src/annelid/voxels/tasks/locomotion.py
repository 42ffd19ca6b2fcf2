"""Locomotion: travel as far as possible to the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.voxels.model import Model
from annelid.voxels.robot import Robot
from annelid.voxels.solver import Solver
from annelid.voxels.tasks.task import Task, without_lost
from annelid.voxels.terrain import Terrain


@dataclass(frozen=True)
class LocomotionOutcome:
    """How each robot travelled, arrays of shape [robots].

    Attributes:
        velocity: Displacement of the centre along x over the duration [m/s].
        relative_velocity: The same over the largest dimension of the robot at rest [1/s].
        mean_height: Mean height of the centre [m].
        control: Mean over calls of the sum of the squared control values of all voxels.
        energy: Work that changes of rest lengths put into the springs [J]; NaN unless the task asks for it.
    """

    velocity: np.ndarray
    relative_velocity: np.ndarray
    mean_height: np.ndarray
    control: np.ndarray
    energy: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Locomotion(Task[LocomotionOutcome]):
    """Locomotion.

    Attributes:
        terrain: The ground or its name.
        energy: Whether the work of actuation is measured, which costs time.
    """

    terrain: Terrain | str = "flat"
    energy: bool = False

    def model(self, robots: list[Robot], device: wp.Device) -> Model:
        """Each robot on ground of its own."""
        return Model([[robot] for robot in robots], self.world(self.terrain, work=self.energy), device)

    def judge(self, solver: Solver, state: Any, start: np.ndarray) -> LocomotionOutcome:
        """Measures of the run."""
        readout, robots = solver.readout, solver.model.robots
        velocity = (readout.centers(state) - start)[:, 0] / (self.steps * self.time_step)
        largest = np.array([max(robot.size) for robot in robots])
        efforts, owner = state.efforts.numpy(), solver.model.robot_of_voxel
        calls = -(-self.steps // solver.model.interval)
        squares, work = (np.bincount(owner, efforts[:, i], len(robots)) for i in (0, 1))
        return LocomotionOutcome(
            velocity=without_lost(velocity, solver),
            relative_velocity=without_lost(velocity / largest, solver),
            mean_height=without_lost(readout.mean_heights(state), solver),
            control=squares / calls,
            energy=without_lost(work, solver) if self.energy else np.full(len(robots), np.nan),
        )
