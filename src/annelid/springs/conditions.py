"""Conditions that a breakpoint can wait for: of any mass, checked on the device after every step, or of an energy.

A condition of your own is a Warp function `(time, index, position, velocity) -> bool`; it holds as soon as it is true
for some mass that is free to move.
"""

from dataclasses import dataclass
from typing import Any, Literal

import warp as wp

from annelid.core.energy import require_energy
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import is_among

wp.set_module_options({"enable_backward": False})


def higher(height: float, axis: Literal["x", "y", "z"] = "z") -> Any:
    """Some mass is beyond a coordinate [m]."""
    c, limit = _axis(axis), _limit("the height of a condition", height)

    @wp.func
    def condition(time: Any, index: int, position: Any, velocity: Any) -> Any:
        return position[wp.static(c)] > type(time)(wp.static(limit))

    return condition


def lower(height: float, axis: Literal["x", "y", "z"] = "z") -> Any:
    """Some mass is below a coordinate [m]."""
    c, limit = _axis(axis), _limit("the height of a condition", height)

    @wp.func
    def condition(time: Any, index: int, position: Any, velocity: Any) -> Any:
        return position[wp.static(c)] < type(time)(wp.static(limit))

    return condition


def faster(speed: float) -> Any:
    """Some mass moves faster than a speed [m/s]."""
    squared = _limit("the speed of a condition", speed, least=0.0) ** 2

    @wp.func
    def condition(time: Any, index: int, position: Any, velocity: Any) -> Any:
        return wp.dot(velocity, velocity) > type(time)(wp.static(squared))

    return condition


def _limit(what: str, value: Any, *, least: float | None = None) -> float:
    """A number that something can pass: nothing is above or below one that is none."""
    if not is_number(value) or (least is not None and value < least):
        accepted = "a finite number" if least is None else f"a number of {least:g} or more"
        raise InvalidValue(f"{what} must be {accepted}, not {value!r:.60}.")
    return float(value)


def _axis(name: Any) -> int:
    if not is_among(name, ("x", "y", "z")):
        raise InvalidValue(f"the axis of a condition must be 'x', 'y' or 'z', not {name!r:.60}.")
    return "xyz".index(name)


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
        require_energy(self.kind)
        _limit("the limit of an energy", self.above if self.below is None else self.below)

    def holds(self, summary: Any) -> bool:
        """Whether it holds for these totals."""
        value = getattr(summary, self.kind)
        return bool(value < self.below) if self.below is not None else bool(value > self.above)
