"""Distance between two surfaces, in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.shapes import TriangleMesh
from annelid.shapes.query import MeshDistance


@dataclass(frozen=True)
class SurfaceError:
    """How far two surfaces are apart.

    Every point of one surface has a distance to the nearest point of the other. Means and percentiles are over the area
    of both surfaces, each of which counts half.

    Attributes:
        there: Mean distance of the first surface from the second [m].
        back: Mean distance of the second surface from the first [m].
        percentile: Distance that 95 % of both surfaces do not exceed [m].
    """

    there: float
    back: float
    percentile: float

    @property
    def mean(self) -> float:
        """Mean of both directions [m]."""
        return (self.there + self.back) / 2


def surface_error(first: TriangleMesh, second: TriangleMesh) -> SurfaceError:
    """Distance between two closed surfaces."""
    there, here_area = _distances(first, second)
    back, there_area = _distances(second, first)
    distances = np.concatenate([there, back])
    weights = np.concatenate([here_area / here_area.sum(), there_area / there_area.sum()])
    order = np.argsort(distances)
    reached = np.cumsum(weights[order]) / weights.sum()
    percentile = distances[order][np.searchsorted(reached, 0.95)]
    means = [float(np.average(d, weights=a)) for d, a in ((there, here_area), (back, there_area))]
    return SurfaceError(means[0], means[1], float(percentile))


def _distances(points_of: TriangleMesh, surface: TriangleMesh) -> tuple[np.ndarray, np.ndarray]:
    """Distances of three points in every triangle from a surface [m], and the area that each stands for [m²]."""
    corners = points_of.vertices[points_of.triangles]
    edges = corners[:, 1:] - corners[:, :1]
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    shares = (np.ones((3, 3)) + 3 * np.eye(3)) / 6  # exact for quadratic functions
    points = np.einsum("pk,tki->tpi", shares, corners).reshape(-1, 3)
    query = MeshDistance(surface.vertices, surface.triangles)
    return query.distance(points), np.repeat(area / 3, 3)
