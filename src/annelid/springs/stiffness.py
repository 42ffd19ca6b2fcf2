"""Spring constants from a material, and the elastic moduli of the lattice that they make."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.values import require_positive


def bar_stiffness(youngs_modulus: float, area: float, length: float) -> float:
    """Stiffness k = E A / L of a single bar [N/m] (Titan, eq. 2).

    Args:
        youngs_modulus: Young's modulus [Pa].
        area: Cross-section [m²].
        length: Rest length [m].
    """
    for name, value in (("youngs_modulus", youngs_modulus), ("area", area), ("length", length)):
        if not (is_number(value) and value > 0.0):
            raise InvalidValue(f"{name} of a bar must be positive, not {value!r:.60}.")
    return youngs_modulus * area / length


def round_area(diameter: float) -> float:
    """Cross-section of a round bar [m²] from its diameter [m]."""
    return math.pi * diameter**2 / 4


def lattice_stiffness(youngs_modulus: float | np.ndarray, pitch: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Constants of edges, face diagonals and body diagonals [N/m] that give the bulk this Young's modulus.

    A full cubic lattice has C11 = (k1 + 2 k2 + 4/3 k3)/a and C12 = C44 = (k2 + 4/3 k3)/a. It is isotropic when
    k1 = k2 + 8/3 k3; then Poisson's ratio is 1/4 and E = 5/2 C12. One freedom is left, which changes neither the moduli
    nor the stable step: the two kinds of diagonals carry equal shares of C12 here.
    """
    modulus = as_numbers("youngs_modulus", youngs_modulus)
    require_positive("pitch", pitch)
    if not modulus.size:
        raise InvalidValue("youngs_modulus must be one number, or one for each link, not an empty list.")
    if not (np.isfinite(modulus).all() and (modulus > 0.0).all()):
        raise InvalidValue(f"youngs_modulus must be positive, not {modulus.min()}.")
    c12 = modulus * pitch * 2 / 5
    face, body = c12 / 2, c12 / 2 * 3 / 4
    return face + body * 8 / 3, face, body


def lattice_modulus(stiffness: tuple[float, float, float], pitch: float) -> float:
    """Young's modulus along an axis [Pa] of a full lattice with these constants (edge, face, body diagonal) [N/m]."""
    return directional_modulus(elastic_tensor(stiffness, pitch), np.array([1.0, 0.0, 0.0]))


def elastic_tensor(stiffness: tuple[float, float, float], pitch: float) -> np.ndarray:
    """Elastic tensor of the bulk [Pa], shape [3, 3, 3, 3]: the sum of k L² n⊗n⊗n⊗n over a cell, by its volume."""
    tensor = np.zeros((3, 3, 3, 3))
    for direction in product((-1, 0, 1), repeat=3):
        squared = sum(d * d for d in direction)
        if squared:
            n = np.array(direction) / math.sqrt(squared)
            weight = stiffness[squared - 1] * squared * pitch**2 / (2 * pitch**3)
            tensor += weight * np.einsum("i,j,k,l->ijkl", n, n, n, n)
    return tensor


def directional_modulus(tensor: np.ndarray, direction: np.ndarray) -> float:
    """Young's modulus along a direction [Pa]."""
    n = np.asarray(direction, float) / np.linalg.norm(direction)
    return 1.0 / float(np.einsum("ijkl,i,j,k,l->", _compliance(tensor), n, n, n, n))


def shear_modulus(tensor: np.ndarray, normal: np.ndarray, direction: np.ndarray) -> float:
    """Shear modulus [Pa] of planes with this normal that slide along this direction."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    m = np.asarray(direction, float) / np.linalg.norm(direction)
    return 1.0 / (4.0 * float(np.einsum("ijkl,i,j,k,l->", _compliance(tensor), n, m, n, m)))


def _compliance(tensor: np.ndarray) -> np.ndarray:
    """Inverse of an elastic tensor on symmetric strains."""
    return np.linalg.pinv(tensor.reshape(9, 9), hermitian=True).reshape(3, 3, 3, 3)
