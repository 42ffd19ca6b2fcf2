"""Given efforts within limits: an actuator goes no farther, and no faster, than its limits of effort and stroke let it.

Where the equilibrium under the efforts that were asked for has a stroke beyond its limits, the actuator stops there,
and exerts what it takes: a pump that fills a chamber too slowly gives less pressure. Where a stroke that is held takes
an effort beyond its limits, the actuator gives way and exerts that limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.fem.actuation.limits import Limits
from annelid.fem.newton import NoEquilibrium
from annelid.fem.robots.robot import Robot

_CLOSE = 1e-6  # of a limit: what equilibria leave


class Within:
    """Limits in one step of a robot.

    Args:
        robot: The robot, before the step.
        goal: Efforts that are asked for; those of actuators that are held do not matter, shape [k].
        dt: Time of the step [s]; None knows no rates.

    Attributes:
        goal: The efforts that limits allow, shape [k].
    """

    def __init__(self, robot: Robot, goal: np.ndarray, dt: float | None) -> None:
        self._robot, self._limits = robot, list(robot.limits)
        before = robot.aim().copy() if any(stroke.bounded for _, stroke in robot.limits) else np.zeros(len(goal))
        self._efforts = [_window(e, v, dt) for (e, _), v in zip(robot.limits, robot.efforts, strict=True)]
        self._strokes = [_window(s, v, dt) for (_, s), v in zip(robot.limits, before, strict=True)]
        self._held = np.array([stroke.held for _, stroke in robot.limits], bool)
        self._laws = np.array([drive.actuator.law(0.0) is not None for drive in robot.drives], bool)
        self._stopped = np.zeros(len(goal))  # 1 where a limit above stopped it, -1 where one below did
        lows, highs = np.array(self._efforts).reshape(-1, 2).T
        self.goal = np.where(self._held | self._laws, goal, np.clip(goal, lows, highs))
        self._require_open()

    @property
    def idle(self) -> bool:
        """Whether no limit can stop anything on the way."""
        held = [math.isinf(high - low) for low, high in np.array(self._efforts)[self._held & ~self._laws]]
        free = [math.isinf(high) and math.isinf(low) for low, high in np.array(self._strokes)[~self._held]]
        return all(held) and all(free)

    def follow(self, go: Callable[[np.ndarray], int], back: Callable[[], None]) -> int:
        """Go to equilibria until one keeps all limits; the number of parts that the last one took.

        Args:
            go: Goes to the equilibrium under efforts and with the strokes that are held in the limits of the robot.
            back: Goes back to where the robot stood.
        """
        try:
            for _ in range(2 * len(self.goal) + 2):
                failed: NoEquilibrium | None = None
                try:
                    parts = go(self.goal)
                except NoEquilibrium as error:
                    failed = error
                if not self._switched():
                    if failed is not None:
                        raise failed
                    return parts
                back()
            raise NoEquilibrium(
                "the robot finds no equilibrium within the limits of its actuators: they take turns in standing in the "
                "way; widen limits of stroke or effort.",
                fraction=0.0,
                residual=float("nan"),
            )
        finally:
            self._robot.limits[:] = self._limits

    def _switched(self) -> bool:
        """Stop what has gone beyond a limit, let go what a limit need not stop any more; whether there was any."""
        strokes, efforts, changed = self._robot.aim(), self._robot.efforts, False
        for number in np.flatnonzero(~self._laws).tolist():
            held = self._limits[number][1].held
            window = self._efforts[number] if held else self._strokes[number]
            value, other = (efforts, strokes) if held else (strokes, efforts)
            goal = self._limits[number][1].low if held else self.goal[number]
            side = _beyond(float(value[number]), window)
            if self._stopped[number] == 0.0 and side:
                self._stop(number, side, window[side > 0], by_stroke=not held)
                changed = True
            elif self._stopped[number] * (other[number] - goal) > _CLOSE * abs(goal):
                self._stopped[number], changed = 0.0, True
                self._robot.limits[number] = self._limits[number]
        return changed

    def _stop(self, number: int, side: int, at: float, *, by_stroke: bool) -> None:
        """Hold an actuator at a stroke, or have it exert an effort though its stroke was held."""
        effort, _ = self._limits[number]
        self._stopped[number] = side
        if by_stroke:
            self._robot.limits[number] = (effort, Limits(at, at))
        else:
            self._robot.limits[number] = (effort, Limits())
            self.goal[number] = at

    def _require_open(self) -> None:
        """Refuse limits of what the gas law decides."""
        for number in np.flatnonzero(self._laws):
            actuator, (effort, stroke) = self._robot.drives[number].actuator, self._limits[number]
            if effort.bounded or stroke.bounded:
                raise InvalidValue(
                    f"{actuator.name} is closed: where efforts are given nothing can keep its limits of "
                    f"{actuator.effort_name} and {actuator.stroke_name}: leave them out."
                )


def _window(limits: Limits, before: float, dt: float | None) -> tuple[float, float]:
    """Where a quantity may be after a step."""
    if dt is None or math.isinf(limits.rate):
        return limits.low, limits.high
    low, high = limits.change(before, dt)
    return before + low, before + high


def _beyond(value: float, window: tuple[float, float]) -> int:
    """1 above a window, -1 below it, else 0."""
    low, high = window
    close = _CLOSE * max((abs(end) for end in window if math.isfinite(end)), default=0.0)
    return int(value > high + close) - int(value < low - close)
