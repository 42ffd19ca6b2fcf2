"""Locomotion: travel as far as possible to the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.voxels.kernels.totals import CENTER_X, HEIGHT, SQUARES, WORK
from annelid.voxels.model import Model
from annelid.voxels.robot import Robot
from annelid.voxels.solver import Solver
from annelid.voxels.tasks.task import Task
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
    """How far robots walk, and how.

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
        readout = solver.readout
        return self.outcome(readout.totals(state), start[:, 0], readout.largest_dimensions, solver.lost())

    def outcome(
        self, totals: np.ndarray, start: np.ndarray, largest: np.ndarray, lost: np.ndarray
    ) -> LocomotionOutcome:
        """Measures of robots.

        Args:
            totals: Sums at the end, in the columns of `kernels.totals`, shape [robots, 5].
            start: Place of their centres along x at the beginning [m].
            largest: Their largest dimensions [m].
            lost: Which of them diverged; they get NaN.
        """
        velocity = np.where(lost, np.nan, (totals[:, CENTER_X] - start) / (self.steps * self.dt))
        calls = -(-self.steps // (self.control_interval + 1))
        return LocomotionOutcome(
            velocity=velocity,
            relative_velocity=velocity / largest,
            mean_height=np.where(lost, np.nan, totals[:, HEIGHT] / self.steps),
            control=totals[:, SQUARES] / calls,
            energy=np.where(lost, np.nan, totals[:, WORK]) if self.energy else np.full(len(largest), np.nan),
        )
