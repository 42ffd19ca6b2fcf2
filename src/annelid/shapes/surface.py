"""How the surface of a rigid thing responds to contact, in the same words for every physics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named


@dataclass(frozen=True, kw_only=True, repr=False)
class Surface(Brief, Named):
    """Friction, bounce, rolling resistance, cohesion and stiffness of a surface.

    None stands for what the physics takes by default, which its page of the documentation says.

    Attributes:
        friction: Coulomb coefficient; the one that holds a resting contact where sliding has its own.
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


def require_at_least_0(what: str, value: Any) -> None:
    """Refuse what is no number of 0 or more."""
    if not (is_number(value) and value >= 0.0):
        raise InvalidValue(f"{what} must be a number of 0 or more, not {value!r}.")


def require_restitution(what: str, value: Any) -> None:
    """Refuse what is no number from 0 to 1."""
    if not (is_number(value) and 0.0 <= value <= 1.0):
        raise InvalidValue(f"{what} must be between 0 and 1, not {value!r}.")
