"""What grains are made of, and how their surfaces rub, bounce, roll and stick."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from annelid.core.errors import InvalidValue


@dataclass(frozen=True, kw_only=True)
class Surface:
    """How a surface responds to contact; two surfaces meet with the geometric mean of their values.

    Attributes:
        friction: Coulomb coefficient.
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        rolling: Coefficient of rolling resistance: the largest torque over the normal force and the reduced radius
            r_i r_j / (r_i + r_j), which is the radius of a grain on a flat wall.
        cohesion: Force at which two touching surfaces part [N].
    """

    friction: float = 0.5
    restitution: float = 0.0
    rolling: float = 0.0
    cohesion: float = 0.0

    def __post_init__(self) -> None:
        for name in ("friction", "rolling", "cohesion"):
            value = getattr(self, name)
            if not (_is_number(value) and value >= 0.0):
                raise InvalidValue(f"{name} of a surface must be a number of 0 or more, not {value!r}.")
        if not (_is_number(self.restitution) and 0.0 <= self.restitution <= 1.0):
            raise InvalidValue(f"restitution of a surface must be between 0 and 1, not {self.restitution!r}.")

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """The four values."""
        return self.friction, self.restitution, self.rolling, self.cohesion


@dataclass(frozen=True, kw_only=True)
class Grain(Surface):
    """What grains are made of.

    Attributes:
        density: Mass of a grain per volume of a grain [kg/m³].
        youngs_modulus: Young's modulus [Pa]; only the `hertz` method asks for it.
        poisson_ratio: Poisson's ratio; the same.
    """

    density: float = 2500.0
    youngs_modulus: float = 5.0e6
    poisson_ratio: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("density", "youngs_modulus"):
            value = getattr(self, name)
            if not (_is_number(value) and value > 0.0):
                raise InvalidValue(f"{name} of a grain must be a number above 0, not {value!r}.")
        if not (_is_number(self.poisson_ratio) and -1.0 < self.poisson_ratio <= 0.5):
            raise InvalidValue(
                f"poisson_ratio of a grain must be above -1 and at most 0.5, not {self.poisson_ratio!r}."
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


SAND = Grain(density=2650.0, friction=0.5, rolling=0.1)
"""Quartz sand: the rolling resistance stands for grains that are not round."""

GLASS = Grain(density=2500.0, friction=0.3, restitution=0.0)
"""Glass beads."""
