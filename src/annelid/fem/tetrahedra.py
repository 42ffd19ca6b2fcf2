"""Tetrahedra as element sets: which points and nodes make a cell, whatever the law of the material."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.distinct import distinct_rows
from annelid.core.replay import Crew
from annelid.fem.elements import ElementSet
from annelid.fem.history import History
from annelid.fem.kernels.solid import Cells
from annelid.fem.kernels.strains import point_strains
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
    pairs = distinct_rows(np.column_stack([np.repeat(number, width), members.ravel()]))
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
    """Tetrahedra with 4 or 10 nodes; subclasses say how they resist.

    Args:
        rest: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        crew: Where it is computed.
        cells: Tetrahedra with the same number share changes of volume, the remedy against volumetric locking;
            shape [t]. None leaves every integration point its own.

    Attributes:
        point_elements: Tetrahedron of each integration point, shape [p].
        point_volumes: Volume of each [m³], shape [p].
        point_nodes: Nodes of each, shape [p, s].
        volumes: Volume of each on the device [m³], float64 of shape [p].
    """

    def __init__(self, rest: np.ndarray, elements: np.ndarray, crew: Crew, *, cells: np.ndarray | None = None) -> None:
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
        self._crew, self._stiffer, self._plan = crew, 1.0, plan
        self.point_elements, self.point_volumes = owner[plan.order], volumes.reshape(-1)[plan.order]
        self.point_nodes = elements[self.point_elements]
        self.volumes = self._array(self.point_volumes, wp.float64)
        self._gradients = self._array(gradients.reshape(-1, width, 3)[plan.order], wp.vec3d)
        self._places = self._array(plan.places, wp.int32)
        self._cells = Cells()
        self._cells.first = self._array(plan.first, wp.int32)
        self._cells.used = self._array((plan.nodes >= 0).sum(axis=1), wp.int32)
        self._cells.volumes = self._array(np.add.reduceat(self.point_volumes, plan.first[:-1]), wp.float64)
        self._energies = wp.zeros(self.point_count, dtype=wp.float64, device=crew.device)

    @property
    def point_count(self) -> int:
        """Number of integration points."""
        return len(self.point_elements)

    @cached_property
    def _point_nodes(self) -> wp.array[Any]:
        return self._array(self.point_nodes, wp.int32)

    @property
    def gradients(self) -> wp.array[Any]:
        """Gradients of the shape functions at each point [1/m], vec3d of shape [p, s]."""
        return self._gradients

    @property
    def cells(self) -> Any:
        """Which points make a cell, a `kernels.solid.Cells`."""
        return self._cells

    @property
    def first_points(self) -> np.ndarray:
        """First point of each cell, and the number of points at the end, shape [c + 1]."""
        return self._plan.first

    @property
    def most_points(self) -> int:
        """Most integration points of a cell."""
        return int(np.diff(self._plan.first).max())

    @property
    def foresees(self) -> bool:
        """Whether equilibria are sought with pressures that are foreseen before the energy decides."""
        return False

    def foresee(self, move: wp.array[Any] | None) -> None:
        """Let tangents be those under the pressures that a move from where `evaluate` was leads to, to first order.

        Pressures of a nearly incompressible material are large multiples of small changes of volume. Those that a
        linearised move keeps are near the ones that are sought; those where it ends are not, for it turns parts of the
        solid along tangents, which makes them larger. Forces and energies stay what they are.

        Args:
            move: Move of each node [m], vec3d of shape [n]; None for tangents at the pressures of now again.
        """

    @property
    def foreseen(self) -> wp.array[Any]:
        """Pressures that `foresee` has found last, in its own order, float64 of shape [k]."""
        return wp.zeros(0, dtype=wp.float64, device=self.device)

    def foresee_as(self, pressures: wp.array[Any]) -> None:
        """Let tangents be those under pressures that were `foreseen` before, until `foresee(None)`."""

    @property
    def inverted(self) -> bool:
        """Whether `evaluate` has found a point inside out, where `foresees`."""
        return False

    @property
    def frames(self) -> wp.array[Any]:
        """How each point has turned, mat33d of shape [p], after `evaluate`: the rotation nearest to it."""
        raise NotImplementedError

    def stiffen(self, factor: float) -> None:
        """Multiply the moduli that the tetrahedra were given by a factor."""
        raise NotImplementedError

    def strains(self, positions: wp.array[Any], out: wp.array[Any]) -> None:
        """Largest principal strain of each point, the stretch less 1, float64 of shape [p].

        Args:
            positions: Positions of the nodes [m], vec3d of shape [n].
            out: Where they go.
        """
        inputs = [self._point_nodes, self._gradients, positions]
        wp.launch(point_strains, self.point_count, inputs, [out], device=self._crew.device)

    def von_mises(self, place: int, factors: wp.array[Any], out: wp.array[Any]) -> None:
        """Von Mises stress of each point [Pa], float64 of shape [p], after `evaluate`.

        Args:
            place: Which of the factors multiplies stresses.
            factors: Parameters of a world, float64; empty where there are none.
            out: Where stresses are written.
        """
        raise NotImplementedError

    def nominal_stresses(self) -> np.ndarray:
        """First Piola-Kirchhoff stress of each point [Pa], shape [p, 3, 3], on the host, after `evaluate`."""
        raise NotImplementedError

    def history(self) -> History:
        """What the material remembers of a solid that was at rest for ever."""
        return History()

    def pass_time(self, dt: float, history: History) -> None:
        """From now on `evaluate` answers as at the end of a time dt [s] after a history, until `rest`."""

    def remember(self, positions: wp.array[Any], history: History) -> None:
        """Take what happened in the time that passes into the history; it ended at these positions."""

    def rest(self) -> None:
        """From now on `evaluate` answers as after a very long time."""

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)
