"""Co-rotational tetrahedra as an element set: linear ones, alone or several with one volume, and 10-node ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.parameters import scale_moduli
from annelid.fem.kernels.solid import Cells, Points, cell_kernel, point_kernel, row_kernel
from annelid.fem.shape_functions import point_gradients


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which integration points make a cell, and which nodes a cell has.

    Attributes:
        order: Order of the points in which those of a cell follow each other, shape [p].
        first: First point of each cell, and the number of points at the end, shape [c + 1].
        nodes: Nodes of each cell, filled up with -1, shape [c, m].
        places: Which of its nodes a point has at each place of its cell, -1 where none, shape [p, m].
    """

    order: np.ndarray
    first: np.ndarray
    nodes: np.ndarray
    places: np.ndarray


def grouped(point_nodes: np.ndarray, cells: np.ndarray) -> Grouping:
    """Put points of equal cell number together.

    Args:
        point_nodes: Nodes of each point, shape [p, s].
        cells: Cell of each point, any integers, shape [p].
    """
    order = np.argsort(cells, kind="stable")
    _, first, number = np.unique(cells[order], return_index=True, return_inverse=True)
    count, width = len(first), point_nodes.shape[1]
    members = point_nodes[order]
    pairs = np.unique(np.column_stack([np.repeat(number, width), members.ravel()]), axis=0)
    start = np.searchsorted(pairs[:, 0], np.arange(count + 1))
    rank = np.arange(len(pairs)) - start[pairs[:, 0]]
    nodes = np.full((count, int(rank.max()) + 1), -1, np.int32)
    nodes[pairs[:, 0], rank] = pairs[:, 1]
    places = np.full((len(members), nodes.shape[1]), -1, np.int32)
    for i in range(width):
        slot = np.argmax(nodes[number] == members[:, i, None], axis=1)
        places[np.arange(len(members)), slot] = i
    return Grouping(order, np.append(first, len(members)).astype(np.int32), nodes, places)


class Tetrahedra(ElementSet):
    """Tetrahedra with 4 or 10 nodes.

    Args:
        rest: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        shear: Shear modulus μ of each tetrahedron [Pa], shape [t].
        lame: Lamé's first parameter λ of each tetrahedron [Pa], shape [t].
        crew: Where it is computed.
        cells: Tetrahedra with the same number share one change of volume, the remedy against volumetric locking;
            shape [t]. None leaves every integration point its own.

    Attributes:
        points: The integration points on the device, with what `evaluate` left there: rotations, strains.
        point_elements: Tetrahedron of each point, shape [p].
    """

    def __init__(
        self,
        rest: np.ndarray,
        elements: np.ndarray,
        shear: np.ndarray,
        lame: np.ndarray,
        crew: Crew,
        *,
        cells: np.ndarray | None = None,
    ) -> None:
        count, width = elements.shape
        gradients, volumes = point_gradients(rest, elements)
        each = gradients.shape[1]
        owner = np.repeat(np.arange(count), each)
        group = owner if cells is None else np.repeat(cells, each)
        plan = grouped(elements[owner], group)
        self.whole = plan.nodes.shape[1] == width and len(plan.nodes) == count
        if self.whole:  # every cell is one element, whose own order of nodes will do
            plan = Grouping(plan.order, plan.first, elements[owner[plan.first[:-1]]], np.zeros((1, 1), np.int32))
        super().__init__(plan.nodes, crew.device)
        owner = owner[plan.order]
        self.point_elements, self.point_volumes = owner, volumes.reshape(-1)[plan.order]
        self.mean = cells is not None
        self.points = self._points(
            elements[owner], gradients.reshape(-1, width, 3)[plan.order], shear[owner], lame[owner]
        )
        self.points.places = self._array(plan.places, wp.int32)
        self._cells = Cells()
        self._cells.first = self._array(plan.first, wp.int32)
        self._cells.used = self._array((plan.nodes >= 0).sum(axis=1), wp.int32)
        self._cells.volumes = self._array(np.add.reduceat(self.point_volumes, plan.first[:-1]), wp.float64)
        self._crew, self._stiffer = crew, 1.0
        self._energies = wp.zeros(len(owner), dtype=wp.float64, device=crew.device)
        self._strain, self._sum, self._rows = self._commands(crew, width)

    @property
    def point_count(self) -> int:
        """Number of integration points."""
        return len(self.point_elements)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        self._strain((0, positions))
        self._sum()
        self._rows[tangent]()

    def stiffen(self, factor: float) -> None:
        """Multiply the moduli that the tetrahedra were given by a factor."""
        if factor != self._stiffer:
            self._stiffer = factor
            self._stiffen((0, wp.float64(factor)))

    @cached_property
    def _stiffen(self) -> Command:
        moduli = self.points.shear, self.points.lame
        copies = (wp.clone(each) for each in moduli)
        return self._crew.command(scale_moduli, self.point_count, [wp.float64(1.0), *copies, *moduli])

    def _points(self, nodes: np.ndarray, gradients: np.ndarray, shear: np.ndarray, lame: np.ndarray) -> Any:
        count, points = len(nodes), Points()  # type: int, Any
        points.nodes = self._array(nodes, wp.int32)
        points.gradients = self._array(gradients, wp.vec3d)
        points.volumes = self._array(self.point_volumes, wp.float64)
        points.shear, points.lame = self._array(shear, wp.float64), self._array(lame, wp.float64)
        for name in ("rotations", "strains", "spins"):
            setattr(points, name, wp.zeros(count, dtype=wp.mat33d, device=self.device))
        points.turned = wp.zeros(nodes.shape, dtype=wp.vec3d, device=self.device)
        points.dilations = wp.zeros(count, dtype=wp.float64, device=self.device)
        return points

    def _commands(self, crew: Crew, width: int) -> tuple[Command, Command, dict[bool, Command]]:
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=crew.device)
        most = int(np.diff(self._cells.first.numpy()).max())
        rows = [self.nodes.shape[1], self.points, self._cells, self.forces, self.tangent]
        return (
            crew.command(point_kernel(width), self.point_count, [nowhere, self.points, self._energies]),
            crew.command(
                cell_kernel(self.mean), self.element_count, [self.points, self._cells, self._energies, self.energy]
            ),
            {
                wanted: crew.command(row_kernel(width, most, self.mean, self.whole, wanted), self.nodes.size, rows)
                for wanted in (False, True)
            },
        )

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)
