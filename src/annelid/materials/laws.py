"""Hyperelastic laws: how much energy a strain of any size stores, as a function of principal stretches.

A law speaks of a change of shape only; what a change of volume costs follows from Poisson's ratio of the material.
With stretches λ, I₁ = Σ λᵢ² and I₂ = Σ λᵢ²λⱼ² (i < j). A law is its energy, written once with NumPy: stresses, tangents
and rates of its constants, here and in kernels, are derivatives of that formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named
from annelid.materials.formulas import Formula, as_formula, derivative, evaluate, held_above, symbol

Of = Literal["invariants", "stretches"]

_SQUEEZED = 0.3
"""Stretch below which stability is not looked for: specimens buckle long before."""
_STRETCHES = 2000
_LEAST_LEFT = 1e-3
"""Part of the room below the limit of Gent's law where its energy goes on as a parabola."""
LEAST_STRETCH = 0.05
"""Below this stretch, which only inverted or flattened elements have, powers go on as parabolas."""
_FARTHEST = 20.0
"""Strain up to which the end of a law is looked for; no silicone gets there."""


@dataclass(frozen=True)
class Form:
    """What a law is apart from its constants; a kernel is made for each.

    Attributes:
        energy: Its energy of I₁, I₂ and constants, or of three stretches and constants.
        of: What it is an energy of.
        count: Number of its constants.
    """

    energy: Callable[..., Any]
    of: Of
    count: int

    @property
    def variables(self) -> tuple[Formula, ...]:
        """I₁ and I₂, or the stretches."""
        return tuple(symbol(name) for name in (("i1", "i2") if self.of == "invariants" else ("s0", "s1", "s2")))

    @property
    def constants(self) -> tuple[Formula, ...]:
        """The constants, k0, k1 and so on."""
        return tuple(symbol(f"k{number}") for number in range(self.count))

    @cached_property
    def formula(self) -> Formula:
        """The energy of the variables and constants."""
        args = self.variables if self.of == "invariants" else (self.variables,)
        return as_formula(self.energy(*args, self.constants))

    @cached_property
    def slopes(self) -> tuple[Formula, ...]:
        """Derivatives of the energy by its variables."""
        return tuple(derivative(self.formula, each) for each in self.variables)

    @cached_property
    def bends(self) -> tuple[Formula, ...]:
        """Second derivatives, 11, 12, … 22, … of a symmetric matrix."""
        pairs = combinations_with_replacement(range(len(self.variables)), 2)
        return tuple(derivative(self.slopes[i], self.variables[j]) for i, j in pairs)

    @cached_property
    def of_stretches(self) -> Form:
        """The same law as one of stretches."""
        if self.of == "stretches":
            return self

        def energy(stretches: Any, k: Any) -> Any:
            one, two, three = (each * each for each in stretches)
            return self.energy(one + two + three, one * two + two * three + three * one, k)

        return Form(energy, "stretches", self.count)


class AtRest(NamedTuple):
    """What a law answers to small strains [Pa], or how that changes: tension, under shear, under equal stretches."""

    pull: float
    shear: float
    swelling: float


