"""Points of a solid: nodes, and points between them, as weighted sums of the positions of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.fem.solid import Solid
from annelid.shapes.tet.locate import Locator
from annelid.shapes.tet.topology import EDGES

_OUTSIDE = 0.02
"""A point may be this far outside of its element, as a part of its size: surfaces of meshes are polyhedra."""


def attached(solid: Solid, points: ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [p, m] and weights [p, m] that carry points of a solid along.

    Args:
        solid: The solid.
        points: Positions at rest [m], shape [p, 3].
        name: What the points belong to, for messages.
    """
    try:
        where = np.atleast_2d(np.asarray(points, float))
    except (TypeError, ValueError, OverflowError):
        where = np.empty((0, 0))
    if where.ndim != 2 or where.shape[1] != 3 or not len(where) or not np.isfinite(where).all():
        raise InvalidValue(f"a point of {name} must be three finite numbers [m], not {points!r}.")
    found, weights = Locator(solid.nodes, solid.elements[:, :4]).locate(where)
    outside = np.flatnonzero(weights.min(axis=1) < -_OUTSIDE)
    if len(outside):
        low, high = solid.nodes.min(axis=0), solid.nodes.max(axis=0)
        raise InvalidValue(
            f"{name} is at {where[outside[0]].tolist()} m, outside of the solid, which lies between {low.tolist()} and "
            f"{high.tolist()} m; give a point inside, or the number of a node."
        )
    return solid.elements[found], weights if solid.elements.shape[1] == 4 else _quadratic(weights)


def node_number(solid: Solid, number: Any, name: str) -> int:
    """A node, if it exists."""
    if not 0 <= int(number) < solid.node_count:
        raise InvalidValue(f"{name} names node {int(number)}, but there are nodes 0 to {solid.node_count - 1} only.")
    return int(number)


def names_node(value: Any) -> bool:
    """Whether a value is a whole number, and so names a node."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _quadratic(weights: np.ndarray) -> np.ndarray:
    """Values of the ten shape functions, [p, 10], from barycentric weights [p, 4]; middles as VTK orders them."""
    middles = 4.0 * weights[:, EDGES[:, 0]] * weights[:, EDGES[:, 1]]
    return np.concatenate([weights * (2.0 * weights - 1.0), middles], axis=1)
