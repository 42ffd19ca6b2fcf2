"""Points spread over the surface of a mesh, the same every time."""

from __future__ import annotations

import numpy as np

from annelid.shapes.values import Floats, Indices


def spread_over(vertices: Floats, triangles: Indices, count: int) -> tuple[Floats, Indices]:
    """Points on triangles [m], by their areas, shape [count, 3], and the triangle of each, shape [count]."""
    corners = vertices[triangles]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng(0)
    edges = np.cumsum(areas) / areas.sum()
    which = np.minimum(np.searchsorted(edges, (np.arange(count) + 0.5) / max(count, 1)), len(triangles) - 1)
    u, v = np.sqrt(rng.random(count)), rng.random(count)
    weights = np.column_stack([1.0 - u, u * (1.0 - v), u * v])
    return np.asarray(np.einsum("nk,nki->ni", weights, corners[which])), which.astype(np.int32)
