"""What sharp parts of obstacles do to a solid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class CornerLoad:
    """What a sharp point or an edge of an obstacle does to a triangle or an edge of a solid.

    Attributes:
        obstacle: The obstacle.
        place: Where it acts on the obstacle [m], shape [3]: where the point is that pushes, or the triangle that rubs.
        nodes: Nodes of the triangle or of the edge, shape [3] or [2].
        weights: Shares of the nodes, shape as nodes.
        force: Force on the point [N], shape [3].
        tangent: How it resists motion of the point [N/m], shape [3, 3].
    """

    obstacle: int
    place: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    force: np.ndarray
    tangent: np.ndarray
