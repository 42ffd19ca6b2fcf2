"""Rates of a loss with densities and with nodes at rest, by way of the masses of nodes and of elements."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp
from scipy import sparse

from annelid.fem.adjoint.element_rates import summed_at
from annelid.fem.shape_functions import point_gradients, rule, values
from annelid.fem.solid import Solid


class MassRates:
    """What rates of masses make of those of densities and of nodes at rest.

    Args:
        solid: The solid.
        coupled: Whether its masses are the coupled ones of 10-node elements in motion, instead of `solid.weights()`.
    """

    def __init__(self, solid: Solid, *, coupled: bool = False) -> None:
        linear = solid.elements.shape[1] == 4
        self._solid, self._degree = solid, 4 if coupled else 1 if linear else 3  # enough to be exact
        self._shape = values(solid.elements.shape[1], rule(self._degree)[0])

    def of_weights(self, rates: np.ndarray) -> np.ndarray:
        """Rates of the masses of integration points [t, q], from those of the weights of nodes [1/kg], shape [n]."""
        return np.asarray(rates[self._solid.elements] @ self._shape.T)

    def of_elements(self, rates: np.ndarray) -> np.ndarray:
        """The same from rates of the masses of elements [1/kg], shape [t, s, s]."""
        return np.asarray(np.einsum("tab,qa,qb->tq", rates, self._shape, self._shape, optimize=True))

    def densities(self, rates: np.ndarray) -> np.ndarray:
        """Rates of the density of each material, shape [m], from those of points."""
        _, volumes = self._points
        by_element = (rates * volumes).sum(axis=1)
        return np.bincount(self._solid.element_materials, by_element, len(self._solid.materials))

    def nodes(self, rates: np.ndarray) -> np.ndarray:
        """Rates of the nodes at rest [1/m], shape [n, 3], from those of points."""
        gradients, volumes = self._points
        masses = rates * volumes * self._solid.property_of("density")[:, None]
        flux = np.einsum("tq,tqsi->tsi", masses, gradients, optimize=True)
        return summed_at(self._solid.elements, flux, self._solid.node_count)

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        return point_gradients(self._solid.nodes, self._solid.elements, self._degree)


def of_motion(solid: Solid, weights: np.ndarray, inertia: np.ndarray, *, nodes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the density of each material, shape [m], and of the nodes at rest, shape [n, 3], of a solid in motion.

    Args:
        solid: The solid.
        weights: Rates of the weights of nodes [1/kg], shape [n].
        inertia: Rates of the masses of elements of inertia, see `dynamics.masses` [1/kg], shape [k, m, m].
        nodes: Whether those of the nodes are wanted; else they are 0.
    """
    lumped, weighed = solid.elements.shape[1] == 4, MassRates(solid)
    points = weighed.of_weights(weights + inertia[:, 0, 0] if lumped else weights)
    density, shaped = weighed.densities(points), np.zeros(solid.nodes.shape)
    if nodes:
        shaped = weighed.nodes(points)
    if not lumped:
        moved = MassRates(solid, coupled=True)
        points = moved.of_elements(inertia)
        density = density + moved.densities(points)
        shaped = shaped + moved.nodes(points) if nodes else shaped
    return density, shaped


def mass_rows(nodes: np.ndarray, shares: np.ndarray, count: int, device: wp.Device) -> list[wp.array[Any]]:
    """The matrix of masses by rows, on the device: where each begins, columns, values.

    Args:
        nodes: Nodes of elements of inertia, shape [k, m].
        shares: Their masses [kg], shape [k, m, m].
        count: Number of nodes of the solid.
        device: Where the arrays live.
    """
    width = nodes.shape[1]
    rows, columns = np.repeat(nodes, width, axis=1).ravel(), np.tile(nodes, (1, width)).ravel()
    matrix = sparse.csr_array(sparse.coo_array((shares.ravel(), (rows, columns)), shape=(count, count)))
    matrix.sum_duplicates()
    places = (matrix.indptr, matrix.indices)
    indices = [wp.array(part.astype(np.int32), dtype=wp.int32, device=device) for part in places]
    return [*indices, wp.array(matrix.data, dtype=wp.float64, device=device)]
