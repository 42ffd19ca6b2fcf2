"""What grains are made of, and how their surfaces rub, bounce, roll and stick."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from annelid.core.errors import InvalidValue, UnlikelyUnit
from annelid.core.numbers import is_number
from annelid.core.options import Named
from annelid.shapes import Surface
from annelid.shapes.surface import FRICTION, require_at_least_0, require_restitution, stated

RESTITUTION = 0.0
"""Of a surface that does not say."""

_LIGHTEST = 10.0  # density of a grain [kg/m³]


def response_of(surface: Surface) -> tuple[float, float, float, float]:
    """Friction, restitution, rolling resistance and cohesion of a surface beside grains, as numbers for `mixed`."""
    restitution = RESTITUTION if surface.restitution is None else surface.restitution
    return surface.frictions[0], restitution, surface.rolling, surface.cohesion


@dataclass(frozen=True, kw_only=True)
class Grain(Named):
    """What grains are made of; two surfaces meet with the geometric mean of their values.

    Attributes:
        friction: Coulomb coefficient; None takes that of what a grain touches, and 0.5 among grains.
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        rolling: Coefficient of rolling resistance: the largest torque over the normal force and the reduced radius
            r_i r_j / (r_i + r_j), which is the radius of a grain on a flat wall.
        cohesion: Force at which two touching surfaces part [N].
        density: Mass of a grain per volume of a grain [kg/m³].
        youngs_modulus: Young's modulus [Pa]; only the `hertz` method asks for it.
        poisson_ratio: Poisson's ratio; the same.
    """

    friction: float | None = None
    restitution: float = RESTITUTION
    rolling: float = 0.0
    cohesion: float = 0.0
    density: float = 2500.0
    youngs_modulus: float = 5.0e6
    poisson_ratio: float = 0.3

    def __post_init__(self) -> None:
        self._require_numbers()
        if self.density < _LIGHTEST:
            warnings.warn(
                f"a density of {self.density:g} kg/m³ is that of foam or less: 1 g/cm³ is 1000 kg/m³.",
                UnlikelyUnit,
                stacklevel=3,
            )

    def _require_numbers(self) -> None:
        for name in ("friction", "rolling", "cohesion"):
            if getattr(self, name) is not None or name != "friction":
                require_at_least_0(f"{name} of a grain", getattr(self, name))
        require_restitution("restitution of a grain", self.restitution)
        for name in ("density", "youngs_modulus"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0.0):
                raise InvalidValue(f"{name} of a grain must be a number above 0, not {value!r}.")
        if not (is_number(self.poisson_ratio) and -1.0 < self.poisson_ratio <= 0.5):
            raise InvalidValue(
                f"poisson_ratio of a grain must be above -1 and at most 0.5, not {self.poisson_ratio!r}."
            )

    @property
    def own_friction(self) -> float:
        """Coulomb coefficient among such grains."""
        return FRICTION if self.friction is None else self.friction

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """Friction, restitution, rolling resistance and cohesion, as numbers for `shapes.surface.mixed`."""
        return stated(self.friction, FRICTION), self.restitution, self.rolling, self.cohesion


def matter_of(surface: Surface) -> Grain:
    """What grains are made of whose surface is this one."""
    friction = surface.sliding_friction if surface.friction is None else surface.friction
    restitution = RESTITUTION if surface.restitution is None else surface.restitution
    return Grain(friction=friction, restitution=restitution, rolling=surface.rolling, cohesion=surface.cohesion)


SAND = Grain(density=2650.0, friction=0.5, rolling=0.1)
"""Quartz sand: the rolling resistance stands for grains that are not round."""

GLASS = Grain(density=2500.0, friction=0.3, restitution=0.0)
"""Glass beads."""
