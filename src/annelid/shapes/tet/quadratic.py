"""Tetrahedra with ten nodes: the corners, and a node in the middle of every edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.tet.topology import SIDES, boundary_of, closed_pieces, edge_numbers, tetrahedron_edges
from annelid.shapes.values import Floats, Indices


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticTetMesh:
    """10-node tetrahedra with straight edges; `TetMesh.quadratic` makes them.

    Attributes:
        nodes: Positions [m]: the corners, in the order of the linear mesh, then the middles of the edges;
            float64 of shape [n + e, 3], read-only.
        tetrahedra: Corners 0, 1, 2, 3, then the middles of 01, 12, 02, 03, 13, 23, which is VTK's order; int32 of shape
            [m, 10], read-only.
        edges: Corners of each edge, the lower first; node n + k is the middle of edge k; int32 of shape [e, 2].
        regions: Number of each element's material, int32 of shape [m].
        cells: Which elements were made of one hexahedron, int32 of shape [m], or None.
    """

    nodes: Floats
    tetrahedra: Indices
    edges: Indices
    regions: Indices
    cells: Indices | None = None

    def __post_init__(self) -> None:
        for array in (self.nodes, self.tetrahedra, self.edges):
            array.setflags(write=False)

    @classmethod
    def of(
        cls, nodes: Floats, tetrahedra: Indices, *, regions: Indices, cells: Indices | None = None
    ) -> QuadraticTetMesh:
        """Middle nodes added to checked linear arrays: nodes [n, 3] [m] and tetrahedra [m, 4]."""
        edges, number = tetrahedron_edges(tetrahedra)
        middles = 0.5 * (nodes[edges[:, 0]] + nodes[edges[:, 1]])
        ten = np.concatenate([tetrahedra, number + np.int32(len(nodes))], axis=1)
        return cls(np.concatenate([nodes, middles]), ten, edges, regions, cells)

    @property
    def corner_count(self) -> int:
        """How many of the nodes are corners; the others follow them."""
        return len(self.nodes) - len(self.edges)

    def boundary(self) -> NDArray[np.int32]:
        """Outward faces: three corners, then the middles of their sides 01, 12, 20; shape [k, 6]."""
        return self.with_middles(self._boundary)

    def surfaces(self) -> list[Indices]:
        """The closed pieces of the boundary, outer ones first, then cavities, each [k, 6]; see `TetMesh.surfaces`."""
        pieces, volumes = self._pieces
        ranked = sorted(zip(volumes > 0, range(len(pieces)), strict=True), key=lambda item: not item[0])
        return [self.with_middles(pieces[k]) for _, k in ranked]

    def cavities(self) -> list[Indices]:
        """The closed surfaces around each cavity, facing into the solid, each [k, 6]; see `TetMesh.cavities`."""
        pieces, volumes = self._pieces
        return [self.with_middles(p[:, ::-1]) for p, v in zip(pieces, volumes, strict=True) if v <= 0]

    def with_middles(self, triangles: Indices) -> Indices:
        """Triangles of corners [k, 3] with the middles of their sides 01, 12, 20: shape [k, 6]."""
        middles = edge_numbers(self.edges, triangles[:, SIDES]) + np.int32(self.corner_count)
        return np.concatenate([triangles, middles], axis=1)

    @cached_property
    def _boundary(self) -> Indices:
        return boundary_of(self.tetrahedra[:, :4])

    @cached_property
    def _pieces(self) -> tuple[list[Indices], Floats]:
        return closed_pieces(self.nodes, self._boundary)

    def __repr__(self) -> str:
        return f"QuadraticTetMesh({len(self.nodes)} nodes, {len(self.tetrahedra)} tetrahedra)"
