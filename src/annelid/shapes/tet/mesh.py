"""A tetrahedral mesh of a solid: checked arrays, boundary, cavities, quality, files. Meshers are next door."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidMesh
from annelid.shapes.given import require_likely_size
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.mesh_arrays import checked_cells, checked_points
from annelid.shapes.placed import turned_about
from annelid.shapes.tet.contents import Contents
from annelid.shapes.tet.exchange import MAX_BYTES, read_contents, write_contents
from annelid.shapes.tet.files import load_tetrahedra, write_tetrahedra
from annelid.shapes.tet.locate import Locator
from annelid.shapes.tet.quadratic import QuadraticTetMesh
from annelid.shapes.tet.topology import EDGES, boundary_of, closed_pieces, dihedral_angles_of, volumes_of
from annelid.shapes.values import Floats, Indices, as_vector, require_positive

_FLATTEST = 1e-12
"""A tetrahedron of less than this fraction of its longest edge cubed is flat."""


def _one_region() -> Indices:
    """The number of one material, which all elements share."""
    return np.zeros((), np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class TetMesh:
    """Tetrahedra of a solid. A cavity is a closed part of their boundary, so it always matches the solid.

    Elements that are inverted or flat, and nodes that no element uses, are refused; `TetMesh.repaired` turns and drops
    them.

    Attributes:
        nodes: Positions [m], float64 of shape [n, 3], read-only.
        tetrahedra: Node indices, of positive volume: nodes 1, 2, 3 turn counter-clockwise seen from outside; int32 of
            shape [m, 4], read-only.
        regions: Number of each element's material, int32 of shape [m], read-only; one number serves for all.
        cells: Which elements were made of one hexahedron, for remedies against volumetric locking: the same number for
            each of them, int32 of shape [m], read-only; None where there are no such groups.
        groups: Named sets of nodes, such as those of a surface that a file names: int32 each, read-only. A solid of
            the mesh has them too: `solid.fix("base")`.
        region_names: Names of regions by number; a solid of the mesh takes materials by them.
    """

    nodes: Floats
    tetrahedra: Indices
    regions: Indices = field(default_factory=_one_region, kw_only=True)
    cells: Indices | None = field(default=None, kw_only=True)
    groups: Mapping[str, Indices] = field(default_factory=dict, kw_only=True)
    region_names: Mapping[int, str] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        nodes = _checked_nodes(self.nodes)
        tetrahedra = _checked_tetrahedra(self.tetrahedra, len(nodes))
        _require_used(tetrahedra, len(nodes))
        _require_upright(nodes, tetrahedra)
        regions = (
            np.broadcast_to(np.asarray(self.regions), len(tetrahedra)) if np.ndim(self.regions) == 0 else self.regions
        )
        self._set("nodes", nodes)
        self._set("tetrahedra", tetrahedra)
        self._set("regions", _checked_labels("regions", regions, len(tetrahedra)))
        self._set("cells", None if self.cells is None else _checked_labels("cells", self.cells, len(tetrahedra)))
        object.__setattr__(self, "groups", _checked_groups(self.groups, len(nodes)))
        object.__setattr__(self, "region_names", dict(self.region_names))

    def _set(self, name: str, array: NDArray[Any] | None) -> None:
        if array is not None:
            array.setflags(write=False)
        object.__setattr__(self, name, array)

    @classmethod
    def repaired(
        cls,
        nodes: ArrayLike,
        tetrahedra: ArrayLike,
        *,
        regions: ArrayLike = 0,
        cells: ArrayLike | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
        region_names: Mapping[int, str] | None = None,
    ) -> TetMesh:
        """A mesh of untidy arrays: inverted elements are turned, nodes that no element uses are dropped.

        Flat elements cannot be mended and are refused.
        """
        nodes = _checked_nodes(nodes)
        tetrahedra = _checked_tetrahedra(tetrahedra, len(nodes))
        inverted = volumes_of(nodes, tetrahedra) < 0.0
        tetrahedra[inverted] = tetrahedra[inverted][:, [0, 2, 1, 3]]
        used, number = np.unique(tetrahedra, return_inverse=True)
        labels = None if cells is None else np.asarray(cells)
        kept = {name: np.searchsorted(used, np.intersect1d(given, used)) for name, given in (groups or {}).items()}
        return cls(
            nodes[used],
            number.reshape(-1, 4).astype(np.int32),
            regions=np.asarray(regions),
            cells=labels,
            groups={name: rows.astype(np.int32) for name, rows in kept.items() if len(rows)},
            region_names=region_names or {},
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, scale: float | None = None, max_bytes: int = MAX_BYTES) -> TetMesh:
        """Read a file of Gmsh (.msh), Abaqus (.inp) or VTK (.vtk, .vtu).

        Physical volumes of Gmsh, element sets of sections of Abaqus, or an integer cell field named "region" or
        "material", become regions; named surfaces, curves, points and node sets become groups. Of 10-node tetrahedra
        the corners are read. Inverted elements are turned, other cells refused. VTK files, and those of Gmsh before
        version 4.1, are read by meshio, which the extra `fem` brings.

        Args:
            path: The file.
            scale: Length of the file's unit [m]: 1e-3 for millimetres. The formats do not say which unit they use; None
                takes metres and refuses what is too wide.
            max_bytes: Larger files are refused.
        """
        unit = 1.0 if scale is None else require_positive("scale", scale)
        found = read_contents(path, max_bytes=max_bytes)
        nodes = found.nodes * unit
        if scale is None:
            name = os.path.basename(os.fspath(path))
            require_likely_size(nodes, name, "Give scale=1e-3, or scale=1 if it is right")
        try:
            return cls.repaired(
                nodes,
                found.tetrahedra[:, :4],
                regions=found.regions,
                groups=found.groups,
                region_names=found.region_names,
            )
        except InvalidMesh as error:
            raise InvalidMesh(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> TetMesh:
        """Read what `save` wrote; files of more than `max_bytes` once unpacked are refused."""
        arrays, groups, names = load_tetrahedra(path, max_bytes=max_bytes)
        regions, cells = arrays["regions"], arrays.get("cells")
        try:
            return cls(
                arrays["nodes"], arrays["tetrahedra"], regions=regions, cells=cells, groups=groups, region_names=names
            )
        except InvalidMesh as error:
            raise InvalidMesh(f"{os.fspath(path)}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays to an .npz file, whole or not at all."""
        arrays: dict[str, NDArray[Any]] = {"nodes": self.nodes, "tetrahedra": self.tetrahedra, "regions": self.regions}
        full = arrays if self.cells is None else arrays | {"cells": self.cells}
        write_tetrahedra(path, full, groups=self.groups, region_names=self.region_names)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file of Gmsh (.msh, version 4.1), Abaqus (.inp) or ParaView (.vtu), with regions and groups."""
        contents = Contents(self.nodes, self.tetrahedra, self.regions, dict(self.region_names), dict(self.groups))
        write_contents(path, contents, self.boundary())

    @property
    def volume(self) -> float:
        """Volume of the solid, without its cavities [m^3]."""
        return float(self.volumes.sum())

    @cached_property
    def volumes(self) -> Floats:
        """Volume of each tetrahedron [m^3], shape [m]."""
        return volumes_of(self.nodes, self.tetrahedra)

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of the nodes [m]."""
        return self.nodes.min(axis=0), self.nodes.max(axis=0)

    def boundary(self) -> Indices:
        """The faces of one tetrahedron only, as node indices, counter-clockwise seen from outside the solid, [k, 3]."""
        return self._boundary

    def surfaces(self) -> list[Indices]:
        """The closed pieces of the boundary, each [k, 3]: the outer ones first, then the cavities.

        All face out of the solid, so that a cavity has a negative signed volume. Both kinds are ordered by lowest node.
        """
        pieces, volumes = self._pieces
        return [p for p, v in zip(pieces, volumes, strict=True) if v > 0] + [
            p for p, v in zip(pieces, volumes, strict=True) if v <= 0
        ]

    def cavities(self) -> list[Indices]:
        """The closed surfaces around each cavity, as node indices, shape [k, 3], ordered by lowest node.

        Each faces out of the fluid into the solid, so that its signed volume, the fluid's, is positive.
        """
        pieces, volumes = self._pieces
        return [np.ascontiguousarray(p[:, ::-1]) for p, v in zip(pieces, volumes, strict=True) if v <= 0]

    def surface(self) -> TriangleMesh:
        """The boundary as a triangle mesh, cavities included, for pictures and distances."""
        used, number = np.unique(self._boundary, return_inverse=True)
        return TriangleMesh(self.nodes[used], number.reshape(-1, 3).astype(np.int32))

    def dihedral_angles(self) -> Floats:
        """Angles between faces [rad] at edges 01, 12, 02, 03, 13, 23 of each tetrahedron, shape [m, 6]."""
        return dihedral_angles_of(self.nodes, self.tetrahedra)

    def quadratic(self) -> QuadraticTetMesh:
        """The same solid with a node in the middle of every edge, for 10-node elements."""
        return QuadraticTetMesh.of(
            self.nodes,
            self.tetrahedra,
            regions=self.regions,
            cells=self.cells,
            groups=self.groups,
            region_names=self.region_names,
        )

    def moved(self, offset: ArrayLike) -> TetMesh:
        """A copy moved by an offset [m]."""
        return replace(self, nodes=self.nodes + as_vector("offset", offset))

    def rotated(self, axis: str | ArrayLike, angle: float, *, about: ArrayLike = (0.0, 0.0, 0.0)) -> TetMesh:
        """A copy turned around an axis, "x", "y", "z" or a vector, by an angle [rad], about a point [m]."""
        turn, center = Rotation.from_quat(turned_about(axis, angle)), as_vector("about", about)
        return replace(self, nodes=turn.apply(self.nodes - center) + center)

    def labelled(self, region: int) -> TetMesh:
        """A copy that is all of one region, so that it may have a material of its own where meshes are joined."""
        if isinstance(region, bool) or not isinstance(region, int | np.integer) or region < 0:
            raise InvalidMesh(f"regions must be whole numbers of 0 or more, not {region!r:.60}.")
        return replace(self, regions=np.full(len(self.tetrahedra), region), region_names={})

    def __add__(self, other: TetMesh) -> TetMesh:
        """Both meshes as one, of parts that are not attached to each other; regions keep their numbers.

        Groups of one name become one, and so do regions of one number, which must have one name.
        """
        if not isinstance(other, TetMesh):
            return NotImplemented
        cells = None
        if self.cells is not None or other.cells is not None:
            mine, theirs = (np.arange(len(m.tetrahedra)) if m.cells is None else m.cells for m in (self, other))
            cells = np.concatenate([mine, theirs + mine.max() + 1])
        return TetMesh(
            np.concatenate([self.nodes, other.nodes]),
            np.concatenate([self.tetrahedra, other.tetrahedra + len(self.nodes)]),
            regions=np.concatenate([self.regions, other.regions]),
            cells=cells,
            groups=_united(self.groups, {name: rows + len(self.nodes) for name, rows in other.groups.items()}),
            region_names=_same_names(self.region_names, other.region_names),
        )

    def nearest(self, points: ArrayLike) -> Indices:
        """The node closest to each point [m]; points of shape [p, 3], result of shape [p]."""
        return self._locator.nearest(points)

    def locate(self, points: ArrayLike) -> tuple[Indices, Floats]:
        """The tetrahedron around each point, shape [p], and the weights of its four nodes, shape [p, 4].

        Weights sum to 1 and give the point back: `(weights[..., None] * nodes[tetrahedra[found]]).sum(1)`. A point
        outside the solid gets the element that it is least far out of, and a negative weight.

        Args:
            points: Positions [m], shape [p, 3].
        """
        return self._locator.locate(points)

    @cached_property
    def _boundary(self) -> Indices:
        triangles = boundary_of(self.tetrahedra)
        triangles.setflags(write=False)
        return triangles

    @cached_property
    def _pieces(self) -> tuple[list[Indices], Floats]:
        return closed_pieces(self.nodes, self._boundary)

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self.nodes, self.tetrahedra)

    def __repr__(self) -> str:
        return f"TetMesh({len(self.nodes)} nodes, {len(self.tetrahedra)} tetrahedra)"

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.nodes, self.tetrahedra, self.regions, self.cells, self.groups, self.region_names
        return _restored, given  # what is cached is made again


