"""Hyperelastic laws: how much energy a strain of any size stores, as a function of principal stretches.

A law speaks of a change of shape only; what a change of volume costs follows from Poisson's ratio of the material.
With stretches λ, I₁ = Σ λᵢ² and I₂ = Σ λᵢ²λⱼ² (i < j).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named

_NUDGE = 1e-5
"""Change of a stretch for a difference that stands for a derivative."""
_SQUEEZED = 0.3
"""Stretch below which stability is not looked for: specimens buckle long before."""
_STRETCHES = 2000
_FARTHEST = 20.0
"""Strain up to which the end of a law is looked for; no silicone gets there."""


@dataclass(frozen=True)
class Law(Named):
    """Energy of a unit of volume [J/m³] as a function of the principal stretches; subclasses say which."""

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers of the law, in the order in which kernels read them."""
        raise NotImplementedError

    def tensions(self, stretches: ArrayLike) -> np.ndarray:
        """Derivatives of the energy with respect to the stretches [Pa], shape [..., 3] as they."""
        raise NotImplementedError

    def scaled(self, factor: float) -> Self:
        """The same law, that many times as stiff."""
        raise NotImplementedError

    @property
    def shear_modulus(self) -> float:
        """Shear modulus at small strains [Pa]."""
        here, there = 1.0 - _NUDGE, 1.0 + _NUDGE
        rows = self.tensions([[there, here, 1.0], [here, there, 1.0]])
        return float(rows[0, 0] - rows[0, 1] - rows[1, 0] + rows[1, 1]) / (8.0 * _NUDGE) + 0.5 * self.pull

    @property
    def pull(self) -> float:
        """Tension in the undeformed state [Pa], which the law alone does not balance."""
        return float(self.tensions([1.0, 1.0, 1.0])[0])

    @property
    def swelling(self) -> float:
        """Second derivative of the energy along equal stretches, in the undeformed state [Pa]."""
        return float(np.diff(self.tensions([[1.0 - _NUDGE] * 3, [1.0 + _NUDGE] * 3]).sum(axis=1))[0]) / (2.0 * _NUDGE)

    def nominal(self, stretches: ArrayLike) -> np.ndarray:
        """Stresses over the undeformed area [Pa], shape [..., 3], where volume is kept and the third side is free."""
        rows = np.asarray(stretches, float)
        tensions = self.tensions(rows)
        return np.asarray(tensions - tensions[..., 2:] * rows[..., 2:] / rows)

    def uniaxial(self, stretch: ArrayLike) -> np.ndarray:
        """Nominal stress [Pa] of a bar that keeps its volume."""
        along = _stretches(stretch)
        return self.nominal(np.stack([along, along**-0.5, along**-0.5], axis=-1))[..., 0]

    def equibiaxial(self, stretch: ArrayLike) -> np.ndarray:
        """Nominal stress [Pa] of a sheet that is stretched alike in two directions and keeps its volume."""
        along = _stretches(stretch)
        return self.nominal(np.stack([along, along, along**-2.0], axis=-1))[..., 0]

    def pure_shear(self, stretch: ArrayLike) -> np.ndarray:
        """Nominal stress [Pa] of a wide sheet that is stretched along one direction and keeps its volume."""
        along = _stretches(stretch)
        return self.nominal(np.stack([along, np.ones_like(along), 1.0 / along], axis=-1))[..., 0]

    def unstable_at(self, strain: float) -> tuple[str, float] | None:
        """The mode and the stretch at which stress begins to fall, within a strain; None where it never does.

        Args:
            strain: Largest engineering strain [-]; uniaxial compression is looked at as far, or to a stretch of 0.3.
        """
        found: list[tuple[str, float]] = []
        for name, stress, least in (
            ("uniaxial loading", self.uniaxial, max(_SQUEEZED, 1.0 / (1.0 + strain))),
            ("equibiaxial tension", self.equibiaxial, 1.0),
            ("pure shear", self.pure_shear, 1.0),
        ):
            stretches = np.linspace(least, 1.0 + strain, _STRETCHES)
            with np.errstate(all="ignore"):
                rise = np.diff(stress(stretches))
            falls = stretches[:-1][~(rise > 0.0)]
            if len(falls):
                found.append((name, float(falls[np.argmin(np.abs(falls - 1.0))])))
        return min(found, key=lambda each: abs(each[1] - 1.0)) if found else None

    def _require(self, **values: float) -> None:
        """Refuse constants that are no numbers, and a law that is not stiff at small strains."""
        for name, value in values.items():
            if not is_number(value):
                raise InvalidValue(f"{name} = {value!r} of {type(self).__name__} cannot be used; give a finite number.")
        if not self.shear_modulus > 0.0:
            raise InvalidValue(
                f"{self} has a shear modulus of {self.shear_modulus:.4g} Pa at small strains: it is unstable at a "
                "stretch of 1; give constants that make it positive."
            )


