"""A lattice to work on: its cells can be cut away and painted, its nodes fixed and actuated, and it becomes a body.

Everything is remembered by place in the whole grid, so that it survives whatever is done to other parts.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.materials import material
from annelid.shapes import TriangleMesh
from annelid.shapes.lattice import Lattice, Region, Solid
from annelid.shapes.partition import Partition
from annelid.springs.covering import cover_rest

_CORNERS = tuple(product((0, 1), repeat=3))


class Blank:
    """A solid as a lattice, before it is a body.

    Args:
        solid: The shape.
        pitch: Edge of a cell [m].
        matter: Name of its material.
    """

    def __init__(self, solid: Solid, pitch: float, matter: str) -> None:
        self._bounds = solid.bounds()
        self.grid = Lattice.fill(solid, pitch)
        self._skin = Partition(solid, self.grid) if isinstance(solid, TriangleMesh) else None
        self.kept = self.grid.cells.copy()
        self.materials = [material(matter).name]
        self._matter = np.zeros(self.kept.shape, np.int16)
        self.node_shape = tuple(n + 1 for n in self.kept.shape)
        self.fixed = np.zeros(self.node_shape, bool)
        self._signals: list[tuple[np.ndarray, springs.Signal]] = []

    # --- what a lattice asks of a solid ---

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner of the whole solid [m]."""
        return self._bounds

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Whether the cell around each of the points [n, 3] is still there, shape [n]."""
        return self._at(self.kept, points)

    # --- work ---

    def cut(self, cells: np.ndarray) -> int:
        """Remove cells, a mask of the grid's shape; returns how many there were."""
        gone = self.kept & cells
        if not (self.kept & ~gone).any():
            raise InvalidValue("nothing would be left of the body; make the box smaller.")
        self.kept &= ~gone
        return int(gone.sum())

    def paint(self, cells: np.ndarray, matter: str) -> int:
        """Give cells another material; returns how many there were."""
        name = material(matter).name
        if name not in self.materials:
            self.materials.append(name)
        self._matter[cells] = self.materials.index(name)
        return int((self.kept & cells).sum())

    def actuate(self, cells: np.ndarray, signal: springs.Signal) -> None:
        """Let a signal set the length of the springs of cells; later ones win."""
        self._signals.append((self.corners(cells), signal))

    # --- geometry ---

    def corners(self, cells: np.ndarray) -> np.ndarray:
        """Whether each node is a corner of one of the cells, shape [nx + 1, ny + 1, nz + 1]."""
        nodes = np.zeros(self.node_shape, bool)
        for corner in _CORNERS:
            nodes[self._window(corner)] |= cells
        return nodes

    def middles(self, nodes: np.ndarray) -> np.ndarray:
        """Middles of all cells [m] from the places of the nodes, shape [nx, ny, nz, 3]; NaN where there is no cell."""
        return np.sum([nodes[self._window(corner)] for corner in _CORNERS], axis=0) / 8

    def keys(self, body: springs.Body) -> np.ndarray:
        """Place in the flat grid of nodes of each mass of a body at rest, shape [n]."""
        steps = np.rint((body.positions - self.grid.origin) / self.grid.pitch).astype(np.int64)
        return np.ravel_multi_index(tuple(steps.T), self.node_shape)

    def body(self) -> springs.Body:
        """The body as it is worked now, at rest where the shape lies."""
        body = springs.lattice(
            self,
            self.grid.pitch,
            self.materials[0],
            inserts=[(self._part(i), name) for i, name in enumerate(self.materials) if i],
            damping_frequency=self._lowest_frequency(),
        )
        if self._skin is not None:
            body.coverings = cover_rest(self._skin, self.kept)
        keys = self.keys(body)
        body.fix(self.fixed.ravel()[keys])
        for nodes, signal in self._signals:
            body.actuate(signal, body.springs_of(nodes.ravel()[keys]))
        return body

    def _part(self, index: int) -> Region:
        return lambda points: self._at(self._matter == index, points)

    def _at(self, cells: np.ndarray, points: np.ndarray) -> np.ndarray:
        steps = np.floor((points - self.grid.origin) / self.grid.pitch).astype(np.int64)
        x, y, z = np.clip(steps, 0, np.array(cells.shape) - 1).T
        return np.asarray(cells[x, y, z])

    def _window(self, corner: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(slice(c, c + n) for c, n in zip(corner, self.kept.shape, strict=True))

    def _lowest_frequency(self) -> float:
        """Frequency [Hz] of the slowest sound wave that fits the body: where its damping ratio is the material's."""
        matter = material(self.materials[0])
        longest = float(np.max(self._bounds[1] - self._bounds[0]))
        return math.sqrt(matter.youngs_modulus / matter.density) / (2.0 * longest)
