"""A material: density, elasticity, yield and damping, with the source of its figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_word
from annelid.materials.laws import Law
from annelid.materials.prony import as_series

_MOST_STRAIN = 100.0  # that anybody has measured, and more
_RANGE = 0.5
"""Engineering strain within which a law must be stable where it is not said how far it was measured."""


@dataclass(frozen=True)
class Material(Named):
    """A homogeneous, isotropic material, linear for small strains, and for large ones as its law says.

    Attributes:
        name: Name, as in `material(name)`.
        density: Mass per volume [kg/m^3], above 0.
        youngs_modulus: Young's modulus [Pa], above 0; for rubbers the secant modulus that the source states.
        poisson_ratio: Poisson's ratio [-], above -1 and below 0.5.
        yield_strain: Strain at which the material stops being elastic [-], above 0: at yield for metals and plastics,
            at break for rubbers, which do not yield.
        damping: Damping ratio [-], 0 or more: half the loss factor, tan(delta) / 2, with delta the phase by which
            strain lags behind stress near room temperature, between 1 and 100 Hz. A sample that oscillates freely
            loses the fraction 1 - exp(-4 pi damping) of its energy in each cycle, as long as the ratio is small.
        source: Where the figures come from, and which of them are estimates.
        law: How it resists large strains, of which finite elements take notice; None for a material that is only known
            at small ones. Its shear modulus is that of Young's modulus and Poisson's ratio; see `hyperelastic`.
        measured_to: Largest engineering strain at which the law was measured [-]; None where that is not known.
        prony: How stress relaxes, of which finite elements take notice: shares, above 0 and below 1 in all, and the
            times in which they fade [s]. Young's modulus and the law are those of a sudden strain; after a long time
            shear stress is 1 - the sum of the shares of it. What resists a change of volume does not relax.
    """

    name: str
    density: float
    youngs_modulus: float
    poisson_ratio: float
    yield_strain: float
    damping: float
    source: str
    law: Law | None = None
    measured_to: float | None = None
    prony: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        require_word("the name of a material", self.name)
        for name, unit in (("density", "kg/m^3"), ("youngs_modulus", "Pa"), ("yield_strain", "-")):
            if not self._number(name) > 0.0:
                raise self._invalid(name, f"give a finite number above 0 [{unit}]")
        if not -1.0 < self._number("poisson_ratio") < 0.5:
            raise self._invalid("poisson_ratio", "give a number above -1 and below 0.5, such as 0.49 for rubber")
        if not self._number("damping") >= 0.0:
            raise self._invalid("damping", "give a damping ratio of 0 or more, such as 0.05 for rubber")
        self._require_law()
        called = f"prony = {self.prony!r} of material {self.name!r}"
        object.__setattr__(self, "prony", as_series(self.prony, called))

    @classmethod
    def hyperelastic(
        cls,
        name: str,
        law: Law,
        *,
        density: float = 1070.0,
        poisson_ratio: float = 0.49,
        yield_strain: float = 1.0,
        damping: float = 0.05,
        source: str = "Given by the user.",
        measured_to: float | None = None,
        prony: tuple[tuple[float, float], ...] = (),
    ) -> Material:
        """A material whose Young's modulus is that of a law at small strains: E = 2 (1 + nu) mu."""
        cls(name, density, 1.0, poisson_ratio, yield_strain, damping, source)  # refuses what is no number
        if not isinstance(law, Law):
            raise InvalidValue(
                f"law = {law!r:.80} of material {name!r} cannot be used; give one such as materials.Yeoh(3.6e3, 140.0)."
            )
        modulus = 2.0 * (1.0 + poisson_ratio) * law.shear_modulus
        return cls(name, density, modulus, poisson_ratio, yield_strain, damping, source, law, measured_to, prony)

    @property
    def shear_modulus(self) -> float:
        """Shear modulus E / 2(1 + nu) [Pa]."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poisson_ratio))

    @property
    def bulk_modulus(self) -> float:
        """Bulk modulus E / 3(1 - 2 nu) [Pa]."""
        return self.youngs_modulus / (3.0 * (1.0 - 2.0 * self.poisson_ratio))

    def relaxed(self) -> Material:
        """The elastic material that this one is after a long time; itself where it has no Prony series."""
        return self._sheared(1.0 - sum(share for share, _ in self.prony), ()) if self.prony else self

    def relaxing(self, series: tuple[tuple[float, float], ...]) -> Material:
        """A material with a Prony series that is this one after a long time, for constants measured slowly."""
        checked = replace(self.relaxed(), prony=series).prony
        return self.relaxed()._sheared(1.0 / (1.0 - sum(share for share, _ in checked)), checked)

    def _sheared(self, factor: float, series: tuple[tuple[float, float], ...]) -> Material:
        """A copy that resists changes of shape that many times as much, and changes of volume as before."""
        shear, lame = factor * self.shear_modulus, self.bulk_modulus - 2.0 / 3.0 * self.shear_modulus
        ratio = 0.5 * lame / (lame + shear)
        law = None if self.law is None else self.law.scaled(factor)
        modulus = 2.0 * (1.0 + ratio) * shear
        return self.with_(poisson_ratio=ratio, youngs_modulus=modulus, law=law, prony=series)

    def with_(self, **changes: Any) -> Material:
        """A copy with some attributes changed; unless a source is given too, the source says what was changed.

        A law and Young's modulus follow each other: a new modulus makes the law as much stiffer, a new law brings its
        own modulus.
        """
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise UnknownName("property of a material", name, known)
        changed = sorted(set(changes) - {"name", "source"})
        if changed and "source" not in changes:
            changes["source"] = f"{self.source} Changed by the user: {', '.join(changed)}."
        return replace(self, **self._consistent(changes))

    def _consistent(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Changes with the law or the modulus that goes with them."""
        law = changes.get("law", self.law)
        if not isinstance(law, Law) or ("law" in changes and "youngs_modulus" in changes):
            return changes
        elastic = {name: changes[name] for name in ("youngs_modulus", "poisson_ratio") if name in changes}
        replace(self, law=None, **elastic)  # refuses what no law can be scaled by
        ratio = changes.get("poisson_ratio", self.poisson_ratio)
        if "youngs_modulus" in changes or ("poisson_ratio" in changes and "law" not in changes):
            modulus = changes.get("youngs_modulus", self.youngs_modulus)
            return {**changes, "law": law.scaled(modulus / (2.0 * (1.0 + ratio)) / law.shear_modulus)}
        return {**changes, "youngs_modulus": 2.0 * (1.0 + ratio) * law.shear_modulus}

    def _require_law(self) -> None:
        """Refuse a law that is unstable where it is meant to be used, or that contradicts Young's modulus."""
        if self.measured_to is not None and not 0.0 < self._number("measured_to") <= _MOST_STRAIN:
            wanted = f"give an engineering strain above 0 and at most {_MOST_STRAIN:g}, such as 3.0, or None"
            raise self._invalid("measured_to", wanted)
        if self.law is None:
            return
        if not isinstance(self.law, Law):
            raise self._invalid("law", "give a law such as materials.Yeoh(3.6e3, 140.0), or None")
        if not math.isclose(self.law.shear_modulus, self.shear_modulus, rel_tol=1e-6):
            raise InvalidValue(
                f"the law of material {self.name!r} has a shear modulus of {self.law.shear_modulus:.6g} Pa at small "
                f"strains, Young's modulus and Poisson's ratio make it {self.shear_modulus:.6g} Pa: use "
                "Material.hyperelastic, which takes it from the law."
            )
        strain = self.measured_to or _RANGE
        lost = self.law.unstable_at(strain)
        if lost is not None:
            raise InvalidValue(
                f"the law of material {self.name!r} is unstable: in {lost[0]} its stress falls at a stretch of "
                f"{lost[1]:.3g}, within the strain of {strain:g} that it is meant for: change its constants or lower "
                "measured_to."
            )

    def _number(self, name: str) -> float:
        value = getattr(self, name)
        if not is_number(value):
            raise self._invalid(name, "give a finite number")
        return float(value)

    def _invalid(self, name: str, remedy: str) -> InvalidValue:
        return InvalidValue(f"{name} = {getattr(self, name)!r} of material {self.name!r} cannot be used; {remedy}.")
