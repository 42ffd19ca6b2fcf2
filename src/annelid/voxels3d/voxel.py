"""What a voxel is made of: elasticity, plasticity, failure, thermal expansion, friction and damping."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.snapshot import Color, require_color
from annelid.shapes.surface import frictions


@documented
@dataclass(frozen=True, kw_only=True)
class Voxel(Checked):
    """The material of a voxel."""

    of_what: ClassVar[str] = "a voxel"

    youngs_modulus: float = parameter(
        1.0e5, "E [Pa]; the slope of the first piece of `curve`, where that is given.", unit="Pa", above=0.0
    )
    density: float = parameter(1000.0, "[kg/m³].", unit="kg/m³", above=0.0)
    poisson_ratio: float = parameter(
        0.0, "ν, from 0 to less than 0.5; above 0 a link also feels what happens across it.", limits=(0.0, 0.5)
    )
    expansion: float = parameter(0.01, "Relative change of length per degree (CTE) [1/K]; 0 is passive.", unit="1/K")
    static_friction: float | None = parameter(
        None,
        "Coulomb coefficient that holds a voxel which rests on something; None takes `kinetic_friction`, or else that "
        "of what it rests on.",
        least=0.0,
    )
    kinetic_friction: float | None = parameter(
        None, "Coulomb coefficient while it slides, at most `static_friction`; None takes that.", least=0.0
    )
    internal_damping: float = parameter(1.0, "Damping ratio of links.", least=0.0)
    global_damping: float = parameter(
        0.01, "Damping ratio of motion against the world, as in a thick medium.", least=0.0
    )
    collision_damping: float = parameter(0.8, "Damping ratio of contacts.", least=0.0)
    plastic_modulus: float | None = parameter(
        None, "Slope of the curve beyond the yield stress [Pa]; None is elastic.", unit="Pa", above=0.0
    )
    yield_stress: float | None = parameter(
        None, "Stress at which it begins to flow [Pa]; None is elastic.", unit="Pa", above=0.0
    )
    failure_stress: float | None = parameter(
        None, "Tension at which a link breaks for good [Pa]; None never does.", unit="Pa", above=0.0
    )
    curve: tuple[tuple[float, float], ...] = parameter(
        (),
        "Measured points (strain, stress [Pa]) of a tension test instead of modulus and yield, in rising order, "
        "without the origin.",
    )
    name: str = parameter("", "Name in pictures.")
    color: Color | None = parameter(None, "Colour in pictures.")

    def __post_init__(self) -> None:
        require_color("color of a voxel", self.color)
        if array_or_none(self.curve).size:
            object.__setattr__(self, "curve", _measured(self.curve))
            object.__setattr__(self, "youngs_modulus", self.curve[0][1] / self.curve[0][0])
        super().__post_init__()
        if self.poisson_ratio == 0.5:
            raise InvalidValue("poisson_ratio of a voxel must be from 0 to less than 0.5, not 0.5.")
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
