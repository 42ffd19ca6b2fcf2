"""Shape functions of straight and curved tetrahedra: their gradients at integration points, volumes and masses.

Nodes 4 to 9 of a 10-node tetrahedron lie on its edges 0-1, 1-2, 0-2, 0-3, 1-3, 2-3, as in VTK.
"""

from __future__ import annotations

import numpy as np

EDGES = np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]])
"""Corners between which nodes 4 to 9 of a 10-node tetrahedron lie."""

_CORNERS = np.array([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Gradients of the four barycentric coordinates in the unit tetrahedron."""

_NEAR, _FAR = (5 + 3 * 5**0.5) / 20, (5 - 5**0.5) / 20


def rule(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Barycentric points, shape [q, 4], and weights that sum to 1, shape [q], exact up to a degree.

    Degrees 1 and 2 are the usual ones with 1 and 4 points; higher ones are products of Gauss rules (Stroud).
    """
    if degree <= 1:
        return np.full((1, 4), 0.25), np.ones(1)
    if degree == 2:
        return np.full((4, 4), _FAR) + (_NEAR - _FAR) * np.eye(4), np.full(4, 0.25)
    points, weights = np.polynomial.legendre.leggauss((degree + 4) // 2)
    r = 0.5 * (points + 1.0)
    a, b, c = (grid.ravel() for grid in np.meshgrid(r, r, r, indexing="ij"))
    i, j, k = (grid.ravel() for grid in np.meshgrid(weights, weights, weights, indexing="ij"))
    x, y, z = a, b * (1.0 - a), c * (1.0 - a) * (1.0 - b)
    return np.column_stack([1.0 - x - y - z, x, y, z]), 6.0 / 8.0 * i * j * k * (1.0 - a) ** 2 * (1.0 - b)


def values(width: int, points: np.ndarray) -> np.ndarray:
    """Shape functions of elements with 4 or 10 nodes at barycentric points [q, 4], shape [q, width]."""
    if width == 4:
        return points
    edges = 4.0 * points[:, EDGES[:, 0]] * points[:, EDGES[:, 1]]
    return np.concatenate([points * (2.0 * points - 1.0), edges], axis=1)


def derivatives(width: int, points: np.ndarray) -> np.ndarray:
    """Derivatives with respect to the coordinates of the unit tetrahedron, shape [q, width, 3]."""
    if width == 4:
        return np.broadcast_to(_CORNERS, (len(points), 4, 3))
    corners = (4.0 * points - 1.0)[:, :, None] * _CORNERS
    first, second = EDGES.T
    edges = points[:, first, None] * _CORNERS[second] + points[:, second, None] * _CORNERS[first]
    return np.concatenate([corners, 4.0 * edges], axis=1)


def point_gradients(rest: np.ndarray, elements: np.ndarray, degree: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the shape functions [1/m], shape [t, q, s, 3], and volumes of the points [m³], shape [t, q].

    Args:
        rest: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, s].
        degree: Degree of the rule; by default that of the energy: 1 for linear, 2 for 10-node tetrahedra.
    """
    width = elements.shape[1]
    chosen = (1 if width == 4 else 2) if degree is None else degree
    jacobians, volumes = _jacobians(rest, elements, chosen)
    local = derivatives(width, rule(chosen)[0])
    return np.einsum("qsj,tqji->tqsi", local, np.linalg.inv(jacobians)), volumes


def _jacobians(rest: np.ndarray, elements: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians at the points of a rule [m], shape [t, q, 3, 3], and their volumes [m³], shape [t, q]."""
    points, weights = rule(degree)
    jacobians = np.einsum("tsi,qsj->tqij", rest[elements], derivatives(elements.shape[1], points))
    return jacobians, np.linalg.det(jacobians) * weights / 6.0


def point_places(rest: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Where the points of `point_gradients` are at rest [m], element after element, shape [t · q, 3]."""
    width = elements.shape[1]
    points, _ = rule(1 if width == 4 else 2)
    return np.einsum("qs,tsi->tqi", values(width, points), rest[elements]).reshape(-1, 3)


def integrals(rest: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """∫ N_a of every element [m³], shape [t, s]: how a uniform load is shared by its nodes."""
    width = elements.shape[1]
    points, _ = rule(3)
    _, volumes = _jacobians(rest, elements, 3)
    return volumes @ values(width, points)


def products(rest: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """∫ N_a N_b of every element [m³], shape [t, s, s]: the consistent mass of unit density."""
    width = elements.shape[1]
    degree = 2 if width == 4 else 4
    points, _ = rule(degree)
    _, volumes = _jacobians(rest, elements, degree)
    shape = values(width, points)
    return np.einsum("tq,qa,qb->tab", volumes, shape, shape)
