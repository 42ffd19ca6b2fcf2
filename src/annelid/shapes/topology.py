"""How triangles hang together: edges, shells, volumes and winding numbers. Arrays only, no files, no devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from annelid.shapes.values import Floats, Indices


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a triangle mesh.

    Attributes:
        pairs: Indices of the two vertices, the lower one first, shape [k, 2].
        count: Number of triangles at each edge, shape [k].
        balance: Triangles that run along the edge from the lower to the higher index, less those that run back, shape
            [k]. A surface is closed and consistently wound exactly when it is 0 everywhere.
        of_triangles: Edge number of each side of each triangle, shape [n, 3]; side i joins vertices i and i + 1.
        forward: Whether the side runs from the lower to the higher index, shape [n, 3].
    """

    pairs: NDArray[np.int64]
    count: NDArray[np.int64]
    balance: NDArray[np.int64]
    of_triangles: NDArray[np.int64]
    forward: NDArray[np.bool_]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Edges with one triangle only, shape [k]."""
        return np.asarray(self.count == 1)

    @property
    def crowded(self) -> NDArray[np.bool_]:
        """Edges at which more than two triangles meet and do not cancel, shape [k]."""
        return np.asarray((self.count > 2) & (self.balance != 0))

    @property
    def twisted(self) -> NDArray[np.bool_]:
        """Edges between two triangles, one of which faces outwards and the other inwards, shape [k]."""
        return np.asarray((self.count == 2) & (self.balance != 0))


def edges_of(triangles: Indices) -> Edges:
    """The edges of triangles of shape [n, 3]."""
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2).astype(np.int64)
    forward = sides[:, 0] < sides[:, 1]
    stride = int(triangles.max(initial=0)) + 1
    keys, number = np.unique(sides.min(axis=1) * stride + sides.max(axis=1), return_inverse=True)
    direction = np.where(forward, 1.0, -1.0)
    return Edges(
        pairs=np.stack([keys // stride, keys % stride], axis=1),
        count=np.bincount(number, minlength=len(keys)),
        balance=np.bincount(number, weights=direction, minlength=len(keys)).astype(np.int64),
        of_triangles=number.reshape(-1, 3),
        forward=forward.reshape(-1, 3),
    )


def neighbours(edges: Edges) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Pairs of triangles that share an edge with no other, shape [k, 2], and whether they are wound alike, [k]."""
    sides = _meeting_sides(edges)
    forward = edges.forward.ravel()[sides]
    return sides // 3, forward[:, 0] != forward[:, 1]


def beyond(edges: Edges) -> Indices:
    """The triangle across each side of each triangle, -1 where there is none or more than one; shape [n, 3]."""
    sides = _meeting_sides(edges)
    across = np.full(edges.of_triangles.size, -1, dtype=np.int32)
    across[sides] = sides[:, ::-1] // 3
    return across.reshape(-1, 3)


def _meeting_sides(edges: Edges) -> NDArray[np.int64]:
    """Sides, numbered 3 triangle + side, that meet at an edge of two triangles, shape [k, 2]."""
    number = edges.of_triangles.ravel()
    order = np.argsort(number, kind="stable")
    return order[(edges.count == 2)[number[order]]].reshape(-1, 2)


def shells_of(edges: Edges) -> tuple[int, NDArray[np.int32]]:
    """Number of shells, pieces joined through edges of two triangles, and the shell of each triangle, shape [n]."""
    pairs, _ = neighbours(edges)
    size = len(edges.of_triangles)
    return components(pairs, size)


def components(pairs: NDArray[np.integer], size: int) -> tuple[int, NDArray[np.int32]]:
    """Number of connected components of a graph of `size` nodes and the component of each node."""
    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    count, labels = connected_components(graph, directed=False)
    return int(count), labels


def signed_volumes(vertices: Floats, triangles: Indices) -> Floats:
    """Volume between each triangle and the centre [m^3], positive if the triangle faces away from it, shape [n]."""
    corners = vertices[triangles] - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    return np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0


def winding_numbers(vertices: Floats, triangles: Indices, points: Floats) -> Floats:
    """How many times the surface winds around each point: 1 inside, 0 outside a simple closed mesh, shape [points].

    The sum of signed solid angles (van Oosterom and Strackee, 1983); its cost is points times triangles.
    """
    a, b, c = np.moveaxis(vertices[triangles][None] - points[:, None, None], 2, 0)
    length_a, length_b, length_c = (np.linalg.norm(side, axis=-1) for side in (a, b, c))
    above = np.einsum("pni,pni->pn", a, np.cross(b, c))
    below = (
        length_a * length_b * length_c
        + (a * b).sum(-1) * length_c
        + (b * c).sum(-1) * length_a
        + (c * a).sum(-1) * length_b
    )
    return np.asarray(np.arctan2(above, below).sum(axis=1) / (2.0 * np.pi))
