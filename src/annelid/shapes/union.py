"""Several shapes as one solid to be filled with cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.shapes.mesh import Shape


@dataclass(frozen=True)
class Union:
    """All points of any of the shapes; what a lattice needs to know of a solid, and no more."""

    parts: Sequence[Shape]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, Sequence) or isinstance(self.parts, str) or not len(self.parts):
            raise InvalidValue(f"a union needs a list of shapes, one at least, not {self.parts!r:.60}.")
        for part in self.parts:
            require_kind("each part of a union", part, (Shape, Union), "a shape")

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner [m], two arrays of shape [3]."""
        lows, highs = zip(*(part.bounds() for part in self.parts), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def contains(self, points: ArrayLike) -> np.ndarray:
        """Whether each of the points [m], shape [n, 3], is inside, shape [n]."""
        return np.any([part.contains(points) for part in self.parts], axis=0)
