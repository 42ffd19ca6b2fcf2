"""What acts at regular times of a run: observers at the steps nearest to them, pacers by the number of a step alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number

Act = Callable[[Any, int], None]
"""Called with a state and the number of steps done."""

_ALIKE = 1e-9  # part of an interval by which a multiple of the time step is off because of rounding
_NOTICED = 0.01  # part of an interval that rounding may change without a word


class IntervalRounded(UserWarning):
    """An interval that is not a multiple of the time step was rounded to one."""


def interval_in_steps(every: float, dt: float) -> float:
    """Some time [s] in steps, a whole number where it is a multiple of the time step; less than a step is refused."""
    steps = float(every) / dt if is_number(every) else 0.0
    whole = round(steps)
    if abs(steps - whole) <= _ALIKE * steps:
        steps = float(whole)
    if steps < 1.0:
        raise InvalidValue(f"every must be at least one time step of {dt:g} s, not {every}.")
    return steps


@dataclass
class Rhythm:
    """Steps nearest to the multiples of an interval after a beginning: what one is off does not add up.

    Attributes:
        interval: Steps from one to the next, 1 or more; not always whole.
        begin: Step from which they are counted.
        count: Number of the one that is due next.
    """

    interval: float
    begin: int
    count: int = 1

    @property
    def due(self) -> int:
        """The step that is due next."""
        return self.begin + round(self.count * self.interval)

    def restart(self, step: int) -> None:
        """Count from a step on."""
        self.begin, self.count = step, 1


@dataclass(frozen=True)
class Pacer:
    """Something that acts before steps whose number is a multiple of `every`: repeated steps come out the same."""

    act: Act
    every: int


def whole_steps(every: float, dt: float) -> int:
    """Some time [s] in whole steps; a warning tells where that is noticeably another time."""
    steps = interval_in_steps(every, dt)
    whole = round(steps)
    if abs(whole - steps) > _NOTICED * steps:
        warnings.warn(
            f"every = {every:g} s is not a multiple of the time step of {dt:g} s: {whole * dt:g} s is used instead.",
            IntervalRounded,
            stacklevel=4,
        )
    return whole


def paced(pacers: Sequence[Pacer], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of steps between `begin` and `end` in which nothing acts but at their beginning."""
    step = begin
    while step < end:
        until = min([end, *(step - step % pacer.every + pacer.every for pacer in pacers)])
        yield step, until
        step = until
