"""Jumping: lift the centre as high as possible."""

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

_GROUND = Terrain(np.array([[-1000.0, 0.0], [1000.0, 0.0]]))


@dataclass(frozen=True)
class JumpingOutcome:
    """How each robot jumped, arrays of shape [robots].

    Attributes:
        height: Highest place of the centre above where it stood, undeformed, at the beginning [m].
        air_time: Share of the time during which nothing of it touched the ground.
    """

    height: np.ndarray
    air_time: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Jumping(Task[JumpingOutcome]):
    """Jumping from level ground, on which the robot stands at the beginning."""

    seconds: float = 10.0

    def model(self, robots: list[Robot], device: wp.Device) -> Model:
        """Each robot standing on level ground."""
        feet = np.zeros((len(robots), 2))
        return Model([[robot] for robot in robots], self.world(_GROUND, watch=True), device, positions=feet)

    def judge(self, solver: Solver, state: Any, start: np.ndarray) -> JumpingOutcome:
        """Measures of the run."""
        peaks = state.peaks.numpy()
        return JumpingOutcome(
            height=without_lost(np.maximum(peaks[:, 0] - start[:, 1], 0.0), solver),
            air_time=without_lost(1.0 - peaks[:, 2] / self.steps, solver),
        )
