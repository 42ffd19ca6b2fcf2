"""Goals of a task: numbers that are drawn anew for each episode and are observed together with the sensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.sensors import Reading, Sensor, Sensors
from annelid.core.solver import Solver
from annelid.envs.kernels.beginnings import draw_goals
from annelid.envs.kernels.task import copy_columns

MOST_GOALS = 1000

Limits = Mapping[str, tuple[Any, Any]]
"""Least and largest value of each goal: two numbers, or two sequences of as many numbers as the goal has."""


class Goals:
    """The goals of all worlds.

    Args:
        limits: Limits by name.
        worlds: Number of worlds.
        device: Where they are kept.

    Attributes:
        values: Goals of each world, one after the other, shape [worlds, size].
    """

    def __init__(self, limits: Limits, worlds: int, device: wp.Device) -> None:
        spans = {name: _span(name, given) for name, given in limits.items()}
        self._sizes = {name: span.shape[1] for name, span in spans.items()}
        both = np.concatenate([np.zeros((2, 0)), *spans.values()], axis=1)
        self._lows, self._highs = (wp.array(row, dtype=wp.float32, device=device) for row in both)
        self.values = wp.zeros((worlds, both.shape[1]), dtype=wp.float32, device=device)

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def join(self, sensors: Sensors) -> None:
        """Add each goal as a sensor of its name."""
        begin = 0
        for name, size in self._sizes.items():
            sensors.add(name, GoalSensor(self.values, begin, size))
            begin += size

    def draw(self, mask: wp.array[Any], seeds: wp.array[Any], episodes: wp.array[Any]) -> None:
        """Draw those of masked worlds anew."""
        if len(self):
            inputs = [mask, seeds, episodes, self._lows, self._highs]
            wp.launch(draw_goals, len(mask), inputs, [self.values], device=self.values.device)

    def of(self, world: int) -> dict[str, np.ndarray]:
        """Goals of one world by name, on the host."""
        if not len(self):
            return {}
        ends = np.cumsum(list(self._sizes.values()))
        rows = np.split(self.values.numpy()[world].astype(float), ends[:-1])
        return dict(zip(self._sizes, rows, strict=True))


@dataclass(frozen=True, eq=False)
class GoalSensor(Sensor):
    """Reads a goal.

    Attributes:
        values: Goals of all worlds, shape [worlds, size].
        begin: Its first column.
        count: Its columns.
    """

    values: wp.array[Any]
    begin: int
    count: int

    def attach(self, solver: Solver) -> Reading:
        """The sensor of any solver with as many worlds."""

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            shape = (solver.worlds, self.count)
            wp.launch(copy_columns, shape, [self.values, self.begin, first], [out], device=solver.device)

        return Reading(read, (self.count,))


def _span(name: str, given: Any) -> np.ndarray:
    """Limits of a goal, shape [2, size]."""
    try:
        low, high = (np.atleast_1d(np.asarray(side, float)) for side in given)
    except (TypeError, ValueError, OverflowError):
        low, high = np.zeros(0), np.zeros(0)
    fits = low.ndim == 1 and low.shape == high.shape and 0 < len(low) <= MOST_GOALS
    if not fits or not np.isfinite([low, high]).all() or (low > high).any():
        raise InvalidValue(
            f"goal {name!r} needs its least and its largest value, such as (0.1, 0.3) or ((0, 0), (1, 2)), not "
            f"{given!r:.80}."
        )
    return np.stack([low, high])