@dataclass(frozen=True)
class _OfInvariants(Law):
    """A law in I₁ and I₂."""

    def slopes(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the energy with respect to I₁ and I₂ [Pa]."""
        raise NotImplementedError

    def tensions(self, stretches: ArrayLike) -> np.ndarray:
        """Derivatives of the energy with respect to the stretches [Pa]."""
        squares = np.asarray(stretches, float) ** 2
        first = squares.sum(axis=-1, keepdims=True)
        second = 0.5 * (first**2 - (squares**2).sum(axis=-1, keepdims=True))
        one, two = self.slopes(first, second)
        return np.asarray(2.0 * np.asarray(stretches, float) * (one + two * (first - squares)))

    @property
    def shear_modulus(self) -> float:
        """Shear modulus at small strains [Pa]."""
        one, two = self.slopes(np.array(3.0), np.array(3.0))
        return float(2.0 * (one + two))


@dataclass(frozen=True)
class NeoHooke(_OfInvariants):
    """W = μ/2 (I₁ − 3): honest up to a strain of about a half.

    Attributes:
        shear: Shear modulus μ [Pa].
    """

    shear: float

    def __post_init__(self) -> None:
        self._require(shear=self.shear)

    @property
    def constants(self) -> tuple[float, ...]:
        """μ."""
        return (self.shear,)

    def slopes(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives with respect to the invariants."""
        return np.full_like(first, 0.5 * self.shear), np.zeros_like(second)

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, shear=factor * self.shear)


