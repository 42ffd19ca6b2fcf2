"""Reading a state of a robot on the host: what actuators do, where effectors are, and what keeps them from targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.fem.readout import Readout
from annelid.fem.robots.active import in_words
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.state import InverseState, RobotState


class RobotReadout(Readout):
    """Reads states of one robot; of several worlds the one that is asked for, by default the first.

    Args:
        robot: The robot.
    """

    def __init__(self, robot: Robot) -> None:
        touched = robot.touched
        super().__init__(robot.model, *(() if touched is None else (touched.outer, touched.surface)))
        self.robot = robot

    def efforts(self, state: RobotState, world: int = 0) -> dict[str, float]:
        """Effort of each actuator by name [N or Pa]."""
        return dict(zip(self.robot.names, self._of(state, state.efforts, world).tolist(), strict=True))

    def strokes(self, state: RobotState, world: int = 0) -> dict[str, float]:
        """Stroke of each actuator by name [m or m³]."""
        return dict(zip(self.robot.names, self._of(state, state.strokes, world).tolist(), strict=True))

    def places(self, state: RobotState, world: int = 0) -> dict[str, np.ndarray]:
        """Where the points of each effector are [m], by name, shape [p, 3] each."""
        return self._by_name(self._places(state, world))

    def targets(self, state: RobotState, world: int = 0) -> dict[str, np.ndarray]:
        """Where the targets of effectors of one point are [m], by name."""
        goals = self._by_name(self._of(state, state.goals, world))
        return {name: rows[0] for name, rows in goals.items() if len(rows) == 1}

    def distances(self, state: RobotState, world: int = 0) -> dict[str, float]:
        """Distance of each effector from its target [m], by name."""
        return self.robot.effectors.distances(self._places(state, world), self._of(state, state.goals, world))

    def active_limits(self, state: RobotState) -> tuple[str, ...]:
        """Limits that keep effectors from their targets, in words."""
        return in_words(self.robot, state.active.numpy()) if isinstance(state, InverseState) else ()

    def _places(self, state: RobotState, world: int) -> np.ndarray:
        return self.robot.effectors.places(self._of(state, state.positions, world))

    def _of(self, state: RobotState, array: wp.array[Any], world: int) -> np.ndarray:
        """Rows of one of several worlds, which come world after world."""
        worlds = len(state.positions) // self.model.node_count
        if not 0 <= world < worlds:
            there = "one world, number 0" if worlds == 1 else f"the worlds 0 to {worlds - 1}"
            raise InvalidValue(f"this state has {there}, not {world!r}.")
        each = len(array) // worlds
        return np.asarray(array.numpy()[world * each : (world + 1) * each])

    def _by_name(self, values: np.ndarray) -> dict[str, np.ndarray]:
        rows = self.robot.effectors
        return {each.name: values[rows.first[i] : rows.first[i + 1]].copy() for i, each in enumerate(rows.effectors)}
