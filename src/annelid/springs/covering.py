"""The skin of a body that was built from a mesh: that mesh, carried by the masses that fill it, for pictures.

The mesh is divided among cells, and each cell is held by a few masses. A point of the skin moves with the masses of the
cells that it belongs to; where cells are gone, their part of the skin is left out and the walls to them close the body.
Nothing of this is computed before a body is drawn, and nothing of it is part of the physics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue
from annelid.shapes import TriangleMesh
from annelid.shapes.lattice import Lattice
from annelid.shapes.partition import Partition
from annelid.shapes.quasi import QuasiLattice
from annelid.springs.shares import affine_shares

_LEAST = 1e-5  # a smaller share of a mass cannot be seen
_MASSES = 12  # that hold a cell where masses have no order
_CANDIDATES = 24
_TRIALS = 4


class Cells(Protocol):
    """What holds the parts of a skin."""

    @property
    def mass_count(self) -> int:
        """Number of masses of the body, which are all covered."""
        ...

    @property
    def present(self) -> np.ndarray:
        """Whether each cell is part of the body as built, shape [c]."""
        ...

    @property
    def masses(self) -> np.ndarray:
        """The masses that hold each cell, shape [c, k]; one may be repeated."""
        ...

    @property
    def partners(self) -> np.ndarray:
        """With how many of the others each of them is joined by springs as built, shape [c, k]."""
        ...

    def shares(self, points: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Shares of the masses of a cell for each point at rest [m], which keep affine motions, shape [n, k]."""
        ...


