"""Limits of an actuator: on what it exerts, on how far it goes, and on how fast either may change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from annelid.core.errors import InvalidValue

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

    @classmethod
    def of(cls, name: str, span: Span, rate: float = math.inf) -> Limits:
        """Checked limits.

        Args:
            name: What they limit, for messages: "pressure of left".
            span: Lowest and highest value, or the one value at which it is held.
            rate: Largest change in a second.
        """
        try:
            low, high = (span, span) if isinstance(span, (int, float)) else span
            low, high, rate = float(low), float(high), float(rate)
        except (TypeError, ValueError):
            raise InvalidValue(f"{name} = {span!r} cannot be used; give two numbers, or one to hold it at.") from None
        if math.isnan(low) or math.isnan(high) or (low == high and math.isinf(low)):
            raise InvalidValue(f"{name} = {span!r} cannot be used; give two numbers, the lower first.")
        if low > high:
            raise InvalidValue(f"{name}: the limits {low:g} and {high:g} exclude every value; give the lower first.")
        if not rate > 0.0:
            raise InvalidValue(f"{name}: a rate of {rate:g} a second lets it never change; give a number above 0.")
        return cls(low, high, rate)

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
