"""A cavity: a closed set of boundary triangles of a solid, checked once, with what kernels need to walk it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.described import Brief
from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes.tet.topology import flat_triangles
from annelid.shapes.topology import edges_of, signed_volumes
from annelid.shapes.values import Floats, Indices, as_points


@dataclass(frozen=True, eq=False, repr=False)
class Cavity(Brief):
    """A closed surface inside a solid. It takes part in nothing; what acts in it is built upon it.

    A triangle of six nodes, three corners and the middles of its sides, counts as the four flat triangles between
    them. So the cavity is a polyhedron in every respect: its volume, the pressure on it and the fluid in it agree.

    Attributes:
        triangles: Nodes of the triangles, int32 of shape [k, 3], wound so that normals point out of the fluid and
            into the solid; six columns (0, 1, 2, then the middles of 0-1, 1-2 and 2-0) are divided.
        name: Name, for messages and pictures.
    """

    triangles: Indices
    name: str = "cavity"

    def __post_init__(self) -> None:
        given = np.asarray(self.triangles)
        if given.ndim != 2 or given.shape[1] not in (3, 6) or not np.issubdtype(given.dtype, np.integer):
            raise InvalidMesh(
                f"the triangles of {self.name} must be integers of shape [k, 3] or [k, 6], "
                f"not {given.dtype} of shape {list(given.shape)}."
            )
        if len(given) == 0:
            raise InvalidMesh(f"{self.name} is empty; give at least four triangles.")
        flat = flat_triangles(given)
        if flat.min() < 0:
            raise InvalidMesh(f"{self.name} names node {flat.min()}; nodes are counted from 0.")
        object.__setattr__(self, "triangles", np.ascontiguousarray(flat, dtype=np.int32))
        self._require_closed()

    @cached_property
    def nodes(self) -> Indices:
        """Nodes of the solid that belong to the cavity, ascending, int32 of shape [n]."""
        return np.unique(self.triangles).astype(np.int32)

    @cached_property
    def local(self) -> Indices:
        """Triangles as indices into `nodes`, int32 of shape [k, 3]."""
        return np.searchsorted(self.nodes, self.triangles).astype(np.int32)

    @cached_property
    def corners(self) -> tuple[Indices, Indices]:
        """Where the corners of each node are: first entry of each node, [n + 1], and 3 triangle + corner, [3 k]."""
        flat = self.local.ravel()
        order = np.argsort(flat, kind="stable").astype(np.int32)
        return np.searchsorted(flat[order], np.arange(len(self.nodes) + 1)).astype(np.int32), order

    def volume(self, positions: ArrayLike) -> float:
        """Signed volume [m³], positive unless the cavity is turned inside out.

        Args:
            positions: Positions of all nodes of the solid [m], shape [n, 3].
        """
        return float(signed_volumes(self.points(positions), self.local).sum())

    def points(self, positions: ArrayLike) -> Floats:
        """Positions of the cavity's own nodes [m], shape [n, 3], out of those of the solid."""
        every = as_points(positions)
        if self.nodes[-1] >= len(every):
            raise InvalidValue(f"{self.name} names node {self.nodes[-1]}, but there are {len(every)} positions only.")
        return every[self.nodes]

    def check(self, positions: ArrayLike) -> float:
        """The volume [m³], if the nodes stand so that there is one; else an InvalidMesh.

        Args:
            positions: Positions of all nodes of the solid [m], shape [n, 3].
        """
        volume = self.volume(positions)
        if volume <= 0.0:
            raise InvalidMesh(
                f"{self.name} has the volume {volume:.4g} m³, so its triangles face the wrong way; "
                "their normals must point out of the fluid, into the solid."
            )
        return volume

    def _require_closed(self) -> None:
        edges = edges_of(self.triangles)
        if not edges.balance.any():
            return
        kinds = [(edges.open, "open"), (edges.crowded, "crowded"), (edges.twisted, "between opposite windings")]
        counts = [f"{found.sum()} {what}" for found, what in kinds if found.any()]
        what = "is not closed" if edges.open.any() else "has no clear inside"
        plural = "edge" if sum(found.sum() for found, _ in kinds) == 1 else "edges"
        raise InvalidMesh(
            f"{self.name} {what}: {' and '.join(counts)} {plural}; give all triangles around the fluid, wound alike."
        )
