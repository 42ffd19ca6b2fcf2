"""Element sets: groups of elements with a fixed connectivity, whose energy, forces and tangents the assembly gathers.

A set of tetrahedra, the triangles of a cavity, springs to fixed points: whatever has an energy that depends on the
positions of a few nodes each is an element set, and everything that moves a solid is a sum over such sets. A set knows
its nodes when the model is built; the assembly works out then, once, which entries of which sets sum into which force
and which block of the matrix, in a fixed order.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.recipe import Maker, Stateful


class ElementSet(Stateful):
    """Elements of one kind. A subclass overrides `evaluate`, which fills the arrays below on the device.

    Args:
        nodes: Nodes of each element, int of shape [k, m]; -1 marks a place that an element does not use.
        device: Where the arrays live.
        tangent: Whether elements have a tangent at all; a set without one acts as a load that follows the nodes.

    Attributes:
        nodes: Nodes of each element, int32 of shape [k, m].
        energy: Energy U of each element [J], float64 of shape [k].
        forces: Force of each element on its nodes, -∂U/∂x [N], vec3d of shape [k, m].
        made_of: Arguments that it was made with.
        tangent: Blocks ∂²U/∂x_a∂x_b [N/m], mat33d of shape [k, m, m]; only those with a <= b are read, the others
            are their transposes. Shape [0, m, m] for a set without a tangent.
    """

    made_of: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Keep what it is made of, by which checkpoints know it."""
        made = super().__new__(cls)
        made.made_of = given, options
        return made

    def __init__(self, nodes: np.ndarray, device: wp.Device, *, tangent: bool = True) -> None:
        self.nodes = np.ascontiguousarray(nodes, np.int32)
        if self.nodes.ndim != 2:
            raise InvalidValue(f"the nodes of an element set must have the shape [k, m], not {list(self.nodes.shape)}.")
        count, width = self.nodes.shape
        self.device, self.has_tangent = device, tangent
        self.energy = wp.zeros(count, dtype=wp.float64, device=device)
        self.forces = wp.zeros((count, width), dtype=wp.vec3d, device=device)
        self.tangent = wp.zeros((count if tangent else 0, width, width), dtype=wp.mat33d, device=device)

    def maker(self) -> Maker:
        """What makes another one of the same."""
        given, options = self.made_of
        return Maker(type(self), *given, **options)

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return len(self.nodes)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Fill `energy`, `forces` and, where asked for, `tangent`, without waiting for the device.

        Args:
            positions: Positions of all nodes [m], vec3d of shape [n].
            tangent: Whether the tangent is needed; a line search needs energy and forces only.
        """
        raise NotImplementedError

    def ramp(self, fraction: float) -> None:
        """Act with a part of the full load, between 0 and 1; sets that carry no load ignore it.

        Equilibria under a large load are found by way of smaller ones.
        """
