"""How tetrahedra hang together: faces, boundary, closed pieces of it, edges, angles. Arrays only, no files, no devices.

Corners 0, 1, 2, 3 of a tetrahedron are ordered so that 1, 2, 3 turn counter-clockwise seen from outside: its signed
volume is positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from annelid.core.errors import InvalidMesh
from annelid.shapes.topology import components, edges_of, signed_volumes
from annelid.shapes.values import Floats, Indices

FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])
"""Corners of the four faces of a tetrahedron, counter-clockwise from outside; face i is opposite to corner i."""

EDGES = np.array([(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)])
"""Corners of the six edges of a tetrahedron, in the order of VTK's 10-node tetrahedron."""

SIDES = np.array([(0, 1), (1, 2), (2, 0)])
"""Corners of the three sides of a triangle, in the order of VTK's 6-node triangle."""


_QUARTERS = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])


def flat_triangles(faces: Indices) -> Indices:
    """Faces as triangles of three nodes, [k, 3]: those of six, with the middles of their sides, are cut in four."""
    return faces if faces.shape[1] == 3 else faces[:, _QUARTERS].reshape(-1, 3)


def volumes_of(nodes: Floats, tetrahedra: Indices) -> Floats:
    """Signed volume of each tetrahedron [m^3], shape [m]."""
    a, b, c, d = np.moveaxis(nodes[tetrahedra], 1, 0)
    return np.asarray(np.einsum("ni,ni->n", b - a, np.cross(c - a, d - a)) / 6.0)


def boundary_of(tetrahedra: Indices) -> Indices:
    """Faces of one tetrahedron only, outwards, shape [k, 3]; faces that cannot be of a solid are refused."""
    faces = tetrahedra[:, FACES].reshape(-1, 3)
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T)
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(corners[order], axis=0) != 0).any(axis=1)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(first) - 1
    count = np.bincount(number)
    _require_conforming(faces, corners, number, count)
    return np.ascontiguousarray(faces[count[number] == 1])


def _require_conforming(faces: Indices, corners: Indices, number: NDArray[np.int64], count: NDArray[np.int64]) -> None:
    if (crowded := int((count > 2).sum())) > 0:
        raise InvalidMesh(
            f"{crowded} faces belong to more than two tetrahedra, where a solid has one or two; remove doubles."
        )
    even = (np.argsort(faces, axis=1, kind="stable") == [[0, 1, 2]]).all(axis=1)
    even |= (faces[:, 1] == corners[:, 0]) & (faces[:, 2] == corners[:, 1])
    even |= (faces[:, 2] == corners[:, 0]) & (faces[:, 0] == corners[:, 1])
    balance = np.bincount(number, np.where(even, 1.0, -1.0), len(count))
    if (overlaps := int(((count == 2) & (balance != 0.0)).sum())) > 0:
        raise InvalidMesh(
            f"{overlaps} faces have both their tetrahedra on one side; the elements overlap: mesh it again."
        )


def closed_pieces(nodes: Floats, triangles: Indices) -> tuple[list[Indices], Floats]:
    """The closed surfaces that outward triangles of a solid form, and the signed volume of each [m^3].

    Pieces are ordered by their lowest node. A cavity has a negative volume. Where more than two triangles meet at an
    edge, those that face the same empty wedge belong together, so that two cavities that touch there stay two.
    """
    count, piece = components(_across_the_empty_side(nodes, triangles), len(triangles))
    lowest = np.full(count, len(nodes))
    np.minimum.at(lowest, piece, triangles.min(axis=1))
    ranking = np.argsort(lowest, kind="stable")
    order = np.argsort(piece, kind="stable")
    parts = np.split(triangles[order], np.cumsum(np.bincount(piece, minlength=count))[:-1])
    volumes = np.bincount(piece, signed_volumes(nodes, triangles), count).astype(np.float64)
    return [np.ascontiguousarray(parts[k]) for k in ranking], volumes[ranking]


def _across_the_empty_side(nodes: Floats, triangles: Indices) -> NDArray[np.int64]:
    """Pairs of triangles that bound the same empty wedge at an edge, shape [k, 2].

    A side that runs from the lower to the higher node has the empty wedge on its counter-clockwise side, seen against
    the direction of the edge; the next triangle in that turn is its partner.
    """
    edges = edges_of(triangles)
    number, forward = edges.of_triangles.ravel(), edges.forward.ravel()
    order = np.lexsort([_turn(nodes, triangles, forward) * (edges.count[number] > 2), number])
    starts = np.cumsum(edges.count) - edges.count
    place = np.arange(len(order))
    following = np.where(place + 1 < (starts + edges.count)[number[order]], place + 1, starts[number[order]])
    leading = forward[order]
    return np.stack([order[leading], order[following[leading]]], axis=1) // 3


def _turn(nodes: Floats, triangles: Indices, forward: NDArray[np.bool_]) -> Floats:
    """Angle of each side's third corner about the edge, from a direction that all triangles of the edge share."""
    start, end = np.stack([triangles, np.roll(triangles, -1, axis=1)]).reshape(2, -1)
    third = np.roll(triangles, -2, axis=1).ravel()
    low, high = np.where(forward, start, end), np.where(forward, end, start)
    along = nodes[high] - nodes[low]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    helper = np.eye(3)[np.abs(along).argmin(axis=1)]
    first = np.cross(along, helper)
    arm = nodes[third] - nodes[low]
    return np.arctan2(np.einsum("ni,ni->n", arm, np.cross(along, first)), np.einsum("ni,ni->n", arm, first))


def tetrahedron_edges(tetrahedra: Indices) -> tuple[Indices, Indices]:
    """Pairs of nodes, the lower first, shape [e, 2], and the edge numbers of each tetrahedron as in `EDGES`, [m, 6]."""
    pairs = np.sort(tetrahedra[:, EDGES].reshape(-1, 2), axis=1).astype(np.int64)
    stride = int(tetrahedra.max()) + 1
    keys, number = np.unique(pairs[:, 0] * stride + pairs[:, 1], return_inverse=True)
    return np.stack([keys // stride, keys % stride], axis=1).astype(np.int32), number.reshape(-1, 6).astype(np.int32)


def edge_numbers(edges: Indices, pairs: Indices) -> Indices:
    """Row of each pair of nodes, in either order, in the sorted edges of `tetrahedron_edges`; pairs [..., 2]."""
    stride = int(edges.max()) + 1
    low, high = pairs.min(axis=-1).astype(np.int64), pairs.max(axis=-1)
    return np.searchsorted(edges[:, 0].astype(np.int64) * stride + edges[:, 1], low * stride + high).astype(np.int32)


def dihedral_angles_of(nodes: Floats, tetrahedra: Indices) -> Floats:
    """Angle between the two faces at each edge [rad], in the order of `EDGES`, shape [m, 6]."""
    corners = nodes[tetrahedra]
    triangles = corners[:, FACES]
    normals = np.cross(triangles[:, :, 1] - triangles[:, :, 0], triangles[:, :, 2] - triangles[:, :, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), np.finfo(float).tiny)
    opposite = EDGES[[5, 3, 4, 1, 2, 0]]  # face i is opposite to corner i: an edge lies in the faces of the other two
    first, second = normals[:, opposite[:, 0]], normals[:, opposite[:, 1]]
    cosine = -np.einsum("mei,mei->me", first, second)
    return np.asarray(np.arctan2(np.linalg.norm(np.cross(first, second), axis=2), cosine))