@dataclass(frozen=True)
class Law(Named):
    """Energy of a unit of volume [J/m³] as a function of I₁ and I₂, or of the principal stretches.

    A subclass has its constants as fields, and the `strain_energy` of them, in their order, `k`.

    Attributes:
        written_in: What its energy is one of.
        moduli: Fields that make the law stiffer as a whole; None for all.
    """

    written_in: ClassVar[Of] = "invariants"
    moduli: ClassVar[tuple[str, ...] | None] = None

    def __post_init__(self) -> None:
        self._require(**{field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def form(self) -> Form:
        """What it is apart from its constants."""
        return _form(type(self).strain_energy, self.written_in, len(self.constants))

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers of the law, in the order in which its energy reads them."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def scaled(self, factor: float) -> Self:
        """The same law, that many times as stiff."""
        moduli = self.moduli or [field.name for field in fields(self)]
        return replace(self, **{name: factor * getattr(self, name) for name in moduli})

    @staticmethod
    def strain_energy(*_: Any) -> Any:
        """The energy of I₁, I₂ and constants, or of three stretches and constants, written with NumPy."""
        raise NotImplementedError

    def tensions(self, stretches: ArrayLike) -> np.ndarray:
        """Derivatives of the energy with respect to the stretches [Pa], shape [..., 3] as they."""
        rows = np.asarray(stretches, float)
        return np.stack(np.broadcast_arrays(*self._values(self.form.of_stretches.slopes, rows)), axis=-1)

    @property
    def shear_modulus(self) -> float:
        """Shear modulus at small strains [Pa]."""
        return self._at_rest(lambda formula: formula).shear

    @property
    def pull(self) -> float:
        """Tension in the undeformed state [Pa], which the law alone does not balance."""
        return self._at_rest(lambda formula: formula).pull

    @property
    def swelling(self) -> float:
        """Second derivative of the energy along equal stretches, in the undeformed state [Pa]."""
        return self._at_rest(lambda formula: formula).swelling

    def at_rest_by(self, number: int) -> AtRest:
        """Derivatives of `pull`, `shear_modulus` and `swelling` by one of the constants."""
        return self._at_rest(lambda formula: derivative(formula, self.form.constants[number]))

    def _at_rest(self, of: Callable[[Formula], Formula]) -> AtRest:
        form = self.form.of_stretches
        pull, own, other = (
            float(each) for each in self._values([of(f) for f in (form.slopes[0], *form.bends[:2])], np.ones(3))
        )
        return AtRest(pull, 0.5 * (own - other + pull), 3.0 * own + 6.0 * other)

    def _values(self, formulas: Sequence[Formula], stretches: np.ndarray) -> list[np.ndarray]:
        given = {f"s{i}": stretches[..., i] for i in range(3)}
        shape = stretches.shape[:-1]
        found = evaluate(formulas, given | {f"k{i}": value for i, value in enumerate(self.constants)})
        return [np.broadcast_to(each, shape) for each in found]

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


@cache
def _form(energy: Callable[..., Any], of: Of, count: int) -> Form:
    return Form(energy, of, count)


@dataclass(frozen=True)
class NeoHooke(Law):
    """W = μ/2 (I₁ − 3): honest up to a strain of about a half.

    Attributes:
        shear: Shear modulus μ [Pa].
    """

    shear: float

    @staticmethod
    def strain_energy(i1: Any, i2: Any, k: Any) -> Any:
        """μ/2 (I₁ − 3)."""
        return 0.5 * k[0] * (i1 - 3.0)


@dataclass(frozen=True)
class MooneyRivlin(Law):
    """W = C₁₀ (I₁ − 3) + C₀₁ (I₂ − 3); uniaxial tension alone does not determine C₀₁.

    Attributes:
        c10: C₁₀ [Pa].
        c01: C₀₁ [Pa].
    """

    c10: float
    c01: float

    @staticmethod
    def strain_energy(i1: Any, i2: Any, k: Any) -> Any:
        """C₁₀ (I₁ − 3) + C₀₁ (I₂ − 3)."""
        return k[0] * (i1 - 3.0) + k[1] * (i2 - 3.0)


@dataclass(frozen=True)
class _Cubic(Law):
    """A cubic of I₁ − 3, as far as it goes."""

    c1: float
    c2: float = 0.0
    c3: float = 0.0

    @staticmethod
    def strain_energy(i1: Any, i2: Any, k: Any) -> Any:
        """C₁ (I₁ − 3) + C₂ (I₁ − 3)² + C₃ (I₁ − 3)³."""
        over = i1 - 3.0
        return over * (k[0] + over * (k[1] + over * k[2]))


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

    @staticmethod
    def strain_energy(i1: Any, i2: Any, k: Any) -> Any:
        """The cubic, and a straight line beyond I₁ − 3 = k[3]."""
        over, edge = i1 - 3.0, k[3]
        slope = k[0] + edge * (2.0 * k[1] + 3.0 * edge * k[2])
        line = _Cubic.strain_energy(3.0 + edge, i2, k) + (over - edge) * slope
        return np.where(over < edge, _Cubic.strain_energy(i1, i2, k), line)

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


@dataclass(frozen=True)
class Gent(Law):
    """W = −μ Jₘ/2 ln(1 − (I₁ − 3)/Jₘ): chains that cannot be stretched beyond a limit.

    Attributes:
        shear: Shear modulus μ [Pa].
        limit: Jₘ, the value of I₁ − 3 that is never reached [-].
    """

    moduli: ClassVar[tuple[str, ...]] = ("shear",)

    shear: float
    limit: float

    def __post_init__(self) -> None:
        if not (is_number(self.limit) and self.limit > 0.0):
            raise InvalidValue(f"limit = {self.limit!r} of Gent cannot be used; give a finite number above 0.")
        super().__post_init__()

    @staticmethod
    def strain_energy(i1: Any, i2: Any, k: Any) -> Any:
        """−μ Jₘ/2 ln x with x = 1 − (I₁ − 3)/Jₘ, which goes on as a steep parabola below x = 0.001."""
        left = 1.0 - (i1 - 3.0) / k[1]
        here = held_above(left, _LEAST_LEFT)
        beyond = (left - here) / here
        return -0.5 * k[0] * k[1] * (np.log(here) + beyond - 0.5 * beyond * beyond)

    def tensions(self, stretches: ArrayLike) -> np.ndarray:
        """Derivatives of the energy with respect to the stretches [Pa]; not a number beyond the limit."""
        over = (np.asarray(stretches, float) ** 2).sum(axis=-1, keepdims=True) - 3.0
        return np.where(over < self.limit, super().tensions(stretches), np.nan)


@dataclass(frozen=True)
class Ogden(Law):
    """W = Σ μ/α (λ₁^α + λ₂^α + λ₃^α − 3), a sum over terms; the shear modulus is Σ μα/2.

    Attributes:
        terms: μ [Pa] and α [-] of each term.
    """

    written_in: ClassVar[Of] = "stretches"

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

    @staticmethod
    def strain_energy(stretches: Any, k: Any) -> Any:
        """Σ μ/α (λ₁^α + λ₂^α + λ₃^α − 3)."""
        terms = zip(k[::2], k[1::2], strict=True)
        return sum(mu / alpha * sum(_power(each, alpha) - 1.0 for each in stretches) for mu, alpha in terms)

    @property
    def constants(self) -> tuple[float, ...]:
        """μ and α, term by term."""
        return tuple(value for term in self.terms for value in term)

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, terms=tuple((factor * mu, alpha) for mu, alpha in self.terms))


def _power(stretch: Any, exponent: Any) -> Any:
    """λ^α; a parabola below the least stretch, which elements that are inverted have."""
    base = held_above(stretch, LEAST_STRETCH)
    below = (stretch - base) / base
    return base**exponent * (1.0 + exponent * below * (1.0 + 0.5 * (exponent - 1.0) * below))


def _stretches(given: ArrayLike) -> np.ndarray:
    """Stretches as numbers; what no bar can be stretched to is refused."""
    values = as_numbers("stretches", given)
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise InvalidValue(f"a stretch is a length over that at rest, above 0, not {given!r}: 1 is undeformed.")
    return values
