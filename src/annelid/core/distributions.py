"""Distributions from which parameters of worlds are drawn, on the device, at each beginning of an episode."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.kernels.parameters import CHOICE, LOG_UNIFORM, NORMAL, UNIFORM
from annelid.core.numbers import is_number

_CUT = 3.0  # deviations from its mean at which a normal distribution ends where no limits are given


class Distribution(ABC):
    """Something that values can be drawn from."""

    kind: int

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value that can be drawn."""

    @property
    @abstractmethod
    def shape(self) -> tuple[float, float, float, float]:
        """Four numbers from which the device draws; what they mean depends on the kind."""

    @property
    def choices(self) -> tuple[float, ...]:
        """Values to choose from, where it is a choice."""
        return ()


@dataclass(frozen=True)
class Uniform(Distribution):
    """Every value from `low` to `high` alike."""

    low: float
    high: float
    kind = UNIFORM

    def __post_init__(self) -> None:
        _require_range(self, self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        """The limits."""
        return float(self.low), float(self.high)

    @property
    def shape(self) -> tuple[float, float, float, float]:
        """The limits, twice."""
        return (*self.bounds, *self.bounds)


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Every factor between `low` and `high` alike: as often below their geometric mean as above it."""

    kind = LOG_UNIFORM

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0.0:
            raise InvalidValue(f"LogUniform needs positive limits, not {self.low!r}: use Uniform.")

    @property
    def shape(self) -> tuple[float, float, float, float]:
        """Logarithms of the limits, and the limits."""
        return math.log(self.low), math.log(self.high), *self.bounds


@dataclass(frozen=True)
class Normal(Distribution):
    """A normal distribution whose values are moved into limits; without limits they lie within three deviations."""

    mean: float
    deviation: float
    low: float | None = None
    high: float | None = None
    kind = NORMAL

    def __post_init__(self) -> None:
        _require_numbers(self, self.mean, self.deviation)
        if self.deviation < 0.0:
            raise InvalidValue(f"Normal needs a deviation of 0 or more, not {self.deviation!r}.")
        _require_range(self, *self.bounds)

    @property
    def bounds(self) -> tuple[float, float]:
        """The limits."""
        reach = _CUT * self.deviation
        low = self.mean - reach if self.low is None else self.low
        return low, self.mean + reach if self.high is None else self.high

    @property
    def shape(self) -> tuple[float, float, float, float]:
        """Mean, deviation and limits."""
        return float(self.mean), float(self.deviation), *self.bounds


@dataclass(frozen=True)
class Choice(Distribution):
    """One of some values, each as likely as any other."""

    values: Sequence[float]
    kind = CHOICE

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Sequence | np.ndarray) or not len(self.values):
            raise InvalidValue(f"Choice needs a sequence of numbers, not {self.values!r}.")
        _require_numbers(self, *self.values)
        object.__setattr__(self, "values", tuple(map(float, self.values)))

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest of the values."""
        return min(self.values), max(self.values)

    @property
    def shape(self) -> tuple[float, float, float, float]:
        """The bounds, twice."""
        return (*self.bounds, *self.bounds)

    @property
    def choices(self) -> tuple[float, ...]:
        """The values."""
        return tuple(self.values)


@dataclass(frozen=True)
class Curriculum(Distribution):
    """A distribution that goes from one to another of its kind while a world draws so many times.

    Attributes:
        start: What the first value is drawn from.
        end: What values are drawn from after `draws`.
        draws: Draws of a world until then; it draws once an episode.
    """

    start: Distribution
    end: Distribution
    draws: int
    kind: int = field(init=False, default=UNIFORM)

    def __post_init__(self) -> None:
        both = (self.start, self.end)
        if not all(isinstance(one, Distribution) for one in both) or any(isinstance(one, Curriculum) for one in both):
            raise InvalidValue(f"Curriculum goes from a distribution to another, not from {both[0]!r} to {both[1]!r}.")
        if type(self.start) is not type(self.end) or isinstance(self.start, Choice):
            raise InvalidValue(
                "Curriculum goes between two distributions of one kind, Uniform, LogUniform or Normal, not from "
                f"{type(self.start).__name__} to {type(self.end).__name__}."
            )
        if not isinstance(self.draws, int) or isinstance(self.draws, bool) or self.draws < 1:
            raise InvalidValue(f"Curriculum needs a whole number of draws, 1 or more, not {self.draws!r}.")
        object.__setattr__(self, "kind", self.start.kind)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value of both."""
        return min(self.start.bounds[0], self.end.bounds[0]), max(self.start.bounds[1], self.end.bounds[1])

    @property
    def shape(self) -> tuple[float, float, float, float]:
        """That of the start."""
        return self.start.shape


def as_distribution(name: str, given: Any) -> Distribution:
    """A distribution as it is, a number as one that always gives this number."""
    if isinstance(given, Distribution):
        return given
    if is_number(given):
        return Choice((float(given),))
    raise InvalidValue(f"{name!r} must be drawn from Uniform, LogUniform, Normal, Choice or Curriculum, not {given!r}.")


def _require_numbers(owner: Distribution, *values: Any) -> None:
    for value in values:
        if not is_number(value):
            raise InvalidValue(f"{type(owner).__name__} needs finite numbers, not {value!r}.")


def _require_range(owner: Distribution, low: float, high: float) -> None:
    _require_numbers(owner, low, high)
    if low > high:
        raise InvalidValue(f"{type(owner).__name__} needs low ≤ high, not {low!r} and {high!r}.")
