"""How the numbers that kernels read of a material change with its own constants, on the host.

A constant is changed as `Material.with_` changes it: another Young's modulus or Poisson's ratio scales the law, another
law brings its own modulus and leaves Poisson's ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from annelid.fem.hyperelastic import CRUSH_OF_SHEAR, law_of, volume_constants
from annelid.fem.kernels import law_rates as kernels
from annelid.fem.kernels.hyperelastic import BULK, CRUSH, FACTOR, FIRST, LAME, PULL
from annelid.materials import Gent, Law, Material, MooneyRivlin, NeoHooke, Ogden, OwnLaw, Yeoh

_IN_INVARIANTS: dict[type[Law], Any] = {
    NeoHooke: kernels.neo_hooke_rates, MooneyRivlin: kernels.mooney_rivlin_rates, Yeoh: kernels.yeoh_rates,
    Gent: kernels.gent_rates,
}  # fmt: skip

_STRIDE = 0.03
"""Change of a constant, as a part of it, for differences of sixth order."""
_DIFFERENCES = ((1, 45.0), (2, -9.0), (3, 1.0))


def rates_kernel(law: Law) -> Any:
    """The kernel that finds rates of the constants of a law."""
    if isinstance(law, Ogden):
        return kernels.stretch_rates_kernel(kernels.ogden_rates(len(law.terms)))
    if isinstance(law, OwnLaw) and law.of == "stretches":
        return kernels.stretch_rates_kernel(kernels.own_stretch_rates(law.energy))
    if isinstance(law, OwnLaw):
        return kernels.invariant_rates_kernel(kernels.own_invariant_rates(law.energy))
    return kernels.invariant_rates_kernel(_IN_INVARIANTS[type(law)])


def law_constants(law: Law) -> dict[str, np.ndarray]:
    """Constants of a law by the names of its fields: numbers, or arrays of them, in the order of `law.constants`."""
    values = {field.name: getattr(law, field.name) for field in fields(law)}
    return {name: np.array(value, float) for name, value in values.items() if isinstance(value, (Real, tuple))}


def changed_law(law: Law, changes: Mapping[str, np.ndarray]) -> Law:
    """A law with some constants replaced, arrays as their fields have them."""
    return replace(law, **{name: _as_field(value) for name, value in changes.items()})


def lame_slope(youngs_modulus: float, poisson_ratio: float) -> float:
    """How Lamé's first parameter λ changes with Poisson's ratio [Pa]."""
    nu = poisson_ratio
    return youngs_modulus * (1.0 + 2.0 * nu**2) / ((1.0 + nu) * (1.0 - 2.0 * nu)) ** 2


@dataclass(frozen=True, eq=False)
class _Change:
    """How a law and what goes with it change with one number: constants [c], tension at rest, shear and so on."""

    constants: np.ndarray
    pull: float
    shear: float
    swelling: float
    lame: float
    factor: float = 0.0


def row_slopes(material: Material, width: int, *, shared: bool, by_law: bool = False) -> dict[str, np.ndarray]:
    """Derivatives of a row of `hyperelastic.material_constants` with respect to each constant of its material.

    Args:
        material: The material.
        width: Length of a row.
        shared: Whether points share changes of volume.
        by_law: Whether the law stays as it is when Poisson's ratio changes, instead of Young's modulus.

    Returns:
        Rows by name, shape [..., width]: "youngs_modulus", "poisson_ratio", and the constants of the law it was given.
    """
    law, nu = law_of(material), material.poisson_ratio

    def row(change: _Change) -> np.ndarray:
        return _row(material, change, width, shared=shared)

    finite = np.isfinite(law.constants)
    growth = np.where(finite, law.scaled(2.0).constants, 0.0) - np.where(finite, law.constants, 0.0)
    lame = _lame(material.shear_modulus, nu)
    factor = law.factor if isinstance(law, OwnLaw) else 0.0
    stiffer = _Change(growth, law.pull, law.shear_modulus, law.swelling, lame, factor)
    shear_slope = 0.0 if by_law else -1.0 / (1.0 + nu)  # of the shear modulus with Poisson's ratio, as a part of it
    by_ratio = 2.0 * material.shear_modulus / (1.0 - 2.0 * nu) ** 2
    only_lame = _Change(np.zeros(len(finite)), 0.0, 0.0, 0.0, by_ratio)
    found = {
        "youngs_modulus": row(stiffer) / material.youngs_modulus,
        "poisson_ratio": shear_slope * row(stiffer) + row(only_lame),
    }
    if material.law is None:
        return found
    place = 0
    for name, values in law_constants(law).items():
        rows = []
        for index in np.ndindex(values.shape):
            own = np.zeros(len(finite))
            if name != "factor":
                own[place] = 1.0
                place += 1
            rows.append(row(_with_constant(law, name, index, own, nu)))
        found[name] = np.array(rows).reshape(*values.shape, width)
    return found


def _with_constant(law: Law, name: str, index: tuple[int, ...], own: np.ndarray, nu: float) -> _Change:
    """What one constant of a law changes."""
    values = law_constants(law)[name]
    size = abs(float(values[index])) or float(np.max(np.abs(np.where(np.isfinite(law.constants), law.constants, 0.0))))
    stride = _STRIDE * (size or 1.0)

    def at(steps: float) -> Law:
        moved = values.copy()
        moved[index] += steps * stride
        return changed_law(law, {name: moved})

    laws = [(weight, at(k), at(-k)) for k, weight in _DIFFERENCES]

    def slope(of: Callable[[Law], float]) -> float:
        return sum(weight * (of(more) - of(less)) for weight, more, less in laws) / (60.0 * stride)

    shear = slope(lambda each: each.shear_modulus)
    return _Change(
        own, slope(lambda each: each.pull), shear, slope(lambda each: each.swelling), _lame(shear, nu),
        1.0 if name == "factor" else 0.0,
    )  # fmt: skip


def _row(material: Material, change: _Change, width: int, *, shared: bool) -> np.ndarray:
    """How a row changes; where points share no changes of volume, λ stands beside κ too, for what never relaxes."""
    law = law_of(material)
    factor = law.factor if isinstance(law, OwnLaw) else 1.0
    local = (6.0 * change.shear + 6.0 * change.pull - change.swelling) / 9.0
    positive = volume_constants(material)[0] > 0.0
    row = np.zeros(width)
    row[PULL], row[CRUSH] = change.pull, CRUSH_OF_SHEAR * change.shear
    row[BULK] = (local if positive else 0.0) if shared else local + change.lame
    row[LAME] = change.lame + (0.0 if positive or not shared else local)
    row /= factor
    if change.factor:
        row[: len(_values(material, shared=shared))] -= _values(material, shared=shared) * change.factor / factor
        row[FACTOR] = change.factor
    row[FIRST : FIRST + len(change.constants)] = change.constants
    return row


def _values(material: Material, *, shared: bool) -> np.ndarray:
    """The part of a row that goes with a user's factor, whose inverse it is multiplied by."""
    law = law_of(material)
    factor = law.factor if isinstance(law, OwnLaw) else 1.0
    local, lame = volume_constants(material)
    bulk, rest = (max(local, 0.0), lame + min(local, 0.0)) if shared else (local + lame, lame)
    return np.array([0.0, law.pull, bulk, rest, CRUSH_OF_SHEAR * material.shear_modulus]) / factor


def _lame(shear: float, nu: float) -> float:
    return 2.0 * shear * nu / (1.0 - 2.0 * nu)


def _as_field(value: np.ndarray) -> Any:
    """A number, or a tuple of numbers or of tuples of them."""
    array = np.asarray(value, float)
    return array.item() if array.ndim == 0 else tuple(_as_field(each) for each in array)
