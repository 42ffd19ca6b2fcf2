"""What a voxel is made of: elasticity, plasticity, failure, thermal expansion, friction and damping."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind
from annelid.core.snapshot import Color, require_color
from annelid.shapes.surface import frictions

_POSITIVE = ("youngs_modulus", "density")
_FRICTIONS = ("static_friction", "kinetic_friction")
_NOT_NEGATIVE = ("internal_damping", "global_damping", "collision_damping", *_FRICTIONS)
_OPTIONAL = ("plastic_modulus", "yield_stress", "failure_stress", *_FRICTIONS)


@dataclass(frozen=True, kw_only=True)
class Voxel(Named):
    """The material of a voxel.

    Attributes:
        youngs_modulus: E [Pa]; the slope of the first piece of `curve`, where that is given.
        density: [kg/m³].
        poisson_ratio: ν, from 0 to less than 0.5; above 0 a link also feels what happens across it.
        expansion: Relative change of length per degree (CTE) [1/K]; 0 is passive.
        static_friction: Coulomb coefficient that holds a voxel which rests on something; None takes
            `kinetic_friction`, or else that of what it rests on.
        kinetic_friction: Coulomb coefficient while it slides, at most `static_friction`; None takes that.
        internal_damping: Damping ratio of links.
        global_damping: Damping ratio of motion against the world, as in a thick medium.
        collision_damping: Damping ratio of contacts.
        plastic_modulus: Slope of the curve beyond the yield stress [Pa]; None is elastic.
        yield_stress: Stress at which it begins to flow [Pa]; None is elastic.
        failure_stress: Tension at which a link breaks for good [Pa]; None never does.
        curve: Measured points (strain, stress [Pa]) of a tension test instead of modulus and yield, in rising order,
            without the origin.
        name: Name in pictures.
        color: Colour in pictures.
    """

    youngs_modulus: float = 1.0e5
    density: float = 1000.0
    poisson_ratio: float = 0.0
    expansion: float = 0.01
    static_friction: float | None = None
    kinetic_friction: float | None = None
    internal_damping: float = 1.0
    global_damping: float = 0.01
    collision_damping: float = 0.8
    plastic_modulus: float | None = None
    yield_stress: float | None = None
    failure_stress: float | None = None
    curve: tuple[tuple[float, float], ...] = ()
    name: str = ""
    color: Color | None = None

    def __post_init__(self) -> None:
        require_kind("name of a voxel", self.name, str, "a text")
        require_color("color of a voxel", self.color)
        if array_or_none(self.curve).size:
            object.__setattr__(self, "curve", _measured(self.curve))
            object.__setattr__(self, "youngs_modulus", self.curve[0][1] / self.curve[0][0])
        for name in dict.fromkeys((*_POSITIVE, *_NOT_NEGATIVE, *_OPTIONAL)):
            value = vars(self)[name]
            if value is not None or name not in _OPTIONAL:
                _require(name, value, above=name not in _NOT_NEGATIVE)
        if not is_number(self.expansion):
            raise InvalidValue(f"expansion of a voxel must be a finite number, not {self.expansion!r}.")
        if not (is_number(self.poisson_ratio) and 0.0 <= self.poisson_ratio < 0.5):
            raise InvalidValue(f"poisson_ratio of a voxel must be from 0 to less than 0.5, not {self.poisson_ratio!r}.")
        holds, rubs = map(abs, self.frictions)
        if rubs > holds:
            raise InvalidValue(f"kinetic_friction {rubs} of a voxel must not exceed its static_friction {holds}.")
        self._require_plasticity()

    def _require_plasticity(self) -> None:
        if (self.plastic_modulus is None) != (self.yield_stress is None):
            raise InvalidValue("a plastic voxel needs both plastic_modulus and yield_stress, or neither.")
        if self.plastic_modulus is None:
            return
        if self.curve:
            raise InvalidValue("a voxel has a curve, or plastic_modulus and yield_stress, not both.")
        if self.plastic_modulus >= self.youngs_modulus:
            raise InvalidValue(
                f"plastic_modulus {self.plastic_modulus:g} Pa of a voxel must be below its youngs_modulus "
                f"{self.youngs_modulus:g} Pa."
            )
        if self.failure_stress is not None and self.failure_stress < (self.yield_stress or 0.0):
            raise InvalidValue(
                f"failure_stress {self.failure_stress:g} Pa of a voxel is below its yield_stress "
                f"{self.yield_stress:g} Pa: leave the plastic part out."
            )

    @property
    def frictions(self) -> tuple[float, float]:
        """Coulomb coefficients of resting and of sliding, as numbers for `shapes.surface.mixed`."""
        return frictions(self.static_friction, self.kinetic_friction)

    @property
    def linear(self) -> bool:
        """Whether stress is in proportion to strain until it breaks."""
        return self.plastic_modulus is None and len(self.curve) < 2

    @cached_property
    def points(self) -> np.ndarray:
        """Strains and stresses [Pa] at which its curve bends, and one more on the last piece, shape [n, 2]."""
        if self.curve:
            return np.array(self.curve)
        if self.plastic_modulus is None or self.yield_stress is None:
            return np.array([[1.0, self.youngs_modulus]])
        begin = self.yield_stress / self.youngs_modulus
        return np.array([[begin, self.yield_stress], [begin + 1.0, self.yield_stress + self.plastic_modulus]])

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Voxel:
        """A voxel from `to_dict`; unknown names are refused."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """All properties by name."""
        return asdict(self)


def _measured(curve: Any) -> tuple[tuple[float, float], ...]:
    """Points of a curve: rising, and nowhere steeper than at first, or unloading would give energy."""
    try:
        points = np.asarray(curve, float)
    except (TypeError, ValueError, OverflowError):
        points = np.empty(0)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise InvalidValue(f"the curve of a voxel must be pairs of strain and stress, not {curve!r:.60}.")
    steps = np.diff(np.vstack([[0.0, 0.0], points]), axis=0)
    if (steps <= 0.0).any():
        number = int(np.flatnonzero((steps <= 0.0).any(axis=1))[0])
        raise InvalidValue(
            f"the curve of a voxel must rise from 0 in strain and stress; point {number} "
            f"{points[number].tolist()} does not."
        )
    slopes = steps[:, 1] / steps[:, 0]
    if (slopes > slopes[0] * (1.0 + 1e-9)).any():
        raise InvalidValue("the curve of a voxel must be steepest at the beginning, where it is elastic.")
    return tuple((strain, stress) for strain, stress in points.tolist())


def _require(name: str, value: Any, *, above: bool) -> None:
    if not is_number(value) or value < 0.0 or (above and value == 0.0):
        raise InvalidValue(f"{name} of a voxel must be {'above 0' if above else '0 or more'}, not {value!r}.")
