"""Conditions that a breakpoint can wait for: of any mass, checked on the device after every step, or of an energy.

A condition of your own is a Warp function `(time, index, position, velocity) -> bool`; it holds as soon as it is true
for some mass that is free to move.
"""

from dataclasses import dataclass
from typing import Any, Literal

import warp as wp

from annelid.core.errors import InvalidValue

wp.set_module_options({"enable_backward": False})


def higher(height: float, axis: Literal["x", "y", "z"] = "z") -> Any:
    """Some mass is beyond a coordinate [m]."""
    c, limit = "xyz".index(axis), float(height)

    @wp.func
    def condition(time: Any, index: int, position: Any, velocity: Any) -> Any:
        return position[wp.static(c)] > type(time)(wp.static(limit))

    return condition


def lower(height: float, axis: Literal["x", "y", "z"] = "z") -> Any:
    """Some mass is below a coordinate [m]."""
    c, limit = "xyz".index(axis), float(height)

    @wp.func
    def condition(time: Any, index: int, position: Any, velocity: Any) -> Any:
        return position[wp.static(c)] < type(time)(wp.static(limit))

    return condition


def faster(speed: float) -> Any:
    """Some mass moves faster than a speed [m/s]."""
    squared = float(speed) ** 2

    @wp.func
    def condition(time: Any, index: int, position: Any, velocity: Any) -> Any:
        return wp.dot(velocity, velocity) > type(time)(wp.static(squared))

    return condition


@dataclass(frozen=True)
class Energy:
    """An energy of the whole body [J] passes a limit.

    It is summed on the device each time the run loop looks up, some twenty times a second, not after every step.

    Attributes:
        kind: "kinetic", "elastic", "gravitational" or "total".
        below: Stop when it is below this.
        above: Stop when it is above this.
    """

    kind: Literal["kinetic", "elastic", "gravitational", "total"] = "kinetic"
    below: float | None = None
    above: float | None = None

    def __post_init__(self) -> None:
        if (self.below is None) == (self.above is None):
            raise InvalidValue("an energy condition needs either below=... or above=... [J].")

    def holds(self, summary: Any) -> bool:
        """Whether it holds for these totals."""
        value = getattr(summary, self.kind)
        return bool(value < self.below) if self.below is not None else bool(value > self.above)
