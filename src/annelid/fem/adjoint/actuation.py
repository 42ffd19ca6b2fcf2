"""Directions in which actuators act where a solid is, for rates of their efforts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.replay import Replays, Stage
from annelid.fem.actuation.actuator import Drive
from annelid.fem.adjoint.stepping import Standing
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.fem.model import Model


class Directions:
    """Slopes of the strokes of actuators.

    Args:
        model: The model that they act on.
        drives: The actuators on its device.

    Attributes:
        columns: Slope of each stroke with the nodes, vec3d of shape [n, k].
    """

    def __init__(self, model: Model, drives: Sequence[Drive]) -> None:
        self.drives = tuple(drives)
        shape = model.node_count, len(self.drives)
        self.columns = wp.zeros(shape, dtype=wp.vec3d, device=model.device)
        self._strokes = wp.zeros(len(self.drives), dtype=wp.float64, device=model.device)
        self._aim = Replays(model.device)

    def aim(self, positions: wp.array[Any]) -> np.ndarray:
        """Find them at some positions [m], vec3d of shape [n]; the strokes, shape [k]."""
        for drive in self.drives:
            drive.measure(positions)
        self._aim.run(lambda: self._stages(positions), positions)
        return np.asarray(self._strokes.numpy())

    def _stages(self, positions: wp.array[Any]) -> list[Stage]:
        every = enumerate(self.drives)
        return [stage for k, drive in every for stage in drive.stages(positions, k, self._strokes, self.columns)]


def command_rates(rates: np.ndarray, efforts: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Rates of commands from those of efforts, shape [steps, channels] as all of these.

    An effort that does not get to its command in a step goes as far as it can from where it was before: so its rate is
    that of the effort before.
    """
    found, carried = np.zeros_like(rates), np.zeros(rates.shape[1])
    for step in reversed(range(len(rates))):
        rate, followed = rates[step] + carried, efforts[step] == commands[step]
        found[step], carried = np.where(followed, rate, 0.0), np.where(followed, 0.0, rate)
    return found


def of_commands(
    solver: Standing, rates: np.ndarray, efforts: np.ndarray, fractions: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Rates of the commands of each step, shape [steps, channels].

    Args:
        solver: What is commanded.
        rates: Rates of the efforts of each step, shape [steps, k].
        efforts: Efforts before the first step and after each, shape [steps + 1, k].
        fractions: Part of the loads that acts after each step, shape [steps].
        table: The commands, shape [steps, channels].
    """
    grown = rates.copy()
    for number, drive in enumerate(solver.drives):
        if drive.ramped:
            grown[:, number] *= fractions
    numbers = [channel.number for channel in solver.channels.every]
    return command_rates(grown[:, numbers], efforts[1:, numbers], table)


def require_differentiable(model: Model, drives: Sequence[Drive]) -> None:
    """Refuse what acts on a solid without an exact tangent, and solvers that are not exact."""
    if isinstance(model.linear, KeptFactor):
        raise refused("steps with a kept factor, which is only near the matrix", "give linear='direct'.")
    for drive in drives:
        reason = drive.refused_in_gradients()
        if reason is not None:
            raise refused(*reason)
    for each in model.extras:
        if not each.has_tangent and not isinstance(each, Drive):
            raise refused(f"an element set without a tangent, {type(each).__name__}", "give it one.")


def refused(what: str, remedy: str) -> InvalidValue:
    """What has no gradient, and what else can be done."""
    return InvalidValue(f"there is no gradient through {what} yet: {remedy}")
