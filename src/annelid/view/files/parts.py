"""What all writers ask of the parts of a snapshot: their points, what joins them, and a piece of an endless plane."""

from __future__ import annotations

import numpy as np

from annelid.core.snapshot import Lines, Mesh, Plane, Snapshot, Spheres, host_array

Finite = Mesh | Spheres | Lines
"""A part that has an end."""

_NONE = np.empty((0, 3), np.int32)


def finite_parts(snapshot: Snapshot) -> list[Finite]:
    """The parts of a snapshot without its planes."""
    return [part for part in snapshot.parts if not isinstance(part, Plane)]


def points_of(part: Finite) -> np.ndarray:
    """Vertices, centres or end points [m], shape [n, 3]; the array itself where it has this shape."""
    kept = part.centers if isinstance(part, Spheres) else part.vertices if isinstance(part, Mesh) else part.points
    points = np.asarray(host_array(kept))
    return points if points.ndim == 2 else points.reshape(-1, 3)


def index_of(part: Finite) -> np.ndarray:
    """Triangles, shape [m, 3], or segments, shape [m, 2]; nothing for spheres."""
    if isinstance(part, Spheres):
        return _NONE
    return np.asarray(host_array(part.triangles if isinstance(part, Mesh) else part.segments))


def radii_of(part: Spheres) -> np.ndarray:
    """Radius of each sphere [m], shape [n], float32."""
    count = len(points_of(part))
    return np.broadcast_to(np.asarray(host_array(part.radii), np.float32), (count,))


def square_of(plane: Plane, low: np.ndarray, high: np.ndarray) -> Mesh:
    """A square of a plane below everything between two corners [m], thrice as wide as that."""
    normal = np.asarray(plane.normal, float)
    normal = normal / np.linalg.norm(normal)
    aside = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    aside = aside / np.linalg.norm(aside)
    middle = 0.5 * (np.asarray(low, float) + np.asarray(high, float))
    middle = middle - normal * float(normal @ (middle - np.asarray(plane.point, float)))
    half = 1.5 * max(float(np.linalg.norm(np.subtract(high, low))), 1e-6)
    along = half * aside, half * np.cross(normal, aside)
    corners = np.array([middle + a * along[0] + b * along[1] for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    return Mesh(plane.name, corners, np.array([[0, 1, 2], [0, 2, 3]], np.int32), color=plane.color)
