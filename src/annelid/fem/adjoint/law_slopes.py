"""How the numbers that kernels read of a material change with its own constants, on the host.

A constant is changed as `Material.with_` changes it: another Young's modulus or Poisson's ratio scales the law, another
law brings its own modulus and leaves Poisson's ratio.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from numbers import Real
from typing import Any

import numpy as np

from annelid.fem.hyperelastic import CRUSH_OF_SHEAR, law_of, volume_constants
from annelid.fem.kernels.hyperelastic import BULK, CRUSH, FIRST, LAME, PULL
from annelid.materials import Law, Material
from annelid.materials.laws import AtRest


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
    count, place = len(law.constants), 0

    def row(constants: np.ndarray, change: AtRest, lame: float) -> np.ndarray:
        return _row(material, constants, change, lame, width, shared=shared)

    finite = np.where(np.isfinite(law.constants), law.constants, 0.0)
    doubled = np.where(np.isfinite(law.constants), law.scaled(2.0).constants, 0.0)
    at_rest = AtRest(law.pull, law.shear_modulus, law.swelling)
    stiffer = row(doubled - finite, at_rest, _lame(law.shear_modulus, nu))
    shear_slope = 0.0 if by_law else -1.0 / (1.0 + nu)  # of the shear modulus with Poisson's ratio, as a part of it
    only_lame = row(np.zeros(count), AtRest(0.0, 0.0, 0.0), 2.0 * material.shear_modulus / (1.0 - 2.0 * nu) ** 2)
    found = {
        "youngs_modulus": stiffer / material.youngs_modulus,
        "poisson_ratio": shear_slope * stiffer + only_lame,
    }
    if material.law is None:
        return found
    for name, values in law_constants(law).items():
        changes = [(number, law.at_rest_by(number)) for number in range(place, place + values.size)]
        rows = [row(np.eye(count)[number], change, _lame(change.shear, nu)) for number, change in changes]
        found[name] = np.array(rows).reshape(*values.shape, width)
        place += values.size
    return found


def _row(
    material: Material, constants: np.ndarray, change: AtRest, lame: float, width: int, *, shared: bool
) -> np.ndarray:
    """How a row changes; where points share no changes of volume, λ stands beside κ too, for what never relaxes."""
    local = (6.0 * change.shear + 6.0 * change.pull - change.swelling) / 9.0
    positive = volume_constants(material)[0] > 0.0
    row = np.zeros(width)
    row[PULL], row[CRUSH] = change.pull, CRUSH_OF_SHEAR * change.shear
    row[BULK] = (local if positive else 0.0) if shared else local + lame
    row[LAME] = lame + (0.0 if positive or not shared else local)
    row[FIRST : FIRST + len(constants)] = constants
    return row


def _lame(shear: float, nu: float) -> float:
    return 2.0 * shear * nu / (1.0 - 2.0 * nu)


def _as_field(value: np.ndarray) -> Any:
    """A number, or a tuple of numbers or of tuples of them."""
    array = np.asarray(value, float)
    return array.item() if array.ndim == 0 else tuple(_as_field(each) for each in array)
