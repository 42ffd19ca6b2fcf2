"""Tetrahedra with ten nodes: the corners, and a node in the middle of every edge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.tet.contents import Contents, faces_in
from annelid.shapes.tet.exchange import write_contents
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
        groups: Named sets of nodes: those of the linear mesh, with the middles of the sides of boundary faces all of
            whose corners they have, or, where there is no such face, of edges of the boundary.
        region_names: Names of regions by number.
    """

    nodes: Floats
    tetrahedra: Indices
    edges: Indices
    regions: Indices
    cells: Indices | None = None
    groups: Mapping[str, Indices] = field(default_factory=dict)
    region_names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.nodes, self.tetrahedra, self.edges):
            array.setflags(write=False)

    @classmethod
    def of(
        cls,
        nodes: Floats,
        tetrahedra: Indices,
        *,
        regions: Indices,
        cells: Indices | None = None,
        groups: Mapping[str, Indices] | None = None,
        region_names: Mapping[int, str] | None = None,
    ) -> QuadraticTetMesh:
        """Middle nodes added to checked linear arrays: nodes [n, 3] [m] and tetrahedra [m, 4]."""
        edges, number = tetrahedron_edges(tetrahedra)
        middles = 0.5 * (nodes[edges[:, 0]] + nodes[edges[:, 1]])
        ten = np.concatenate([tetrahedra, number + np.int32(len(nodes))], axis=1)
        mesh = cls(np.concatenate([nodes, middles]), ten, edges, regions, cells, region_names=region_names or {})
        full = {name: mesh._with_middles(chosen) for name, chosen in (groups or {}).items()}
        return replace(mesh, groups=full) if full else mesh

    def _with_middles(self, corners: Indices) -> Indices:
        """A group of corners with the middles that belong to it."""
        faces = self.boundary()
        whole = faces[faces_in(faces, corners, len(self.nodes))]
        if len(whole) == 0:
            sides = np.unique(faces[:, 3:])
            ends = np.isin(self.edges[sides - self.corner_count], corners).all(axis=1)
            whole = sides[ends]
        return np.union1d(corners, whole).astype(np.int32)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file of Gmsh (.msh, version 4.1), Abaqus (.inp) or ParaView (.vtu), with regions and groups."""
        contents = Contents(self.nodes, self.tetrahedra, self.regions, dict(self.region_names), dict(self.groups))
        write_contents(path, contents, self.boundary())

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
