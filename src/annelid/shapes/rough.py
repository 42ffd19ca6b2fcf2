"""Distances of a coarse grid as a first guess for a finer one, which asks the surface only where it is near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from annelid.shapes.values import Floats, Vector

_NEAR = 2.0  # spacings of the coarse grid: the diagonal of a cell is 1.73, so that sign and slope hold beyond


@dataclass(frozen=True, eq=False)
class Rough:
    """Signed distances at the nodes of a grid, interpolated from a coarser one.

    Attributes:
        values: Signed distances [m], float32 of shape [nx, ny, nz].
        near: Numbers of the nodes that are near the surface, shape [k].
        points: Where those are [m], shape [k, 3].
    """

    values: NDArray[np.float32]
    near: NDArray[np.int64]
    points: Floats

    @classmethod
    def on_grid(
        cls,
        coarse: NDArray[np.float32],
        coarse_origin: Vector,
        coarse_spacing: float,
        origin: Vector,
        spacing: float,
        counts: tuple[int, int, int],
    ) -> Rough:
        """The guess at the nodes origin + spacing (i, j, k), which lie inside the coarse grid."""
        axes = [
            (start + spacing * np.arange(count) - first) / coarse_spacing
            for start, first, count in zip(origin, coarse_origin, counts, strict=True)
        ]
        values = np.empty(counts, np.float32)
        for i, x in enumerate(axes[0]):
            places = np.meshgrid(x, axes[1], axes[2], indexing="ij")
            ndimage.map_coordinates(coarse, places, output=values[i : i + 1], order=1, mode="nearest")
        near = np.flatnonzero(np.abs(values) < _NEAR * coarse_spacing)
        points = np.array(origin) + spacing * np.stack(np.unravel_index(near, counts), axis=1)
        return cls(values, near, points)

    @property
    def is_near(self) -> NDArray[np.bool_]:
        """Which nodes are near the surface, shape [nx, ny, nz]."""
        found = np.zeros(self.values.shape, bool)
        found.ravel()[self.near] = True
        return found

    def refined(self, distance: Callable[[Floats], Floats]) -> NDArray[np.float32]:
        """The values, with the distance of the points near the surface as this function gives it [m]."""
        values = self.values.copy()
        values.ravel()[self.near] = distance(self.points)
        return values
