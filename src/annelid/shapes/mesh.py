"""What every shape can do, and the triangle mesh: the shape that is the surface of all others.

The two are defined by each other and live together. Repair, files and distances of meshes are next door.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidMesh, InvalidValue, MeshRepaired
from annelid.core.numbers import is_number
from annelid.core.options import require_kind, require_truth
from annelid.core.unlikely import warn_of_angle
from annelid.shapes.kernels.gaps import GRID
from annelid.shapes.mesh_arrays import checked_cells, checked_points, coordinates
from annelid.shapes.mesh_files import MAX_BYTES, read_triangles, write_triangles
from annelid.shapes.query import MeshDistance
from annelid.shapes.repair import merge, repaired
from annelid.shapes.topology import Edges, edges_of, signed_volumes
from annelid.shapes.values import Floats, Indices, Vector, as_axis, as_vector, require_positive

_SHOWN_EDGES = 3
_FLATTEST = 1e-12
"""A closed mesh of less than this fraction of its diagonal cubed has no inside that single precision could find."""


class Shape(ABC):
    """A solid region of space with a closed surface.

    Attributes:
        kind: Which gap it has in kernels, see `kernels.gaps`: that of a grid of distances, unless it has a closed form.
    """

    kind: ClassVar[int] = GRID

    @abstractmethod
    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of the smallest box with sides along the axes [m], two arrays of shape [3]."""

    @property
    def sizes(self) -> Vector:
        """What its closed form takes [m]: half sides, or radius and half length."""
        return 0.0, 0.0, 0.0

    @abstractmethod
    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance of each point to the surface [m], negative inside; points of shape [n, 3], result of shape [n]."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """Volume [m^3]."""

    @abstractmethod
    def surface(self, resolution: int = 32) -> TriangleMesh:
        """The surface as a closed mesh, normals outwards.

        Args:
            resolution: Segments of a full turn on curved surfaces; the vertices lie on the true surface.
        """

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether each point lies inside or on the surface; points of shape [n, 3] [m], result of shape [n]."""
        return np.asarray(self.signed_distance(points) <= 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class TriangleMesh(Shape):
    """A surface of triangles. A closed one is a solid; an inside-out one is turned on construction.

    Attributes:
        vertices: Positions [m], float64 of shape [n, 3], read-only.
        triangles: Vertex indices, counter-clockwise seen from outside, int32 of shape [m, 3], read-only.
    """

    vertices: Floats
    triangles: Indices

    def __post_init__(self) -> None:
        vertices, triangles = _checked_vertices(self.vertices), _checked_triangles(self.triangles, len(self.vertices))
        if signed_volumes(vertices, triangles).sum() < 0.0 and not edges_of(triangles).balance.any():
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        vertices.setflags(write=False)
        triangles.setflags(write=False)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, scale: float = 1.0, repair: bool = False, max_bytes: int = MAX_BYTES
    ) -> TriangleMesh:
        """Read an STL, OBJ or PLY file. Vertices of equal coordinates are merged.

        Args:
            path: The file.
            scale: Length of the file's unit [m]: 1e-3 for millimetres. The formats do not say which unit they use.
            repair: Close the surface if need be, as `repaired` does.
            max_bytes: Larger files are refused.
        """
        require_truth("repair", repair)
        scale = require_positive("scale", scale)
        vertices, triangles = read_triangles(path, max_bytes=max_bytes)
        try:
            mesh = cls(*merge(_checked_vertices(vertices) * scale, triangles))
            return mesh.repaired() if repair else mesh
        except InvalidMesh as error:
            raise InvalidMesh(f"{os.fspath(path)}: {error}") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write an STL, OBJ or PLY file, whole or not at all; the suffix chooses. STL keeps single precision only."""
        write_triangles(path, self.vertices, self.triangles)

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of the triangles [m]."""
        used = self.vertices[np.unique(self.triangles)]
        return used.min(axis=0), used.max(axis=0)

    @property
    def volume(self) -> float:
        """Volume inside the closed surface [m^3]."""
        self.require_closed()
        return self._enclosed

    @property
    def area(self) -> float:
        """Area of all triangles [m^2]."""
        a, b, c = np.moveaxis(self.vertices[self.triangles], 1, 0)
        return 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())

    def surface(self, resolution: int = 32) -> TriangleMesh:
        """The mesh itself."""
        return self

    def signed_distance(self, points: ArrayLike, *, device: str = "cpu") -> Floats:
        """Distance of each point to the surface [m], negative inside; points [n, 3], result [n]."""
        return self.query(device).signed_distance(points)

    def distance_and_gradient(self, points: ArrayLike, *, device: str = "cpu") -> tuple[Floats, Floats]:
        """Signed distance [m], shape [n], and its gradient, shape [n, 3]: unit vectors that point outwards."""
        return self.query(device).distance_and_gradient(points)

    def query(self, device: str = "cpu") -> MeshDistance:
        """The closed mesh on a device, ready for distance queries; built once for each device."""
        require_kind("the device of a mesh", device, str, "a word, 'cpu' or 'cuda:N'")
        if device not in self._queries:
            self.require_closed()
            self._queries[device] = MeshDistance(self.vertices, self.triangles, device=device)
        return self._queries[device]

    @property
    def is_closed(self) -> bool:
        """Whether the surface has an inside and an outside: each edge is run along as often as back."""
        return not self._edges.balance.any()

    def open_edges(self) -> NDArray[np.int64]:
        """Edges with one triangle only, as pairs of vertex indices, shape [k, 2]."""
        return self._edges.pairs[self._edges.open]

    def require_closed(self) -> TriangleMesh:
        """The mesh itself if it is closed and encloses a volume; else an InvalidMesh that says where it is not."""
        if not self.is_closed:
            remedy = "close it with repair=True where you name the mesh or its file, or with mesh.repaired()"
            what = "is not closed" if self._edges.open.any() else "has no clear inside"
            raise InvalidMesh(f"the mesh {what}: {self._defects()}; {remedy}.")
        low, high = self.bounds()
        if self._enclosed <= _FLATTEST * float(np.linalg.norm(high - low)) ** 3:
            raise InvalidMesh(f"the mesh encloses no volume ({self._enclosed:.3g} m^3); give a solid, not a sheet.")
        return self

    def repaired(self) -> TriangleMesh:
        """A closed mesh made of this one: welded, wound consistently, holes filled, shells turned outwards.

        A hole is filled by a fan around the mean of its rim; a shell wholly inside another is taken as a cavity. How
        many holes were filled, and how much of the surface that is, is told in a warning.
        """
        vertices, triangles, holes = repaired(self.vertices, self.triangles)
        mesh = TriangleMesh(vertices, triangles)
        if not mesh.is_closed:
            raise InvalidMesh(f"the mesh cannot be repaired: {mesh._defects()} remain; mend it in a modelling program.")
        mesh.require_closed()
        if holes.count:
            holed = "1 hole was" if holes.count == 1 else f"{holes.count} holes were"
            warnings.warn(
                f"{holed} filled, {100.0 * holes.area / mesh.area:.2g} % of the surface of the mesh: look at a picture "
                "of it, and mend it in a modelling program if that is not what you meant.",
                MeshRepaired,
                stacklevel=2,
            )
        return mesh

    def moved(self, offset: ArrayLike) -> TriangleMesh:
        """A copy moved by an offset [m]."""
        return TriangleMesh(self.vertices + as_vector("offset", offset), self.triangles)

    def rotated(self, axis: str | ArrayLike, angle: float, *, about: ArrayLike = (0.0, 0.0, 0.0)) -> TriangleMesh:
        """A copy turned by an angle [rad], right-handed, about an axis ('x', 'y', 'z', a vector) through a point."""
        if not is_number(angle):
            raise InvalidValue(f"angle = {angle!r} cannot be used; give a finite number [rad].")
        warn_of_angle("a rotation", angle, stacklevel=2)
        x, y, z = as_axis(axis)
        angle = float(angle)
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        rotation = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        center = np.array(as_vector("about", about))
        return TriangleMesh((self.vertices - center) @ rotation.T + center, self.triangles)

    def scaled(self, factor: float | ArrayLike, *, about: ArrayLike = (0.0, 0.0, 0.0)) -> TriangleMesh:
        """A copy scaled by one factor, or by one an axis, around a point [m]; a negative factor mirrors."""
        given = array_or_none(factor)
        one = given.ndim == 0 and given.dtype.kind in "iuf"
        factors = np.array(as_vector("factor", np.full(3, factor) if one else factor))
        if not factors.all():
            raise InvalidValue(f"factor = {factor!r} cannot be used; a factor of 0 would flatten the mesh.")
        center = np.array(as_vector("about", about))
        return TriangleMesh((self.vertices - center) * factors + center, self.triangles)

    @cached_property
    def _edges(self) -> Edges:
        return edges_of(self.triangles)

    @cached_property
    def _enclosed(self) -> float:
        return float(signed_volumes(self.vertices, self.triangles).sum())

    @cached_property
    def _queries(self) -> dict[str, MeshDistance]:
        return {}

    def _defects(self) -> str:
        edges = self._edges
        kinds = [
            (edges.open, "open"),
            (edges.crowded, "shared by more than two triangles"),
            (edges.twisted, "between triangles that face opposite ways"),
        ]
        counts = [
            f"{found.sum()} {'edge is' if found.sum() == 1 else 'edges are'} {what}"
            for found, what in kinds
            if found.any()
        ]
        bad = edges.pairs[edges.balance != 0]
        ends = [" to ".join(coordinates(self.vertices[i]) for i in pair) for pair in bad[:_SHOWN_EDGES]]
        first = "it runs from" if len(bad) == 1 else "the first run from"
        return f"{', '.join(counts)} ({first} {', '.join(ends)} m)"

    def __repr__(self) -> str:
        return f"TriangleMesh({len(self.vertices)} vertices, {len(self.triangles)} triangles)"

    def __reduce__(self) -> tuple[Any, ...]:
        return TriangleMesh, (self.vertices, self.triangles)  # what is cached lives on a device


def _checked_vertices(vertices: ArrayLike) -> Floats:
    return checked_points(vertices, "vertex", "vertices")


def _checked_triangles(triangles: ArrayLike, size: int) -> Indices:
    return checked_cells(triangles, 3, size, "triangle", "triangles", "vertices")
