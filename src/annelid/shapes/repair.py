"""Closing a surface that is not closed: welding, winding, filling holes, orienting shells.

Everything here works on vertices [m] of shape [n, 3] and triangles of shape [m, 3] and returns new arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from annelid.core.distinct import distinct_rows
from annelid.core.errors import InvalidMesh
from annelid.shapes.topology import components, edges_of, neighbours, shells_of, signed_volumes, winding_numbers
from annelid.shapes.values import Floats, Indices

WELD = 1e-6
"""Vertices closer than this fraction of the diagonal are one vertex: rounding in a file, not geometry."""

_MOST_NESTED = 2000
_PROBES = 8


def merge(vertices: Floats, triangles: Indices) -> tuple[Floats, Indices]:
    """Join vertices of equal coordinates, drop triangles that lose a corner by it, and vertices that nothing uses."""
    vertices = vertices + 0.0  # -0.0 and 0.0 become one number
    order = np.lexsort(vertices.T)
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (np.diff(vertices[order], axis=0) != 0.0).any(axis=1)
    label = np.empty(len(order), dtype=np.int64)
    label[order] = order[starts][np.cumsum(starts) - 1]  # the sort is stable: each group is led by its first vertex
    return compact(vertices, label[triangles])


def compact(vertices: Floats, triangles: NDArray[np.integer]) -> tuple[Floats, Indices]:
    """Drop triangles with fewer than three different corners, then vertices that nothing uses."""
    sides = triangles - np.roll(triangles, -1, axis=1)
    triangles = triangles[(sides != 0).all(axis=1)]
    used, number = np.unique(triangles, return_inverse=True)
    return vertices[used], number.reshape(-1, 3).astype(np.int32)


@dataclass(frozen=True)
class Holes:
    """Holes that were filled.

    Attributes:
        count: How many.
        area: Area of what fills them [m²].
    """

    count: int
    area: float


def repaired(vertices: Floats, triangles: Indices) -> tuple[Floats, Indices, Holes]:
    """The surface with vertices welded, holes filled and all shells wound consistently, and the holes that it had.

    A hole is filled by a fan around the mean of its rim: exact for flat convex holes, plausible for most others. A
    shell that lies wholly inside another bounds a cavity. Edges with more than two triangles are left as they are.
    """
    vertices, triangles = _weld(vertices, triangles)
    triangles = _without_doubles(triangles)
    triangles = _wound_consistently(triangles)
    vertices, triangles, holes = _filled(vertices, triangles)
    return vertices, _oriented(vertices, triangles), holes


def _weld(vertices: Floats, triangles: Indices) -> tuple[Floats, Indices]:
    vertices, triangles = merge(vertices, triangles)
    if len(triangles) == 0:
        raise InvalidMesh("nothing remains of the mesh without triangles that have two equal corners.")
    reach = WELD * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    close = cKDTree(vertices).query_pairs(reach, output_type="ndarray")
    count, label = components(close, len(vertices))
    first = np.full(count, len(vertices))
    np.minimum.at(first, label, np.arange(len(vertices)))
    welded = compact(vertices, first[label][triangles])
    if len(welded[1]) == 0:
        raise InvalidMesh(
            f"nothing remains of the mesh when vertices closer than {reach:.3g} m, {WELD:g} of its diagonal, are "
            "joined: remove vertices that lie far away from all others."
        )
    return welded


def _without_doubles(triangles: Indices) -> Indices:
    _, first = distinct_rows(np.sort(triangles, axis=1), return_index=True)
    return triangles[np.sort(first)]


def _wound_consistently(triangles: Indices) -> Indices:
    """Flip triangles so that neighbours agree.

    Each triangle is two nodes of a graph, as it is and flipped; neighbours that agree join like to like, others
    crosswise. In an orientable shell the two are then separate, and the one that holds the first triangle as it is says
    whom to flip.
    """
    size = len(triangles)
    edges = edges_of(triangles)
    pairs, alike = neighbours(edges)
    shift = np.where(alike, 0, size)
    first, second = pairs[:, 0], pairs[:, 1]
    links = np.concatenate(
        [np.stack([first, second + shift], axis=1), np.stack([first + size, second + size - shift], axis=1)]
    )
    _, cover = components(links, 2 * size)
    _, shell = shells_of(edges)
    leaders = np.unique(shell, return_index=True)[1]
    flip = cover[size:] == cover[leaders][shell]
    flip &= cover[size:] != cover[:size]  # a one-sided shell has no consistent winding
    return np.where(flip[:, None], triangles[:, ::-1], triangles)


def _filled(vertices: Floats, triangles: Indices) -> tuple[Floats, Indices, Holes]:
    edges = edges_of(triangles)
    if not edges.open.any():
        return vertices, triangles, Holes(0, 0.0)
    rim = edges.pairs[edges.open]
    rim = np.where((edges.balance[edges.open] > 0)[:, None], rim[:, ::-1], rim)  # against the triangle that is there
    corners, number = np.unique(rim, return_inverse=True)
    count, hole = components(number.reshape(-1, 2), len(corners))
    sums = np.stack([np.bincount(hole, vertices[corners, k], count) for k in range(3)], axis=1)
    centers = sums / np.bincount(hole, minlength=count)[:, None]
    apex = len(vertices) + hole[number.reshape(-1, 2)[:, 0]]
    fans = np.column_stack([rim, apex]).astype(np.int32)
    vertices = np.concatenate([vertices, centers])
    a, b, c = np.moveaxis(vertices[fans], 1, 0)
    area = 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())
    return vertices, np.concatenate([triangles, fans]), Holes(count, area)


def _oriented(vertices: Floats, triangles: Indices) -> Indices:
    """Turn every shell outwards, and inwards where it bounds a cavity."""
    count, shell = shells_of(edges_of(triangles))
    inwards = np.bincount(shell, signed_volumes(vertices, triangles), count) < 0.0
    triangles = np.where(inwards[shell][:, None], triangles[:, ::-1], triangles)
    cavity = _depths(vertices, triangles, count, shell) % 2 == 1
    return np.ascontiguousarray(np.where(cavity[shell][:, None], triangles[:, ::-1], triangles))


def _depths(vertices: Floats, triangles: Indices, count: int, shell: Indices) -> Indices:
    """In how many other shells each shell lies, shape [count]."""
    depths = np.zeros(count, dtype=np.int32)
    if not 1 < count <= _MOST_NESTED:
        return depths
    corners = vertices[triangles]
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, shell, corners.min(axis=1))
    np.maximum.at(high, shell, corners.max(axis=1))
    boxed = (low[:, None] > low).all(axis=-1) & (high[:, None] < high).all(axis=-1)
    for inner, outer in np.argwhere(boxed):
        ours = np.unique(triangles[shell == inner])
        probes = vertices[ours[np.linspace(0, len(ours) - 1, _PROBES).astype(int)]]
        around = winding_numbers(vertices, triangles[shell == outer], probes)
        depths[inner] += bool((around > 0.5).all())
    return depths
