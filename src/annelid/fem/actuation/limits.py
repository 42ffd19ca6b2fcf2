"""Limits of an actuator: on what it exerts, on how far it goes, and on how fast either may change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind

Span = float | tuple[float, float]
"""Two limits, or one number at which something is held."""
_LOOSE = 1e-3  # of the larger of two limits


@dataclass(frozen=True)
class Limits:
    """Where a quantity may be, and how fast it may change.

    Attributes:
        low: Lowest value.
        high: Highest value.
        rate: Largest change in a second.
    """

    low: float = -math.inf
    high: float = math.inf
    rate: float = math.inf

    def __post_init__(self) -> None:
        _require_usable("limits", self.low, self.high, self.rate)

    @classmethod
    def of(cls, name: str, span: Span, rate: float = math.inf) -> Limits:
        """Checked limits.

        Args:
            name: What they limit, for messages: "pressure of left".
            span: Lowest and highest value, or the one value at which it is held.
            rate: Largest change in a second.
        """
        try:
            low, high = (span, span) if isinstance(span, float | Real) else span
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"{name} = {span!r} cannot be used; give two numbers, or one to hold it at.") from None
        _require_usable(name, low, high, rate)
        return cls(float(low), float(high), float(rate))

    @property
    def held(self) -> bool:
        """Whether there is one value only."""
        return self.low == self.high

    @property
    def bounded(self) -> bool:
        """Whether there is any limit."""
        return math.isfinite(self.low) or math.isfinite(self.high) or math.isfinite(self.rate)

    def allows(self, value: float) -> bool:
        """Whether a value is within them, or beyond by less than what linearised steps leave."""
        ends = [abs(end) for end in (self.low, self.high) if math.isfinite(end)]
        slack = _LOOSE * max(ends, default=0.0)
        return self.low - slack <= value <= self.high + slack

    def change(self, value: float, dt: float, since: float | None = None) -> tuple[float, float]:
        """Smallest and largest change from a value within a time `dt` [s].

        A value outside the limits, because they were moved, comes back as fast as the rate allows.

        Args:
            value: The value.
            dt: The time [s].
            since: What it was when that time began; the value itself unless told.
        """
        most, done = self.rate * dt, 0.0 if since is None else value - since
        low, high = self.low - value, self.high - value
        return min(max(low, -most - done), most - done), max(min(high, most - done), -most - done)


def relimited(
    name: str, before: tuple[Limits, Limits], effort: Limits | None, stroke: Limits | None
) -> tuple[Limits, Limits]:
    """Limits of effort and stroke of an actuator, those that are given in place of those before."""
    for what, given in (("effort", effort), ("stroke", stroke)):
        if given is not None:
            require_kind(f"the limits of the {what} of {name}", given, Limits, "a fem.Limits(low, high)")
    return effort or before[0], stroke or before[1]


def _require_usable(name: str, low: float, high: float, rate: float) -> None:
    """Refuse limits that are no numbers or exclude every value, and a rate that lets nothing change."""
    if not all(map(_is_end, (low, high))) or (low == high and math.isinf(low)):
        raise InvalidValue(f"{name} = {(low, high)!r} cannot be used; give two numbers, the lower first.")
    if low > high:
        raise InvalidValue(f"{name}: the limits {low:g} and {high:g} exclude every value; give the lower first.")
    if not (_is_end(rate) and rate > 0.0):
        raise InvalidValue(f"{name}: a rate of {rate!r} a second lets it never change; give a number above 0.")


def _is_end(value: object) -> bool:
    """Whether a value is a number, perhaps an infinite one; truth values are none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number beyond all others
        return False
