"""The same solid on a finer mesh, and the error of the coarser one that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from annelid.fem.actuation.actuator import Actuator
from annelid.fem.mesh import WithCells
from annelid.fem.reinforcing.fabrics import covered
from annelid.fem.reinforcing.threads import laid
from annelid.fem.solid import Solid
from annelid.shapes.tet.quadratic import QuadraticTetMesh
from annelid.shapes.tet.topology import flat_triangles

_AT_CORNERS = np.array([(0, 4, 6, 7), (4, 1, 5, 8), (6, 5, 2, 9), (7, 8, 9, 3)])
"""The parts of a ten-node tetrahedron at its corners."""
_INSIDE = np.array(
    [
        [(4, 9, 5, 6), (4, 9, 6, 7), (4, 9, 7, 8), (4, 9, 8, 5)],
        [(5, 7, 6, 4), (5, 7, 9, 6), (5, 7, 8, 9), (5, 7, 4, 8)],
        [(6, 8, 4, 5), (6, 8, 5, 9), (6, 8, 9, 7), (6, 8, 7, 4)],
    ]
)
"""The parts around each of the three diagonals of the octahedron between those."""

_RICHARDSON = 4.0 / 3.0
"""Error of a mesh over its distance from one with half its edges: of order two, as at the edges of holds."""
_FINE = 0.05
"""Error, as a part of the largest displacement, below which a mesh is called fine enough."""


@dataclass(frozen=True, eq=False)
class MeshError:
    """How far an equilibrium is from that of a finer mesh; `print` says it in a sentence.

    Attributes:
        errors: About how far each node is from where it belongs [m], shape [n].
        displacement: The largest displacement of the finer mesh [m].
        finer: The solid on the finer mesh, to go on with.
        positions: Positions of its nodes [m]; the first n are those of the coarser mesh.
        linear: Whether the coarser mesh is one of four-node tetrahedra.
    """

    errors: np.ndarray
    displacement: float
    finer: Solid
    positions: np.ndarray
    linear: bool

    @property
    def largest(self) -> float:
        """The largest error [m]."""
        return float(self.errors.max())

    @property
    def relative(self) -> float:
        """The largest error as a part of the largest displacement."""
        return self.largest / self.displacement if self.displacement > 0.0 else 0.0

    def __str__(self) -> str:
        place = ", ".join(f"{value:.3g}" for value in self.finer.nodes[self.errors.argmax()])
        found = (
            f"the mesh makes an error of about {self.largest:.2g} m at ({place}) m, "
            f"{100 * self.relative:.2g} % of the largest displacement"
        )
        if self.relative < _FINE:
            return f"{found}: it is fine enough for most purposes."
        remedy = "use mesh.quadratic()" if self.linear else "use smaller elements"
        return f"{found}: {remedy}, or go on with the finer solid in `finer`."

    __repr__ = __str__


def compared(solid: Solid, positions: np.ndarray, finer: Solid, fine: np.ndarray) -> MeshError:
    """What positions [m] on a finer mesh say of those of a solid, shape [n, 3]."""
    moved = float(np.linalg.norm(fine - finer.nodes, axis=1).max())
    linear = solid.elements.shape[1] == 4
    apart = np.linalg.norm(fine[: solid.node_count] - positions, axis=1)
    return MeshError(apart if linear else _RICHARDSON * apart, moved, finer, fine, linear)


def refined(solid: Solid) -> Solid:
    """The solid with ten nodes in each tetrahedron; one that has them gets eight tetrahedra in place of each.

    Its nodes come first, in their order. Those between two that are held, or of one group, are, too; forces and hanging
    masses that cover faces are spread over them.
    """
    mesh = _finer_mesh(solid)
    count, ends = solid.node_count, mesh.edges
    materials = dict(zip(np.unique(solid.regions).tolist(), solid.materials, strict=True))
    finer = Solid(mesh, materials, volume=solid.volume, surface=solid.surface)
    finer.held = np.concatenate([solid.held, solid.held[ends].all(axis=1)])
    finer.offsets = np.concatenate([solid.offsets, solid.offsets[ends].mean(axis=1)])
    finer.carried = tuple(replace(one, nodes=_with_between(one.nodes, mesh, count)) for one in solid.carried)
    finer.groups = {name: _with_between(nodes, mesh, count) for name, nodes in solid.groups.items()}
    loads = _spread(np.column_stack([solid.forces, solid.payload]), solid, mesh)
    finer.forces, finer.payload = np.ascontiguousarray(loads[:, :3]), loads[:, 3]
    finer.threads = tuple(laid(one.thread, finer.nodes, finer.elements, finer.boundary) for one in solid.threads)
    finer.fabrics = tuple(covered(one.fabric, finer.nodes, mesh.with_middles(one.triangles)) for one in solid.fabrics)
    return finer


def refined_actuators(actuators: Sequence[Actuator], finer: Solid) -> list[Actuator]:
    """Actuators of a solid as those of the refined one."""
    mesh = finer.mesh
    assert isinstance(mesh, QuadraticTetMesh)
    return [each.refined(mesh) for each in actuators]


def _finer_mesh(solid: Solid) -> QuadraticTetMesh:
    if solid.elements.shape[1] == 4:
        cells = solid.mesh.cells if isinstance(solid.mesh, WithCells) else None
        return QuadraticTetMesh.of(solid.nodes, solid.elements, regions=solid.regions, cells=cells)
    diagonals = solid.nodes[solid.elements[:, _INSIDE[:, 0, :2]]]
    shortest = np.linalg.norm(diagonals[:, :, 0] - diagonals[:, :, 1], axis=2).argmin(axis=1)
    inside = np.take_along_axis(solid.elements[:, None], _INSIDE[shortest], axis=2)
    parts = np.concatenate([solid.elements[:, _AT_CORNERS], inside], axis=1).reshape(-1, 4)
    return QuadraticTetMesh.of(solid.nodes, parts, regions=np.repeat(solid.regions, 8))


def _with_between(nodes: np.ndarray, mesh: QuadraticTetMesh, count: int) -> np.ndarray:
    """Nodes, and the middles of edges between two of them."""
    return np.concatenate([nodes, count + np.flatnonzero(np.isin(mesh.edges, nodes).all(axis=1))])


def _spread(loads: np.ndarray, solid: Solid, mesh: QuadraticTetMesh) -> np.ndarray:
    """Loads on the nodes of a solid as loads on those of a finer mesh of it, shape [n, k] each.

    What covers faces acts on the finer faces evenly; what acts on nodes apart stays there.
    """
    result = np.zeros((len(mesh.nodes), loads.shape[1]))
    result[: solid.node_count] = loads
    faces = solid.boundary
    bearing = faces if faces.shape[1] == 3 else faces[:, 3:]  # the nodes on which an even load acts
    loaded = np.asarray(loads.any(axis=1))
    covered_faces = loaded[bearing].all(axis=1)
    faces, bearing = faces[covered_faces], bearing[covered_faces]
    if len(faces) == 0:
        return result
    parts = flat_triangles(faces)
    a, b, c = (solid.nodes[faces[:, i]] for i in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    shares = np.bincount(bearing.ravel(), np.repeat(areas, 3), solid.node_count)
    borne = shares > 0.0
    result[: solid.node_count][borne] = 0.0
    even = loads / np.where(borne, shares, 1.0)[:, None]
    on_faces = even[bearing].sum(axis=1) * areas[:, None]
    on_parts = np.repeat(on_faces, len(parts) // len(faces), axis=0) * (len(faces) / len(parts))
    np.add.at(result, mesh.with_middles(parts)[:, 3:], on_parts[:, None] / 3.0)
    return result
