"""A term that resists changes of volume, for materials that springs alone cannot describe.

An isotropic network of springs has Poisson's ratio 1/4: both of Lamé's constants are 2/5 of its Young's modulus. An
energy ½ κ V (J - 1)² in every cell of the lattice, with J the ratio of its volume to that at rest, adds κ to the first
of them and nothing to the second, which reaches any ratio from 1/4 to just below 1/2.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.materials import Material
from annelid.shapes.lattice import Lattice

_CORNERS = np.array(list(product((0, 1), repeat=3)))
_LEVI_CIVITA = np.zeros((3, 3, 3))
_LEVI_CIVITA[(0, 1, 2), (1, 2, 0), (2, 0, 1)] = 1.0
_LEVI_CIVITA[(0, 2, 1), (2, 1, 0), (1, 0, 2)] = -1.0


def split_moduli(material: Material) -> tuple[float, float]:
    """Young's modulus of the springs and κ of the volume term [Pa] that together have a material's two constants."""
    require_kind("the material", material, Material, "a material, such as annelid.materials.material('pdms')")
    shear, nu = material.shear_modulus, material.poisson_ratio
    first = 2 * shear * nu / (1 - 2 * nu)
    if first < shear:
        raise InvalidValue(
            f"Poisson's ratio {nu} of {material.name!r} is below 1/4, that of springs alone; use springs without a "
            "volume term, which only raises it."
        )
    return 2.5 * shear, first - shear


class VolumeTerm:
    """Cells of a lattice that resist changes of their volume.

    Args:
        lattice: The lattice that the body was made of; the masses are its nodes.
        modulus: κ [Pa], one for all or one for each cell of the grid.
    """

    def __init__(self, lattice: Lattice, modulus: float | np.ndarray) -> None:
        place = np.round((lattice.nodes - lattice.origin) / lattice.pitch).astype(int)
        numbers = np.full(np.array(lattice.cells.shape) + 1, -1)
        numbers[tuple(place.T)] = np.arange(len(place))
        corners = np.argwhere(lattice.cells)[:, None] + _CORNERS
        self.cells = numbers[tuple(np.moveaxis(corners, -1, 0))]
        self.weight = np.broadcast_to(modulus, lattice.cells.shape)[lattice.cells] * lattice.pitch**3
        self._slopes = (2 * _CORNERS - 1) / (4 * lattice.pitch)  # of the corner functions at the middle of a cell

    def energy(self, positions: np.ndarray) -> float:
        """Energy [J]."""
        return float(0.5 * np.sum(self.weight * (np.linalg.det(self._gradient(positions)) - 1.0) ** 2))

    def forces(self, positions: np.ndarray) -> np.ndarray:
        """Force on every mass [N], shape [n, 3]."""
        gradient = self._gradient(positions)
        push = -self.weight * (np.linalg.det(gradient) - 1.0)
        forces = push[:, None, None] * self._slopes_of_volume(gradient)
        return np.stack(
            [np.bincount(self.cells.ravel(), forces[..., i].ravel(), len(positions)) for i in range(3)], axis=1
        )

    def blocks(self, positions: np.ndarray, *, convex: bool = False) -> np.ndarray:
        """Second derivatives between any two corners of every cell [N/m], shape [c, 8, 8, 3, 3]."""
        gradient = self._gradient(positions)
        slopes = self._slopes_of_volume(gradient)
        blocks = np.einsum("c,cni,cmj->cnmij", self.weight, slopes, slopes)
        if not convex:
            pressure = self.weight * (np.linalg.det(gradient) - 1.0)
            across = np.cross(self._slopes[:, None], self._slopes[None, :])
            turned = np.einsum("c,cpq,nmq->cnmp", pressure, gradient, across)
            blocks += np.einsum("ijp,cnmp->cnmij", _LEVI_CIVITA, turned)
        return blocks

    def _gradient(self, positions: np.ndarray) -> np.ndarray:
        """Deformation gradient in the middle of every cell, shape [c, 3, 3]."""
        return np.einsum("cni,nj->cij", positions[self.cells], self._slopes)

    def _slopes_of_volume(self, gradient: np.ndarray) -> np.ndarray:
        """Derivative of J by every corner [1/m], shape [c, 8, 3]."""
        first, second, third = np.moveaxis(gradient, 2, 0)
        cofactor = np.stack([np.cross(second, third), np.cross(third, first), np.cross(first, second)], axis=2)
        return np.einsum("cij,nj->cni", cofactor, self._slopes)
