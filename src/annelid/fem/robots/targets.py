"""Channels that command the targets of effectors: one for each coordinate of a point that counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import Control, resting_commands
from annelid.core.state import overwrite
from annelid.fem.actuation.channels import commanded_values
from annelid.fem.robots.effectors import Point
from annelid.fem.robots.robot import Robot


class TargetChannels:
    """The channels of the targets of a robot, which stands where they begin.

    Targets of several points, and orientations, have none: they are put somewhere by hand.

    Args:
        robot: The robot.
    """

    def __init__(self, robot: Robot) -> None:
        rows, places, reach = robot.effectors, robot.places(), robot.size
        found = [
            (int(rows.first[i]), "xyz".index(axis), f"{effector.name}.{axis}")
            for i, effector in enumerate(rows.effectors)
            if isinstance(effector, Point)
            for axis in "xyz"
            if axis in effector.axes
        ]
        self._rows, self._axes = np.array([f[0] for f in found], int), np.array([f[1] for f in found], int)
        self.controls = tuple(
            Control(name, at - reach, at + reach, at, "m", f"where {name} is to be")
            for (row, axis, name) in found
            for at in (float(places[row, axis]),)
        )

    def resting(self, device: wp.Device) -> wp.array[Any]:
        """Commands at the beginning."""
        return resting_commands(self.controls, 1, device)

    def lead(self, goals: np.ndarray, commands: wp.array[Any], step: int) -> None:
        """Put goals [m], shape [p, 3], where they are commanded to be after so many steps."""
        goals[self._rows, self._axes] = commanded_values(commands, step)

    def follow(self, goals: np.ndarray, commands: wp.array[Any]) -> None:
        """Have commands hold goals that a script or somebody's hand has put somewhere."""
        overwrite(commands, self._holding(goals))

    def taken(self, goals: np.ndarray, commands: wp.array[Any]) -> bool:
        """Whether there are other commands than to hold these goals."""
        return not np.array_equal(commands.numpy(), self._holding(goals))

    def _holding(self, goals: np.ndarray) -> np.ndarray:
        at = goals[self._rows, self._axes]
        return np.column_stack([at, at, np.zeros_like(at), np.zeros_like(at)])
