"""Several shapes as one solid to be filled with cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.shapes.mesh import Shape


@dataclass(frozen=True)
class Union:
    """All points of any of the shapes; what a lattice needs to know of a solid, and no more."""

    parts: Sequence[Shape]

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner [m], two arrays of shape [3]."""
        lows, highs = zip(*(part.bounds() for part in self.parts), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def contains(self, points: ArrayLike) -> np.ndarray:
        """Whether each of the points [m], shape [n, 3], is inside, shape [n]."""
        return np.any([part.contains(points) for part in self.parts], axis=0)