def _restored(
    nodes: Floats,
    tetrahedra: Indices,
    regions: Indices,
    cells: Indices | None,
    groups: Mapping[str, Indices],
    region_names: Mapping[int, str],
) -> TetMesh:
    return TetMesh(nodes, tetrahedra, regions=regions, cells=cells, groups=groups, region_names=region_names)


def _united(mine: Mapping[str, Indices], theirs: Mapping[str, Indices]) -> dict[str, Indices]:
    empty = np.empty(0, np.int32)
    names = dict.fromkeys((*mine, *theirs))
    return {name: np.concatenate([mine.get(name, empty), theirs.get(name, empty)]) for name in names}


def _same_names(mine: Mapping[int, str], theirs: Mapping[int, str]) -> dict[int, str]:
    for number in mine.keys() & theirs.keys():
        if mine[number] != theirs[number]:
            raise InvalidMesh(
                f"region {number} is called {mine[number]!r} in one mesh and {theirs[number]!r} in the other; give one "
                "of them another number with labelled(region)."
            )
    return {**mine, **theirs}


def _checked_groups(groups: Mapping[str, ArrayLike], size: int) -> dict[str, Indices]:
    """Sets of nodes: sorted, each node once, read-only."""
    found = {}
    for name, given in groups.items():
        rows = np.asarray(given)
        if not isinstance(name, str) or rows.ndim != 1 or not (rows.size == 0 or rows.dtype.kind in "iu"):
            raise InvalidMesh(f"a group of a mesh is a name with indices of nodes, shape [k], not {name!r:.60}.")
        if rows.size and not 0 <= rows.min() <= rows.max() < size:
            raise InvalidMesh(f"group {name!r} names node {rows.max()}, but there are nodes 0 to {size - 1} only.")
        found[name] = np.unique(rows).astype(np.int32)
        found[name].setflags(write=False)
    return found


