"""Exact volume, centre and moments of a closed surface of triangles, whole or cut off by a plane. Host arrays only.

Everything is a sum over tetrahedra from one apex to the triangles. With the apex on the cutting plane, the lid that
would close the lower part has no volume, so it is never built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.shapes.values import Floats, Indices, as_axis


@dataclass(frozen=True, eq=False)
class Moments:
    """Integrals over the inside of a polyhedron.

    Attributes:
        volume: ∫ dV [m³].
        first: ∫ x dV [m⁴], shape [3].
        second: ∫ x xᵀ dV [m⁵], shape [3, 3].
    """

    volume: float
    first: Floats
    second: Floats

    @property
    def centre(self) -> Floats:
        """Centre of the volume [m], shape [3]; not a number where there is no volume."""
        return self.first / self.volume if self.volume else np.full(3, np.nan)


def moments(vertices: Floats, triangles: Indices) -> Moments:
    """Moments of the inside of a closed surface.

    Args:
        vertices: Positions [m], shape [n, 3].
        triangles: Vertex indices, counter-clockwise seen from outside, shape [k, 3].
    """
    corners = np.asarray(vertices, dtype=np.float64)[triangles]
    return _moments(corners, corners.mean(axis=(0, 1)))


def moments_below(vertices: Floats, triangles: Indices, level: float, *, up: ArrayLike = (0.0, 0.0, 1.0)) -> Moments:
    """Moments of the part of the inside that lies below a plane.

    Args:
        vertices: Positions [m], shape [n, 3].
        triangles: Vertex indices, counter-clockwise seen from outside, shape [k, 3].
        level: Height of the plane above the origin, along `up` [m].
        up: Normal of the plane, towards the part that is cut off.
    """
    direction = np.array(as_axis(up))
    corners = np.asarray(vertices, dtype=np.float64)[triangles]
    centre = corners.mean(axis=(0, 1))
    apex = centre + (level - centre @ direction) * direction
    return _moments(triangles_below(corners, level, direction), apex)


def triangles_below(corners: Floats, level: float, up: Floats) -> Floats:
    """What is left of triangles below a plane.

    Args:
        corners: Corners [m], shape [k, 3, 3].
        level: Height of the plane above the origin, along `up` [m].
        up: Unit normal of the plane, shape [3].

    Returns:
        Corners of the triangles and parts of triangles, wound as before, shape [m, 3, 3].
    """
    depth = level - corners @ up
    wet = depth > 0.0
    count = wet.sum(axis=1)
    tip, left, right = _cut(corners[count == 1], depth[count == 1], wet[count == 1])[:3]
    _, near, far, second, third = _cut(corners[count == 2], depth[count == 2], ~wet[count == 2])
    parts = [(tip, left, right), (near, second, third), (near, third, far)]
    return np.concatenate([corners[count == 3], *(np.stack(part, axis=1) for part in parts)])


def _cut(corners: Floats, depth: Floats, lone: np.ndarray) -> tuple[Floats, ...]:
    """The lone corner of each triangle, where the plane cuts the sides to the two after it, and these two."""
    rows, first = np.arange(len(corners)), lone.argmax(axis=1)
    tip, own = corners[rows, first], depth[rows, first]
    others = [(first + step) % 3 for step in (1, 2)]
    shares = [own / (own - depth[rows, other]) for other in others]
    ends = [corners[rows, other] for other in others]
    cuts = [tip + share[:, None] * (end - tip) for share, end in zip(shares, ends, strict=True)]
    return tip, *cuts, *ends


def _moments(corners: Floats, apex: Floats) -> Moments:
    edges = corners - apex
    volumes = np.einsum("ki,ki->k", edges[:, 0], np.cross(edges[:, 1], edges[:, 2])) / 6.0
    sums = edges.sum(axis=1)
    volume = float(volumes.sum())
    first = volumes @ sums / 4.0
    # ∫ x xᵀ over a tetrahedron with one corner in the origin: V/20 (Σ aᵢ aᵢᵀ + s sᵀ), s = Σ aᵢ.
    second = (np.einsum("k,kci,kcj->ij", volumes, edges, edges) + np.einsum("k,ki,kj->ij", volumes, sums, sums)) / 20.0
    mixed = np.outer(first, apex)
    return Moments(volume, first + volume * apex, second + mixed + mixed.T + volume * np.outer(apex, apex))
