"""Reading a state of a robot on the host: what actuators do, where effectors are, and what keeps them from targets."""

from __future__ import annotations

import numpy as np

from annelid.fem.readout import Readout
from annelid.fem.robots.active import in_words
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.state import InverseState, RobotState


class RobotReadout(Readout):
    """Reads states of one robot.

    Args:
        robot: The robot.
    """

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot.model)
        self.robot = robot

    def efforts(self, state: RobotState) -> dict[str, float]:
        """Effort of each actuator by name [N or Pa]."""
        return dict(zip(self.robot.names, state.efforts.numpy().tolist(), strict=True))

    def strokes(self, state: RobotState) -> dict[str, float]:
        """Stroke of each actuator by name [m or m³]."""
        return dict(zip(self.robot.names, state.strokes.numpy().tolist(), strict=True))

    def places(self, state: RobotState) -> dict[str, np.ndarray]:
        """Where the points of each effector are [m], by name, shape [p, 3] each."""
        return self._by_name(self.robot.effectors.places(state.positions.numpy()))

    def targets(self, state: RobotState) -> dict[str, np.ndarray]:
        """Where the targets of effectors of one point are [m], by name."""
        return {name: rows[0] for name, rows in self._by_name(state.goals.numpy()).items() if len(rows) == 1}

    def distances(self, state: RobotState) -> dict[str, float]:
        """Distance of each effector from its target [m], by name."""
        rows = self.robot.effectors
        return rows.distances(rows.places(state.positions.numpy()), state.goals.numpy())

    def active_limits(self, state: RobotState) -> tuple[str, ...]:
        """Limits that keep effectors from their targets, in words."""
        return in_words(self.robot, state.active.numpy()) if isinstance(state, InverseState) else ()

    def _by_name(self, values: np.ndarray) -> dict[str, np.ndarray]:
        rows = self.robot.effectors
        return {each.name: values[rows.first[i] : rows.first[i + 1]].copy() for i, each in enumerate(rows.effectors)}
