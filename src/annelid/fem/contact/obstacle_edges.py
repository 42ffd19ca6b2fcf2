"""Edges of boxes, cylinders and closed meshes against the edges of a solid, as one more element set, without friction.

Points along an edge of an obstacle touch the triangles of a solid; an edge of the solid that comes between two of them
would pass, were there no push of edges on edges and were moves not cut for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.distinct import distinct_rows
from annelid.core.replay import Launcher
from annelid.fem.contact.loads import CornerLoad
from annelid.fem.contact.surface import edges_of
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.edges import EdgeHits, Edges, follow_edges, free_edge_parts, place_edges, touch_edges
from annelid.shapes import Box, Cylinder, Rigid, TriangleMesh
from annelid.shapes.form import Form

_RIM = 32  # edges of the polygon that stands for the rim of a cylinder
_SHARP = np.cos(np.radians(20.0))  # of the normals of two triangles of a mesh: at less of a turn their edge is smooth
_MOST = 384  # edges of a mesh that are obstacles, the sharpest ones: each is compared with each edge of the solid
_SLOTS = 6  # edges of obstacles that are told of an edge of the solid


class ObstacleEdges(ElementSet):
    """Contact of edges of obstacles with edges of a solid's surface: one element an edge of the solid.

    Args:
        faces: Triangles of the outer surface, shape [t, 3].
        rigids: The obstacles.
        forms: What they are.
        structure: The same for the kernels.
        reach: Gap at which contact begins [m].
        skin: Gap that is kept beside [m].
        device: Where it is computed.
    """

    def __init__(
        self,
        faces: np.ndarray,
        rigids: Sequence[Rigid],
        forms: Sequence[Form],
        structure: Any,
        *,
        reach: float,
        skin: float,
        device: wp.Device,
    ) -> None:
        found = [sharp_edges(rigid, form) for rigid, form in zip(rigids, forms, strict=True)]
        super().__init__(edges_of(faces) if any(map(len, found)) else np.zeros((0, 2)), device)
        self.owners = np.repeat(np.arange(len(rigids)), [len(each) for each in found])
        self._forms, self._reach, self._skin = structure, wp.float64(reach), wp.float64(skin)
        self._around = wp.float64(reach + skin)
        self._edges: Any = Edges()
        self._edges.owners = wp.array(self.owners, dtype=wp.int32, device=device)
        ends = np.ascontiguousarray(np.concatenate([np.zeros((0, 2, 3)), *found]))
        made: Any = wp.array(ends, dtype=wp.vec3d, device=device)
        numbers: Any = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._edges.ends, self._edges.nodes = made, numbers
        sizes = 0.5 * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        self._edges.sizes = wp.array(sizes, dtype=wp.float64, device=device)
        placed: Any = wp.zeros(ends.shape[:2], dtype=wp.vec3d, device=device)
        self._placed = placed
        self._parts = wp.zeros(len(self.owners), dtype=wp.float64, device=device)
        self.shares = wp.zeros((self.element_count, len(self.owners)), dtype=wp.float64, device=device)
        self._hits: Any = EdgeHits()
        kinds = {
            "edges": wp.int32, "shares": wp.float64, "places": wp.vec3d, "forces": wp.vec3d, "tangents": wp.mat33d
        }  # fmt: skip
        for name, dtype in kinds.items():
            setattr(self._hits, name, wp.zeros((self.element_count, _SLOTS), dtype=dtype, device=device))
        self._launcher = Launcher(device)

    def __len__(self) -> int:
        """Number of edges of obstacles."""
        return len(self.owners)

    def begin(self, now: Any) -> None:
        """Start a step: where obstacles are, in arrays that are written to."""
        self._now = now

    def follow(self, positions: wp.array[Any]) -> None:
        """Take the shares of nearly parallel edges from where nodes are."""
        self._place()
        inputs = [self._around, self._edges, self._placed, positions, self.shares]
        self._launcher.launch(follow_edges, self.element_count, inputs)

    def _place(self) -> None:
        self._launcher.launch(place_edges, (len(self), 2), [self._edges, self._now, self._placed])

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of the pushes."""
        self._place()
        fixed = [int(tangent), self._reach, self._skin, self._edges, self._forms, self._placed, self.shares]
        outputs = [self.energy, self.forces, self.tangent, self._hits]
        self._launcher.launch(touch_edges, self.element_count, [*fixed, positions, *outputs])

    def free_part(self, positions: wp.array[Any], step: wp.array[Any], begin: Any, end: Any) -> float:
        """Part of a step of nodes and obstacles on which no edge passes another, at most 1."""
        self._launcher.launch(free_edge_parts, len(self), [self._edges, begin, end, positions, step, self._parts])
        return float(self._parts.numpy().min(initial=1.0))

    def loads_of(self, of: np.ndarray | None = None) -> list[CornerLoad]:
        """What edges of obstacles do, of all or of some, as evaluated last."""
        edges, slots, owners = self._touching()
        wanted = np.ones(len(edges), bool) if of is None else np.isin(owners, of)
        shares, places, forces, tangents = (
            getattr(self._hits, name).numpy()[edges, slots] for name in ("shares", "places", "forces", "tangents")
        )
        return [
            CornerLoad(
                int(owners[k]), places[k], self.nodes[edges[k]], np.array([1.0 - shares[k], shares[k]]), -forces[k],
                tangents[k],
            )
            for k in np.flatnonzero(wanted)
        ]  # fmt: skip

    def stiffness(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pushes as evaluated last: nodes of edges [p, 2], shares [p, 2], tangents [N/m] [p, 3, 3]."""
        edges, slots, _ = self._touching()
        shares = self._hits.shares.numpy()[edges, slots]
        return [
            (self.nodes[edges], np.stack([1.0 - shares, shares], axis=1), self._hits.tangents.numpy()[edges, slots])
        ]

    def _touching(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges of the solid that touch, at which of their slots, and the obstacle, shape [p] each."""
        found = self._hits.edges.numpy()
        edges, slots = np.nonzero(found >= 0)
        return edges, slots, self.owners[found[edges, slots]]


def sharp_edges(rigid: Rigid, form: Form) -> np.ndarray:
    """Edges of an obstacle that a solid is outside of, in the frame of the kernels [m], shape [e, 2, 3]."""
    if rigid.inside:
        return np.zeros((0, 2, 3))
    if isinstance(rigid.geometry, Box):
        corners = form.size * (2.0 * np.stack(np.unravel_index(np.arange(8), (2, 2, 2)), axis=1) - 1.0)
        pairs = [(i, i | bit) for bit in (1, 2, 4) for i in range(8) if not i & bit]
        return np.asarray(corners[np.array(pairs)])
    if isinstance(rigid.geometry, Cylinder):
        radius, half, _ = form.size
        angle = 2.0 * np.pi * np.arange(_RIM) / _RIM
        rim = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(_RIM, half)])
        upper = np.stack([rim, np.roll(rim, -1, axis=0)], axis=1)
        return np.concatenate([upper, upper * (1.0, 1.0, -1.0)])
    if isinstance(rigid.geometry, TriangleMesh):
        return form.axes.inv().apply(_bulging(rigid.geometry).reshape(-1, 3) - form.middle).reshape(-1, 2, 3)
    return np.zeros((0, 2, 3))


