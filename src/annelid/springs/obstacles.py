"""What masses can touch: planes, balls, and surfaces written by the user.

Contact is a linear spring and dashpot on the depth, never attractive, with Coulomb friction. The dashpot follows from
the coefficient of restitution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from annelid.core.errors import InvalidValue


@dataclass(frozen=True, kw_only=True)
class Contact:
    """How a surface answers.

    Attributes:
        stiffness: Force per depth of one mass [N/m].
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        static_friction: Coulomb coefficient that holds a resting mass.
        kinetic_friction: Coulomb coefficient on a sliding mass; None takes the static one.
    """

    stiffness: float = 1.0e4
    restitution: float = 0.5
    static_friction: float = 0.5
    kinetic_friction: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.stiffness) and self.stiffness > 0.0):
            raise InvalidValue(f"contact stiffness must be positive, not {self.stiffness}.")
        if not 0.0 <= self.restitution <= 1.0:
            raise InvalidValue(f"restitution must be between 0 and 1, not {self.restitution}.")
        for name, value in (("static_friction", self.static_friction), ("kinetic_friction", self.sliding_friction)):
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidValue(f"{name} must not be negative, not {value}.")
        if self.sliding_friction > self.static_friction:
            raise InvalidValue(
                f"kinetic_friction {self.sliding_friction} must not exceed static_friction {self.static_friction}."
            )

    @property
    def sliding_friction(self) -> float:
        """Coefficient on a sliding mass."""
        return self.static_friction if self.kinetic_friction is None else self.kinetic_friction

    @property
    def damping_ratio(self) -> float:
        """Damping ratio of the linear contact whose bounce has this restitution."""
        return _damping_ratio(self.restitution)


@dataclass(frozen=True, kw_only=True)
class Plane(Contact):
    """A half-space; masses stay on the side of the normal.

    Attributes:
        point: A point of the plane [m].
        normal: Normal; its length does not matter.
    """

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_vector("the point of a plane", self.point)
        _require_vector("the normal of a plane", self.normal)
        if not math.hypot(*self.normal) > 0.0:
            raise InvalidValue(f"the normal of a plane must not be {self.normal}.")

    @property
    def unit_normal(self) -> tuple[float, float, float]:
        """The normal with length 1."""
        length = math.hypot(*self.normal)
        return (self.normal[0] / length, self.normal[1] / length, self.normal[2] / length)


@dataclass(frozen=True, kw_only=True)
class Ball(Contact):
    """A solid ball; masses stay outside.

    Attributes:
        center: Centre [m].
        radius: Radius [m].
    """

    center: tuple[float, float, float]
    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_vector("the center of a ball", self.center)
        if not (math.isfinite(self.radius) and self.radius > 0.0):
            raise InvalidValue(f"the radius of a ball must be positive, not {self.radius}.")


@dataclass(frozen=True, kw_only=True)
class Surface(Contact):
    """A surface written by the user.

    Attributes:
        function: Warp function `(time, position) -> 4-vector`: unit normal towards the free side, and the gap [m],
            negative inside.
    """

    function: Any


def _require_vector(what: str, value: tuple[float, float, float]) -> None:
    if len(value) != 3 or not all(map(math.isfinite, value)):
        raise InvalidValue(f"{what} must be three finite numbers, not {value}.")


_DEADEST = 5.0  # damping ratio where the search ends: a bounce keeps one per cent of its speed


def _damping_ratio(restitution: float) -> float:
    """Damping ratio of a spring-dashpot contact that ends when its force would pull (Schwager and Pöschel, 2007)."""
    if restitution >= 1.0:
        return 0.0
    if restitution <= _restitution(_DEADEST):
        return _DEADEST
    return float(brentq(lambda ratio: _restitution(ratio) - restitution, 1e-9, _DEADEST))


def _restitution(ratio: float) -> float:
    """Restitution of a linear contact with this damping ratio, up to the moment when its force vanishes.

    The depth is exp(-ratio s) sin(w s)/w in units of the undamped frequency, with sinh above critical damping.
    """
    w = math.sqrt(abs(1.0 - ratio * ratio))
    if w < 1e-6:
        return math.exp(-2.0)
    if ratio < 1.0:
        return math.exp(-ratio / w * math.atan2(2.0 * ratio * w, 2.0 * ratio * ratio - 1.0))
    return math.exp(-ratio / w * math.atanh(2.0 * ratio * w / (2.0 * ratio * ratio - 1.0)))
