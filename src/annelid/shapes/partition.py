"""A closed mesh divided among the filled cells of a lattice: parts of its surface, and the walls between parts.

A lattice only approximates the shape that it fills. Here each place of the shape belongs to one filled cell, its own or
one that can be seen from there through the inside of the shape. Whoever draws a body from which cells were taken away
leaves out their part of the surface and draws the walls between cells that are there and cells that are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from annelid.shapes.lattice import Lattice
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.slicing import cells_of, sliced
from annelid.shapes.values import Floats
from annelid.shapes.walls_between import Patches, Walls, walls_between

_SHIFT = np.array([0.0137, 0.0171, 0.0113])
"""The planes lie that far from those of the lattice [cells], since surfaces that lie in planes are common."""
_NEAR = 16  # filled cells among which the owner of a part of the surface is looked for
_SIGHT = (0.25, 0.5, 0.75)  # places on the way to a cell's centre that must be inside


@dataclass(frozen=True, eq=False)
class Partition:
    """A mesh divided among the filled cells of a lattice.

    Attributes:
        mesh: The closed mesh.
        lattice: The lattice that fills it.
    """

    mesh: TriangleMesh
    lattice: Lattice

    @cached_property
    def _sliced(self) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Points [cells], triangles, and the cell of each triangle."""
        counts = self.lattice.cells.shape
        points = (self.mesh.vertices - self.lattice.origin) / self.lattice.pitch - _SHIFT
        points, triangles = sliced(points, self.mesh.triangles, counts)
        return points, triangles, cells_of(points, triangles, counts)

    @property
    def points(self) -> Floats:
        """Points of the surface [m], shape [n, 3]."""
        return self._metres(self._sliced[0])

    @property
    def triangles(self) -> np.ndarray:
        """Its triangles, each inside one cell, outward, shape [t, 3]."""
        return self._sliced[1]

    @cached_property
    def owners(self) -> np.ndarray:
        """The filled cell, counted as `Lattice.corners` does, that each triangle belongs to, shape [t]."""
        return self._patch_owners[self._patches]

    @cached_property
    def walls(self) -> Walls:
        """The walls between parts of different cells, with points in metres.

        They find out which patches bound the same piece of the mesh, and may give one of them another owner.
        """
        points, triangles, cells = self._sliced
        areas, _, _, places = self._patch_table
        patches = Patches(self._patches, places, areas, self._patch_owners)
        found = walls_between(points, triangles, cells, patches, self._filled_numbers, self._contains)
        return replace(found, points=self._metres(found.points))

    @cached_property
    def _patches(self) -> np.ndarray:
        """The patch of each triangle: triangles of one cell that are joined by edges, shape [t]."""
        _, triangles, cells = self._sliced
        sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
        key = sides[:, 0].astype(np.int64) << 32 | sides[:, 1]
        order = np.argsort(key, kind="stable")
        which = np.tile(np.arange(len(triangles)), 3)[order]
        same = (key[order][1:] == key[order][:-1]) & (cells[which[1:]] == cells[which[:-1]]).all(axis=1)
        first, second = which[:-1][same], which[1:][same]
        graph = sparse.coo_array((np.ones(len(first), bool), (first, second)), shape=(len(triangles),) * 2)
        return np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1])

    @cached_property
    def _patch_table(self) -> tuple[Floats, Floats, Floats, np.ndarray]:
        """Area, a point just inside and one deeper inside [cells], and cell of each patch."""
        points, triangles, cells = self._sliced
        corners, patches = points[triangles], self._patches
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        areas = np.linalg.norm(normals, axis=1)
        count = int(patches.max()) + 1
        sums = np.maximum(np.bincount(patches, areas, minlength=count), 1e-300)
        middles = corners.mean(axis=1)
        means = np.stack([np.bincount(patches, areas * middles[:, k], minlength=count) for k in range(3)], axis=1)
        off = np.linalg.norm(middles - (means / sums[:, None])[patches], axis=1)
        order = np.lexsort((off, patches))
        central = order[np.concatenate([[True], patches[order][1:] != patches[order][:-1]])]  # triangle of each patch
        outward = normals[central] / np.maximum(areas[central], 1e-300)[:, None]
        return sums, middles[central] - 0.01 * outward, middles[central] - 0.6 * outward, cells[central]

    @cached_property
    def _patch_owners(self) -> np.ndarray:
        """The filled cell of each patch: its own, or the nearest behind it, where its centre is seen from the patch."""
        _, begins, deep, cells = self._patch_table
        filled = np.argwhere(self.lattice.cells)
        number = self._filled_numbers
        own = number[tuple(cells.T)]
        owners, open_ones = own.copy(), np.flatnonzero(own >= 0)
        seen = self._seen(begins[open_ones], filled[own[open_ones]])
        unclear = np.concatenate([open_ones[~seen], np.flatnonzero(own < 0)])
        if len(unclear) == 0:
            return owners
        ranks = list(range(1, min(_NEAR, len(filled)) + 1))
        near = cKDTree(filled + 0.5 - _SHIFT).query(deep[unclear], ranks)[1]
        owners[unclear] = near[:, 0]
        left = np.arange(len(unclear))
        for rank in range(near.shape[1]):
            seen = self._seen(begins[unclear[left]], filled[near[left, rank]])
            owners[unclear[left[seen]]] = near[left[seen], rank]
            left = left[~seen]
        return owners

    @cached_property
    def _filled_numbers(self) -> np.ndarray:
        """Number of each filled cell, -1 for the others, shape of the cells."""
        number = np.full(self.lattice.cells.shape, -1, np.int64)
        number[self.lattice.cells] = np.arange(int(self.lattice.cells.sum()))
        return number

    def _seen(self, begins: Floats, cells: np.ndarray) -> Any:
        """Whether the way from points [cells] to the centres of cells is inside the mesh."""
        ends = cells + 0.5 - _SHIFT
        ways = np.concatenate([begins + share * (ends - begins) for share in _SIGHT])
        return self._contains(ways).reshape(len(_SIGHT), -1).all(axis=0)

    def _contains(self, points: Floats) -> Any:
        return self.mesh.contains(self._metres(points)) if len(points) else np.zeros(0, bool)

    def _metres(self, points: Floats) -> Floats:
        return np.asarray(self.lattice.origin + self.lattice.pitch * (points + _SHIFT))
