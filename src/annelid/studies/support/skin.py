"""A surface that follows the masses of a body without being made of them.

A lattice only touches the shape that it fills: the skin is the shape's own surface, each point of which moves with
the affine motion of the masses around it. It serves comparison with measured surfaces, and pictures.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue
from annelid.springs.body import Body
from annelid.springs.shares import affine_shares


class Skin:
    """Points bound to the masses of a body.

    Args:
        body: The body, with its positions at rest.
        points: Points at rest [m], shape [m, 3], in or near the body.
        neighbours: Masses that a point follows.
    """

    def __init__(self, body: Body, points: np.ndarray, *, neighbours: int = 16) -> None:
        count = min(neighbours, body.mass_count)
        if count < 4:
            raise InvalidValue(f"a skin needs a body of at least 4 masses, not {body.mass_count}.")
        distance, nearest = cKDTree(body.positions).query(points, count)
        reach = 1.01 * distance[:, -1:]
        weights = (1.0 - (distance / np.maximum(reach, 1e-300)) ** 2) ** 2 + 1e-6
        shares = affine_shares(body.positions[nearest] - points[:, None], weights, reach)
        begins = np.arange(0, nearest.size + 1, count)
        self._shares = sparse.csr_array((shares.ravel(), nearest.ravel(), begins), shape=(len(points), body.mass_count))

    def deformed(self, positions: np.ndarray) -> np.ndarray:
        """The points [m], shape [m, 3], when the masses are at these positions [m], shape [n, 3]."""
        return np.asarray(self._shares @ positions)
