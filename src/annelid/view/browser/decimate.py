"""Thinning a surface for the browser: vertices close together become one, once; after that it only moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Thinned:
    """A coarser mesh made of vertices of a finer one.

    Attributes:
        vertices: Indices of the vertices that remain, shape [n].
        triangles: Their triangles, shape [m, 3], int32.
    """

    vertices: np.ndarray
    triangles: np.ndarray


def thinned(vertices: np.ndarray, triangles: np.ndarray, limit: int) -> Thinned:
    """A mesh of at most about `limit` triangles; the same mesh if it is small enough already.

    Vertices in one cell of a grid become the one that is nearest to their middle; triangles that lose a corner vanish.
    """
    everything = Thinned(np.arange(len(vertices)), np.asarray(triangles, np.int32))
    if len(triangles) <= limit:
        return everything
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    area = 0.5 * np.linalg.norm(np.cross(*_edges(vertices, triangles)), axis=1).sum()
    # A closed surface has half as many vertices as triangles, and one vertex for each cell that it passes through.
    cell = float(np.sqrt(area / (0.5 * limit))) or 1.0
    for _ in range(20):
        result = _clustered(vertices, triangles, low, max(cell, 1e-6 * float(np.max(high - low)) or 1e-6))
        if len(result.triangles) <= limit:
            return result
        cell *= 1.25
    return result


def _edges(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = (vertices[triangles[:, i]].astype(np.float64) for i in range(3))
    return b - a, c - a


def _clustered(vertices: np.ndarray, triangles: np.ndarray, low: np.ndarray, cell: float) -> Thinned:
    keys = np.floor((vertices - low) / cell).astype(np.int64)
    size = keys.max(axis=0) + 1
    flat = (keys[:, 0] * size[1] + keys[:, 1]) * size[2] + keys[:, 2]
    _, cluster = np.unique(flat, return_inverse=True)
    cluster = cluster.reshape(-1)
    count = int(cluster.max()) + 1
    weights = np.bincount(cluster, minlength=count)
    middles = np.stack([np.bincount(cluster, vertices[:, i], count) for i in range(3)], axis=1) / weights[:, None]
    distance = np.linalg.norm(vertices - middles[cluster], axis=1)
    order = np.lexsort((distance, cluster))
    chosen = order[np.searchsorted(cluster[order], np.arange(count))]
    corners = cluster[triangles]
    whole = (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 2] != corners[:, 0])
    return Thinned(chosen, corners[whole].astype(np.int32))
