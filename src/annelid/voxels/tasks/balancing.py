"""Balancing: stay on a plank that swings about its middle, and keep it level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.voxels.model import Model
from annelid.voxels.objects import Box
from annelid.voxels.robot import Robot
from annelid.voxels.solver import Solver
from annelid.voxels.tasks.task import Task, without_lost
from annelid.voxels.terrain import Terrain

_GROUND = Terrain(np.array([[-1000.0, 0.0], [1000.0, 0.0]]))


@dataclass(frozen=True)
class BalancingOutcome:
    """How each robot balanced, arrays of shape [robots].

    Attributes:
        mean_angle: Mean size of the angle of the plank [rad].
        final_angle: Angle of the plank at the end [rad].
        off_ground: Share of the time during which the robot did not touch the ground.
    """

    mean_angle: np.ndarray
    final_angle: np.ndarray
    off_ground: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Balancing(Task[BalancingOutcome]):
    """Balancing on a swing.

    Attributes:
        plank: Length and thickness of the plank [m].
        plank_mass: Its mass [kg].
        largest_angle: Angle at which an end of the plank meets the ground [rad].
        offset: Place of the robot's middle from that of the plank [m].
        spin: Angular velocity of the plank at the beginning [rad/s].
    """

    seconds: float = 30.0
    plank: tuple[float, float] = (30.0, 0.5)
    plank_mass: float = 5.0
    largest_angle: float = math.radians(20.0)
    offset: float = 0.0
    spin: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.largest_angle) and 0.0 < self.largest_angle < 0.5 * math.pi):
            raise InvalidValue(
                f"the largest angle of the swing must be between 0 and 90°, not {self.largest_angle!r:.60} rad."
            )

    @property
    def pivot_height(self) -> float:
        """Height of the pivot, from which the lower corner of the tilted plank just reaches the ground [m]."""
        half, thick = 0.5 * self.plank[0], 0.5 * self.plank[1]
        return half * math.sin(self.largest_angle) + thick * math.cos(self.largest_angle)

    def model(self, robots: list[Robot], device: wp.Device) -> Model:
        """Each robot standing on a plank of its own."""
        plank = Box(
            size=self.plank, position=(0.0, self.pivot_height), mass=self.plank_mass, held="pivot", spin=self.spin
        )
        top = self.pivot_height + 0.5 * self.plank[1]
        feet = np.array([[self.offset - 0.5 * robot.size[0], top] for robot in robots])
        world = self.world(_GROUND, boxes=(plank,), watch=True)
        return Model([[robot] for robot in robots], world, device, positions=feet)

    def judge(self, solver: Solver, state: Any, start: np.ndarray) -> BalancingOutcome:
        """Measures of the run."""
        peaks = state.peaks.numpy()
        return BalancingOutcome(
            mean_angle=without_lost(peaks[:, 1] / self.steps, solver),
            final_angle=without_lost(solver.readout.box_positions(state)[:, 0, 2], solver),
            off_ground=without_lost(1.0 - peaks[:, 2] / self.steps, solver),
        )
