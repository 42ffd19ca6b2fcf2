"""Carrying: travel with a box on the back, without dropping it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.voxels.model import Model
from annelid.voxels.objects import Box
from annelid.voxels.placement import GAP, place
from annelid.voxels.robot import Robot
from annelid.voxels.solver import Solver
from annelid.voxels.tasks.task import Task, without_lost
from annelid.voxels.terrain import Terrain


@dataclass(frozen=True)
class CarryingOutcome:
    """How each robot carried its box, arrays of shape [robots].

    Attributes:
        velocity: Displacement of the box along x over the duration [m/s].
        carried: Share of the time during which the box did not touch the ground.
        drop: How far the box is below its place at the beginning [m].
    """

    velocity: np.ndarray
    carried: np.ndarray
    drop: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Carrying(Task[CarryingOutcome]):
    """Carrying a box.

    Attributes:
        terrain: The ground or its name.
        box: Width and height of the box [m].
        box_mass: Its mass [kg].
        box_friction: Its Coulomb friction.
    """

    seconds: float = 30.0
    terrain: Terrain | str = "flat"
    box: tuple[float, float] = (3.0, 1.5)
    box_mass: float = 1.0
    box_friction: float = 0.2

    def model(self, robots: list[Robot], device: wp.Device) -> Model:
        """Each robot standing on ground of its own with a box on its back."""
        item = Box(size=self.box, mass=self.box_mass, friction=self.box_friction)
        worlds, world = [[robot] for robot in robots], self.world(self.terrain, boxes=(item,), watch=True)
        corners = place(worlds, world, None) - [0.0, GAP]
        above = corners + np.array([_back(robot) for robot in robots]) + [0.0, 0.5 * self.box[1]]
        feet = corners + np.array([robot.empty_margin for robot in robots])
        return Model(worlds, world, device, positions=feet, box_positions=above[:, None])

    def judge(self, solver: Solver, state: Any, start: np.ndarray) -> CarryingOutcome:
        """Measures of the run."""
        begin, _ = solver.model.initial_motion()
        first = begin[solver.model.first_body[1:] - 1, :2]
        moved = solver.readout.box_positions(state)[:, 0, :2] - first
        return CarryingOutcome(
            velocity=without_lost(moved[:, 0] / (self.steps * self.dt), solver),
            carried=without_lost(1.0 - state.peaks.numpy()[:, 3] / self.steps, solver),
            drop=without_lost(-moved[:, 1], solver),
        )


def _back(robot: Robot) -> np.ndarray:
    """Middle of the top of a robot about the corner of its grid [m]: over the column nearest to its middle."""
    cells = robot.cells
    middle = 0.5 * (cells[:, 0].min() + cells[:, 0].max() + 1)
    column = cells[np.argmin(np.abs(cells[:, 0] + 0.5 - middle)), 0]
    near = cells[np.abs(cells[:, 0] - column) <= 1]
    return np.array([middle, near[:, 1].max() + 1.0]) * robot.side_length