@dataclass(frozen=True)
class MooneyRivlin(_OfInvariants):
    """W = C₁₀ (I₁ − 3) + C₀₁ (I₂ − 3); uniaxial tension alone does not determine C₀₁.

    Attributes:
        c10: C₁₀ [Pa].
        c01: C₀₁ [Pa].
    """

    c10: float
    c01: float

    def __post_init__(self) -> None:
        self._require(c10=self.c10, c01=self.c01)

    @property
    def constants(self) -> tuple[float, ...]:
        """C₁₀, C₀₁."""
        return self.c10, self.c01

    def slopes(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives with respect to the invariants."""
        return np.full_like(first, self.c10), np.full_like(second, self.c01)

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, c10=factor * self.c10, c01=factor * self.c01)


@dataclass(frozen=True)
class _Cubic(_OfInvariants):
    """A cubic of I₁ − 3, as far as it goes."""

    c1: float
    c2: float = 0.0
    c3: float = 0.0

    def slopes(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives with respect to the invariants."""
        over = first - 3.0
        return self.c1 + over * (2.0 * self.c2 + 3.0 * self.c3 * over), np.zeros_like(second)


@dataclass(frozen=True)
class Yeoh(_Cubic):
    """W = C₁ (I₁ − 3) + C₂ (I₁ − 3)² + C₃ (I₁ − 3)³.

    With C₃ < 0 the cubic gives out at large strains. Beyond the value of I₁ where stress would begin to fall, W goes on
    in a straight line, so that a solid that gets there by accident comes back.

    Attributes:
        c1: C₁ [Pa].
        c2: C₂ [Pa].
        c3: C₃ [Pa].
    """

    def __post_init__(self) -> None:
        self._require(c1=self.c1, c2=self.c2, c3=self.c3)

    @property
    def constants(self) -> tuple[float, ...]:
        """C₁, C₂, C₃, and the value of I₁ − 3 beyond which W is a straight line."""
        return self.c1, self.c2, self.c3, self.edge

    @cached_property
    def edge(self) -> float:
        """Value of I₁ − 3 at which stress would begin to fall; beyond all bounds where it never does."""
        lost = self.unstable_at(_FARTHEST)
        if lost is None or lost[1] <= 1.0:
            return math.inf
        others = {"uniaxial loading": 2.0 / lost[1], "equibiaxial tension": lost[1] ** 2 + lost[1] ** -4.0}
        return float(lost[1] ** 2 + others.get(lost[0], 1.0 + lost[1] ** -2.0) - 3.0)

    def unstable_at(self, strain: float) -> tuple[str, float] | None:
        """The mode and the stretch at which the stress of the cubic begins to fall, within a strain."""
        return _Cubic(self.c1, self.c2, self.c3).unstable_at(strain)

    def slopes(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives with respect to the invariants."""
        return super().slopes(np.minimum(first, 3.0 + self.edge), second)

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, c1=factor * self.c1, c2=factor * self.c2, c3=factor * self.c3)


@dataclass(frozen=True)
class Gent(_OfInvariants):
    """W = −μ Jₘ/2 ln(1 − (I₁ − 3)/Jₘ): chains that cannot be stretched beyond a limit.

    Attributes:
        shear: Shear modulus μ [Pa].
        limit: Jₘ, the value of I₁ − 3 that is never reached [-].
    """

    shear: float
    limit: float

    def __post_init__(self) -> None:
        if not (is_number(self.limit) and self.limit > 0.0):
            raise InvalidValue(f"limit = {self.limit!r} of Gent cannot be used; give a finite number above 0.")
        self._require(shear=self.shear)

    @property
    def constants(self) -> tuple[float, ...]:
        """μ, Jₘ."""
        return self.shear, self.limit

    def slopes(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives with respect to the invariants; not a number beyond the limit."""
        left = 1.0 - (first - 3.0) / self.limit
        return np.where(left > 0.0, 0.5 * self.shear / np.where(left > 0.0, left, 1.0), np.nan), np.zeros_like(second)

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, shear=factor * self.shear)


@dataclass(frozen=True)
class Ogden(Law):
    """W = Σ μ/α (λ₁^α + λ₂^α + λ₃^α − 3), a sum over terms; the shear modulus is Σ μα/2.

    Attributes:
        terms: μ [Pa] and α [-] of each term.
    """

    terms: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        try:
            terms = tuple((float(mu), float(alpha)) for mu, alpha in self.terms)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(
                f"terms = {self.terms!r:.80} of Ogden cannot be used; give pairs of mu [Pa] and alpha."
            ) from None
        if not terms or any(alpha == 0.0 for _, alpha in terms):
            raise InvalidValue("Ogden needs at least one term, and no alpha of 0.")
        object.__setattr__(self, "terms", terms)
        self._require(**{f"terms[{i}]": value for i, term in enumerate(terms) for value in term})

    @property
    def constants(self) -> tuple[float, ...]:
        """μ and α, term by term."""
        return tuple(value for term in self.terms for value in term)

    @property
    def shear_modulus(self) -> float:
        """Shear modulus at small strains [Pa]."""
        return 0.5 * sum(mu * alpha for mu, alpha in self.terms)

    def tensions(self, stretches: ArrayLike) -> np.ndarray:
        """Derivatives of the energy with respect to the stretches [Pa]."""
        rows = np.asarray(stretches, float)
        return np.asarray(sum(mu * rows ** (alpha - 1.0) for mu, alpha in self.terms))

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, terms=tuple((factor * mu, alpha) for mu, alpha in self.terms))


def _stretches(given: ArrayLike) -> np.ndarray:
    """Stretches as numbers; what no bar can be stretched to is refused."""
    values = as_numbers("stretches", given)
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise InvalidValue(f"a stretch is a length over that at rest, above 0, not {given!r}: 1 is undeformed.")
    return values
