"""Rates of a loss with the materials of tetrahedra and with their nodes at rest, gathered point by point.

A loss that depends on where forces balance changes with whatever they depend on: by z times the change of the forces,
with z from one solve. Points add up what that makes for each of their constants, over as many solves as there are; the
host makes rates of materials and of nodes of it once, at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Crew
from annelid.fem.adjoint.law_slopes import lame_slope, row_slopes
from annelid.fem.corotational import Corotational
from annelid.fem.hyperelastic import Hyperelastic
from annelid.fem.kernels.law_rates import rates_kernel
from annelid.fem.kernels.point_rates import (
    corotational_shape_kernel,
    project_cells,
    rate_moduli,
    rate_volumes,
    shape_hyperelastic,
    slope_points,
)
from annelid.fem.shape_functions import point_places, rule, values
from annelid.fem.solid import Solid
from annelid.fem.tetrahedra import Tetrahedra

Rates = dict[str, np.ndarray]


class ElementRates:
    """What the points of some tetrahedra add up; subclasses say how they resist.

    Args:
        solid: The solid.
        tetrahedra: Its elements.
        columns: Constants of each point.
        crew: Where it is computed.
        nodes: Whether rates of the nodes at rest are wanted.
    """

    def __init__(self, solid: Solid, tetrahedra: Tetrahedra, columns: int, crew: Crew, *, nodes: bool) -> None:
        self._solid, self._crew, self._shaped = solid, crew, nodes
        self._tetrahedra = tetrahedra
        count = tetrahedra.point_count
        self._slopes, self._shapes = self._zeros(count, wp.mat33d), self._zeros(count if nodes else 0, wp.mat33d)
        self._rates = self._zeros((count, columns), wp.float64)
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=crew.device)
        where = [wp.array(tetrahedra.point_nodes, dtype=wp.int32, device=crew.device), tetrahedra.gradients]
        self._slope = crew.command(slope_points, count, [*where, nowhere, self._slopes])

    def clear(self) -> None:
        """Begin with nothing."""
        self._rates.zero_()
        self._shapes.zero_()

    def add(self, adjoint: wp.array[Any], positions: wp.array[Any]) -> None:
        """Add what a solution z, vec3d of shape [n], makes of each constant, where the assembly was evaluated last.

        Args:
            adjoint: z, vec3d of shape [n].
            positions: Where it was evaluated, with the tangent [m], vec3d of shape [n].
        """
        self._slope((2, adjoint))
        self._add(positions)

    def materials(self, *, by_law: bool = False) -> Rates:
        """Rates of the constants of each material, by name, shape [m, ...]; 0 where a material has no such constant.

        Args:
            by_law: Whether laws stay as they are when Poisson's ratio changes, instead of Young's moduli.
        """
        raise NotImplementedError

    def nodes(self) -> np.ndarray:
        """Rates of the nodes at rest [1/m], shape [n, 3], as far as the forces of the elements depend on them."""
        flux = np.einsum("pij,psj->psi", self._shapes.numpy(), self._tetrahedra.gradients.numpy())
        return summed_at(self._tetrahedra.point_nodes, flux + self._of_places(), self._solid.node_count)

    def _add(self, positions: wp.array[Any]) -> None:
        raise NotImplementedError

    def _of_places(self) -> np.ndarray | float:
        """What the places of points at rest add to their nodes, shape [p, s, 3]."""
        return 0.0

    def _by_material(self) -> np.ndarray:
        """Sums over the points of each material, shape [m, columns]."""
        rates = self._rates.numpy()
        owners = self._solid.element_materials[self._tetrahedra.point_elements]
        count = len(self._solid.materials)
        return np.stack([np.bincount(owners, column, count) for column in rates.T], axis=1)

    def _zeros(self, shape: int | tuple[int, ...], dtype: Any) -> wp.array[Any]:
        return wp.zeros(shape, dtype=dtype, device=self._crew.device)


class CorotationalRates(ElementRates):
    """Rates of co-rotational tetrahedra."""

    def __init__(self, solid: Solid, tetrahedra: Corotational, crew: Crew, *, nodes: bool) -> None:
        super().__init__(solid, tetrahedra, 2, crew, nodes=nodes)
        points, count = tetrahedra.points, tetrahedra.point_count
        self._moduli = crew.command(rate_moduli, count, [points, self._slopes, self._rates])
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=crew.device)
        kernel = corotational_shape_kernel(tetrahedra.point_nodes.shape[1], tetrahedra.mean)
        arguments = [nowhere, points, tetrahedra.cells, self._slopes, self._shapes]
        self._shape = crew.command(kernel, tetrahedra.element_count, arguments)

    def _add(self, positions: wp.array[Any]) -> None:
        self._moduli()
        if self._shaped:
            self._shape((0, positions))

    def materials(self, *, by_law: bool = False) -> Rates:
        """Rates of Young's modulus and of Poisson's ratio."""
        found: Rates = {}
        for name in ("youngs_modulus", "poisson_ratio"):
            found[name] = np.zeros(len(self._solid.materials))
        for number, (material, (shear, lame)) in enumerate(
            zip(self._solid.materials, self._by_material(), strict=True)
        ):
            modulus, nu = material.youngs_modulus, material.poisson_ratio
            own_lame = material.bulk_modulus - 2.0 / 3.0 * material.shear_modulus
            found["youngs_modulus"][number] = (shear * material.shear_modulus + lame * own_lame) / modulus
            by_shear = -material.shear_modulus / (1.0 + nu)
            found["poisson_ratio"][number] = shear * by_shear + lame * lame_slope(modulus, nu)
        return found


class HyperelasticRates(ElementRates):
    """Rates of hyperelastic tetrahedra."""

    def __init__(self, solid: Solid, tetrahedra: Hyperelastic, crew: Crew, *, nodes: bool) -> None:
        self._width, table = tetrahedra.constants
        super().__init__(solid, tetrahedra, self._width + 1, crew, nodes=nodes)
        points, cells = tetrahedra.points, tetrahedra.cells
        self._hyperelastic, self._shared = tetrahedra, points.modes.shape[1] > 0
        self._whole = wp.ones(len(solid.materials), dtype=wp.float64, device=crew.device)
        gains, lames = tetrahedra.relaxing
        shape = tetrahedra.element_count, points.modes.shape[1]
        thetas, speeds = self._zeros(shape, wp.float64), self._zeros(shape, wp.float64)
        self._laws = [
            crew.command(
                rates_kernel(form),
                len(members),
                [members, self._width, table, gains, points, self._slopes, self._rates],
            )
            for form, members in tetrahedra.members.items()
        ]
        self._project = crew.command(project_cells, shape[0], [points, cells, self._slopes, thetas, speeds])
        about = [self._width, table, gains, lames, points, cells, self._slopes, thetas, self._rates]
        self._volumes = crew.command(rate_volumes, shape[0], about)
        moving = nodes and shape[1] > 1
        self._places = self._zeros(tetrahedra.point_count if moving else 0, wp.vec3d)
        slopes = wp.array(self._mode_slopes() if moving else np.zeros((0, 0, 3)), dtype=wp.vec3d, device=crew.device)
        about = [self._width, table, slopes, points, cells, self._slopes, thetas, speeds, self._shapes, self._places]
        self._shape = crew.command(shape_hyperelastic, shape[0], about)

    @property
    def constants(self) -> wp.array[Any]:
        """What it has of the constants of each point, float64 of shape [p, columns]."""
        return self._rates

    @property
    def slopes(self) -> wp.array[Any]:
        """Slope of the last z at each point, or what stands for it, mat33d of shape [p]."""
        return self._slopes

    @property
    def shapes(self) -> wp.array[Any]:
        """What it has of the shape of each point, H of `kernels.point_rates`, mat33d of shape [p]."""
        return self._shapes

    def add_laws(self) -> None:
        """Add what `slopes` makes of the constants of laws alone, where no time passes."""
        for law in self._laws:
            law((3, self._whole))

    def clear(self) -> None:
        """Begin with nothing."""
        super().clear()
        self._places.zero_()

    def _add(self, positions: wp.array[Any]) -> None:
        gains, lames = self._hyperelastic.relaxing
        for law in self._laws:
            law((3, gains))
        self._project()
        self._volumes((2, gains), (3, lames))
        if self._shaped:
            self._shape()

    def materials(self, *, by_law: bool = False) -> Rates:
        """Rates of Young's modulus, Poisson's ratio and the constants of laws."""
        found: Rates = {}
        sums, materials = self._by_material(), self._solid.materials
        for number, material in enumerate(materials):
            for name, rows in row_slopes(material, self._width, shared=self._shared, by_law=by_law).items():
                rate = rows @ sums[number, : self._width]
                found[name] = _with_room(found.get(name), (len(materials), *rate.shape))
                place: tuple[int | slice, ...] = (number, *(slice(0, size) for size in rate.shape))
                found[name][place] = rate
        return found

    def relaxed(self) -> np.ndarray:
        """Rates of the part of the resistance to changes of shape that is left, of each material, shape [m]."""
        return np.asarray(self._by_material()[:, self._width])

    def _of_places(self) -> np.ndarray | float:
        if not len(self._places):
            return 0.0
        points, _ = rule(2)
        shares = values(self._solid.elements.shape[1], points)
        # Points of an element come in the order of the rule, whichever cell they are in.
        order = np.argsort(np.argsort(self._tetrahedra.point_elements, kind="stable"), kind="stable") % len(points)
        return np.asarray(shares[order][:, :, None] * self._places.numpy()[:, None, :])

    def _mode_slopes(self) -> np.ndarray:
        """Slope of each function of place, which is linear over a cell [1/m], shape [c, k, 3]."""
        first, owners = self._tetrahedra.first_points, self._tetrahedra.point_elements
        each = point_places(self._solid.nodes, self._solid.elements).reshape(len(self._solid.elements), -1, 3)
        number = np.argsort(np.argsort(owners, kind="stable"), kind="stable") % each.shape[1]
        places, modes = each[owners, number], self._hyperelastic.points.modes.numpy()
        slopes = np.zeros((len(first) - 1, modes.shape[1], 3))
        for cell, (begin, end) in enumerate(zip(first[:-1], first[1:], strict=True)):
            away = places[begin:end] - places[begin:end].mean(axis=0)
            columns = np.column_stack([np.ones(end - begin), away])
            slopes[cell] = np.linalg.lstsq(columns, modes[begin:end], rcond=None)[0][1:].T
        return slopes


def element_rates(solid: Solid, tetrahedra: Tetrahedra, crew: Crew, *, nodes: bool) -> ElementRates:
    """What gathers the rates of some tetrahedra."""
    if isinstance(tetrahedra, Hyperelastic):
        return HyperelasticRates(solid, tetrahedra, crew, nodes=nodes)
    assert isinstance(tetrahedra, Corotational)
    return CorotationalRates(solid, tetrahedra, crew, nodes=nodes)


def summed_at(nodes: np.ndarray, vectors: np.ndarray, count: int) -> np.ndarray:
    """Sums over vectors of shape [..., 3] at each of some nodes, shape [n, 3]."""
    flat, at = vectors.reshape(-1, 3), nodes.ravel()
    return np.stack([np.bincount(at, column, count) for column in flat.T], axis=1)


def _with_room(array: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """An array with room for a shape, and what it held; zeros elsewhere."""
    if array is None:
        return np.zeros(shape)
    roomy = np.zeros(np.maximum(array.shape, shape))
    roomy[tuple(slice(0, size) for size in array.shape)] = array
    return roomy