def _bulging(mesh: TriangleMesh) -> np.ndarray:
    """Edges of a mesh at which its surface turns sharply outwards [m], shape [e, 2, 3]."""
    vertices, triangles = np.asarray(mesh.vertices), np.asarray(mesh.triangles)
    normals = np.cross(vertices[triangles[:, 1]] - vertices[triangles[:, 0]],
                       vertices[triangles[:, 2]] - vertices[triangles[:, 0]])  # fmt: skip
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, which, counts = distinct_rows(np.sort(sides, axis=1), return_inverse=True, return_counts=True)
    shared = np.argsort(which.ravel(), kind="stable")[np.repeat(counts == 2, counts)].reshape(-1, 2)
    edges, (one, two) = edges[counts == 2], shared.T // 3
    opposite = triangles[two].sum(axis=1) - edges.sum(axis=1)  # the corner of the second triangle that is not shared
    outwards = np.einsum("ei,ei->e", normals[one], vertices[opposite] - vertices[edges[:, 0]]) < 0.0
    turns = np.einsum("ei,ei->e", normals[one], normals[two])
    sharp = np.flatnonzero(outwards & (turns < _SHARP))
    return np.asarray(vertices[edges[np.sort(sharp[np.argsort(turns[sharp], kind="stable")[:_MOST]])]])