@dataclass(frozen=True, eq=False)
class CubicCells:
    """The cells of a cubic lattice, each held by the masses in its corners.

    Attributes:
        lattice: The lattice.
        kept: Cells of it that the body has, shape of its cells; None for all.
    """

    lattice: Lattice
    kept: np.ndarray | None = None

    @property
    def mass_count(self) -> int:
        """Number of masses."""
        return self._own.node_count

    @property
    def present(self) -> np.ndarray:
        """Whether each cell is part of the body as built, shape [c]."""
        return self._own.cells[self.lattice.cells]

    @cached_property
    def masses(self) -> np.ndarray:
        """The eight corners of each cell, shape [c, 8]; 0 where it is not present."""
        masses = np.zeros((int(self.lattice.cells.sum()), 8), np.int32)
        masses[self.present] = self._own.corners
        return masses

    @cached_property
    def _own(self) -> Lattice:
        """The lattice that the body is made of."""
        return self.lattice if self.kept is None else replace(self.lattice, cells=self.kept)

    @property
    def partners(self) -> np.ndarray:
        """All corners of a cell are joined."""
        return np.broadcast_to(7, self.masses.shape)

    def shares(self, points: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Trilinear inside a cell; outside, its nearest point and the mean deformation of the cell from there on."""
        low = np.argwhere(self.lattice.cells)[cells]
        local = (points - self.lattice.origin) / self.lattice.pitch - low
        held = np.clip(local, 0.0, 1.0)
        steps = np.array(list(np.ndindex(2, 2, 2)))
        inside = np.prod(np.where(steps[None] == 1, held[:, None], 1.0 - held[:, None]), axis=2)
        return np.asarray(inside + 0.25 * (local - held) @ (2.0 * steps - 1.0).T)


@dataclass(frozen=True, eq=False)
class NearCells:
    """Cells of a grid of its own, held by the masses of a lattice without order that are nearest to their centres.

    Attributes:
        quasi: The lattice of the masses.
        grid: The cells.
    """

    quasi: QuasiLattice
    grid: Lattice

    @property
    def mass_count(self) -> int:
        """Number of masses."""
        return len(self.quasi.nodes)

    @property
    def present(self) -> np.ndarray:
        """All cells are part of the body."""
        return np.ones(len(self.masses), bool)

    @cached_property
    def masses(self) -> np.ndarray:
        """The mass nearest to each cell's centre and those joined to it that are nearest, shape [c, k]."""
        nodes, centers = self.quasi.nodes, self.grid.cell_centers[self.grid.cells]
        near = cKDTree(nodes).query(centers, list(range(1, min(_CANDIDATES, len(nodes)) + 1)))[1]
        joined = _joined(self.quasi.links, near[:, :1], near)
        joined[:, 0] = True
        order = np.argsort(~joined, axis=1, kind="stable")[:, :_MASSES]
        chosen = np.take_along_axis(near, order, axis=1)
        return np.where(np.take_along_axis(joined, order, axis=1), chosen, near[:, :1])

    @cached_property
    def partners(self) -> np.ndarray:
        """With how many of the others each mass of a cell is joined, shape [c, k]."""
        masses = self.masses
        return np.stack(
            [_joined(self.quasi.links, masses[:, k : k + 1], masses).sum(axis=1) for k in range(masses.shape[1])],
            axis=1,
        )

    def shares(self, points: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The affine motion of the masses of the cell, nearer ones counting more."""
        offsets = self.quasi.nodes[self.masses[cells]] - points[:, None]
        distance = np.linalg.norm(offsets, axis=2)
        reach = 1.5 * distance.max(axis=1, keepdims=True)
        return affine_shares(offsets, (1.0 - (distance / reach) ** 2) ** 2, reach)


def _joined(links: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether pairs of masses are among the links."""
    low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second).astype(np.int64)
    return np.isin(low << 32 | high, np.sort(links.astype(np.int64), axis=1) @ np.array([1 << 32, 1]))


@dataclass(frozen=True)
class Shown:
    """Triangles to draw and what carries their corners.

    Attributes:
        triangles: Point indices, outward, shape [t, 3].
        shares: Share of each mass in each point, shape [points, masses]; those of a point add up to 1.
    """

    triangles: np.ndarray
    shares: sparse.csr_array


@dataclass(frozen=True, eq=False)
class Covering:
    """A mesh and the cells that carry it; copies of a body share one.

    Attributes:
        partition: The mesh, divided among cells.
        cells: What holds the cells.
    """

    partition: Partition
    cells: Cells

    @cached_property
    def whole(self) -> Shown:
        """All of the skin."""
        return self._carried(self.partition.triangles, self.partition.owners, self.partition.points)

    def remaining(self, standing: np.ndarray) -> Shown:
        """What is seen when only some cells stand: bool of shape [c]."""
        if standing.all():
            return self.whole
        parts, walls = self.partition, self.partition.walls
        skin, sides = standing[walls.skin], standing[walls.owners]
        first, second = sides[:, 0] & ~sides[:, 1], sides[:, 1] & ~sides[:, 0]
        triangles = np.concatenate([parts.triangles[skin], walls.triangles[first], walls.triangles[second][:, ::-1]])
        owners = np.concatenate([walls.skin[skin], walls.owners[first, 0], walls.owners[second, 1]])
        return self._carried(triangles, owners, np.concatenate([parts.points, walls.points]))

    def _carried(self, triangles: np.ndarray, owners: np.ndarray, points: np.ndarray) -> Shown:
        """Each point is carried by the cells of the triangles around it, in equal parts."""
        used, corners = np.unique(triangles, return_inverse=True)
        corners, count = corners.reshape(-1, 3), len(self.cells.masses)
        point, cell = np.divmod(np.unique(corners.astype(np.int64) * count + owners[:, None]), max(count, 1))
        each = self.cells.shares(points[used[point]], cell) / np.bincount(point, minlength=1)[point, None]
        masses = self.cells.masses[cell]
        rows = np.repeat(point, masses.shape[1])
        size = (len(used), self.cells.mass_count)
        shares = sparse.csr_array(sparse.coo_array((each.ravel(), (rows, masses.ravel())), shape=size))
        shares.data[np.abs(shares.data) < _LEAST] = 0.0
        shares.eliminate_zeros()
        shares.data /= np.repeat(shares.sum(axis=1), np.diff(shares.indptr))
        return Shown(corners.astype(np.int32), shares)


@dataclass(frozen=True, eq=False)
class Worn:
    """A covering on masses of a body.

    Attributes:
        covering: The covering.
        first: The mass of the body that is mass 0 of the covering.
    """

    covering: Covering
    first: int = 0

    def shifted(self, by: int) -> Worn:
        """The same on later masses."""
        return Worn(self.covering, self.first + by)


def cover(shape: object, lattice: Lattice) -> tuple[Worn, ...]:
    """The skin of a shape on the lattice that fills it: none where the shape is not a mesh, thus has no skin."""
    if not isinstance(shape, TriangleMesh):
        return ()
    return (Worn(Covering(Partition(shape, lattice), CubicCells(lattice))),)


def cover_rest(partition: Partition, kept: np.ndarray) -> tuple[Worn, ...]:
    """The skin of a body that has only some cells of the lattice that fills a mesh; the rest was cut away."""
    return (Worn(Covering(partition, CubicCells(partition.lattice, kept.copy()))),)


def cover_quasi(shape: object, quasi: QuasiLattice, spacing: float) -> tuple[Worn, ...]:
    """The same for a quasi-uniform lattice, whose cells have to be made first."""
    if not isinstance(shape, TriangleMesh):
        return ()
    low, high = shape.bounds()
    pitch = min(1.25 * spacing, float((high - low).min()))
    for _ in range(_TRIALS):
        try:
            grid = Lattice.fill(shape, pitch)
        except InvalidValue:  # the shape is thinner than a cell
            pitch /= 2.0
            continue
        return (Worn(Covering(Partition(shape, grid), NearCells(quasi, grid))),)
    return ()
