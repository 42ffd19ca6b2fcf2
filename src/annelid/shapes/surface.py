"""How the surface of a thing responds to contact, and what two surfaces make of their values, for every physics.

What a pair of surfaces has is the geometric mean of what both state, what one states where the other does not, and a
default where neither does. Where values are numbers, one that is not stated is its default with a minus sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named

FRICTION = 0.5
"""Coulomb coefficient of two surfaces of which neither states any."""

_NONE = 1.0e-20  # stands for a default of 0, which a minus sign does not change


@dataclass(frozen=True, kw_only=True, repr=False)
class Surface(Brief, Named):
    """Friction, bounce, rolling resistance, cohesion and stiffness of a surface.

    None takes what the surface that it meets states; see `mixed`.

    Attributes:
        friction: Coulomb coefficient; the one that holds a resting contact where sliding has its own; None takes
            `sliding_friction`, if that is given.
        sliding_friction: Coulomb coefficient of a sliding contact, at most `friction`; None takes `friction`.
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        rolling: Coefficient of rolling resistance: the largest torque over the normal force and the reduced radius
            r_i r_j / (r_i + r_j), which is the radius of a grain on a flat wall.
        cohesion: Force at which two touching surfaces part [N].
        stiffness: Force per depth of one contact [N/m], where contacts are springs.
    """

    friction: float | None = None
    sliding_friction: float | None = None
    restitution: float | None = None
    rolling: float = 0.0
    cohesion: float = 0.0
    stiffness: float | None = None

    def __post_init__(self) -> None:
        for name in ("friction", "sliding_friction"):
            value = getattr(self, name)
            if value is not None:
                require_at_least_0(f"{name} of a surface", value)
        for name in ("rolling", "cohesion"):
            require_at_least_0(f"{name} of a surface", getattr(self, name))
        if self.restitution is not None:
            require_restitution("restitution of a surface", self.restitution)
        if self.stiffness is not None and not (is_number(self.stiffness) and self.stiffness > 0.0):
            raise InvalidValue(f"stiffness of a surface must be a number above 0 [N/m], not {self.stiffness!r}.")
        if self.friction is not None and self.sliding_friction is not None and self.sliding_friction > self.friction:
            raise InvalidValue(f"sliding_friction {self.sliding_friction} must not exceed friction {self.friction}.")

    @property
    def frictions(self) -> tuple[float, float]:
        """Coulomb coefficients of resting and of sliding, as numbers for `mixed`."""
        return frictions(self.friction, self.sliding_friction)


def stated(value: float | None, default: float) -> float:
    """The number for `mixed` of a value, or of a default that is not stated."""
    return -max(default, _NONE) if value is None else value


def frictions(resting: float | None, sliding: float | None) -> tuple[float, float]:
    """Coulomb coefficients of resting and of sliding as numbers for `mixed`; where one is None, it is the other."""
    resting = sliding if resting is None else resting
    return stated(resting, FRICTION), stated(resting if sliding is None else sliding, FRICTION)


def mixed(one: Any, other: Any) -> Any:
    """What two surfaces make of their values: the geometric mean, but of a value that is not stated, the other one.

    Args:
        one: Values of a surface, shape [...]; below 0 those that it does not state, see `stated`.
        other: Those of the other, of the same shape.
    """
    product = np.multiply(one, other)
    return np.where(product >= 0.0, np.sqrt(np.abs(product)), np.maximum(one, other))


def friction_between(one: Surface, other: Surface) -> float:
    """Coulomb coefficient of two surfaces whose friction is the same for resting and sliding."""
    return float(mixed(one.frictions[0], other.frictions[0]))


def require_at_least_0(what: str, value: Any) -> None:
    """Refuse what is no number of 0 or more."""
    if not (is_number(value) and value >= 0.0):
        raise InvalidValue(f"{what} must be a number of 0 or more, not {value!r}.")


def require_restitution(what: str, value: Any) -> None:
    """Refuse what is no number from 0 to 1."""
    if not (is_number(value) and 0.0 <= value <= 1.0):
        raise InvalidValue(f"{what} must be between 0 and 1, not {value!r}.")