def _checked_nodes(nodes: ArrayLike) -> Floats:
    return checked_points(nodes, "node", "nodes")


def _checked_tetrahedra(tetrahedra: ArrayLike, size: int) -> Indices:
    return checked_cells(tetrahedra, 4, size, "tetrahedron", "tetrahedra", "nodes")


def _checked_labels(name: str, labels: ArrayLike, size: int) -> Indices:
    array = np.asarray(labels)
    if array.shape != (size,) or not np.issubdtype(array.dtype, np.integer) or array.min() < 0:
        raise InvalidMesh(
            f"{name} must be whole numbers of 0 or more, one for each of the {size} tetrahedra; "
            f"they are {array.dtype} of shape {list(array.shape)}."
        )
    return array.astype(np.int32)


def _require_used(tetrahedra: Indices, size: int) -> None:
    idle = size - np.count_nonzero(np.bincount(tetrahedra.ravel(), minlength=size))
    if idle:
        raise InvalidMesh(
            f"{idle} of {size} nodes belong to no tetrahedron, so nothing would hold them; "
            "TetMesh.repaired(nodes, tetrahedra) drops them."
        )


def _require_upright(nodes: Floats, tetrahedra: Indices) -> None:
    volumes = volumes_of(nodes, tetrahedra)
    corners = nodes[tetrahedra]
    longest = np.linalg.norm(corners[:, EDGES[:, 0]] - corners[:, EDGES[:, 1]], axis=2).max(axis=1)
    flat = np.abs(volumes) <= _FLATTEST * longest**3
    if (count := int(flat.sum())) > 0:
        raise InvalidMesh(
            f"{count} of {len(volumes)} tetrahedra are flat, the first is {int(np.flatnonzero(flat)[0])}; "
            "mesh the solid again without them."
        )
    inverted = volumes < 0.0
    if (count := int(inverted.sum())) > 0:
        raise InvalidMesh(
            f"{count} of {len(volumes)} tetrahedra are inverted, the first is {int(np.flatnonzero(inverted)[0])}; "
            "TetMesh.repaired(nodes, tetrahedra) turns them."
        )
