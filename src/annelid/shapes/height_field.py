"""Uneven ground: heights on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from annelid.core.arrays import as_numbers
from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.values import Floats, Indices, require_positive


@dataclass(frozen=True, eq=False, repr=False)
class HeightField(Brief):
    """Uneven ground: a height for each point of a grid over x and y, bilinear in between.

    Everything below the surface is solid. Beyond the rim the ground continues at the height of the rim.

    Attributes:
        heights: Heights [m], shape [nx, ny]; the first index runs along x.
        spacing: Distance between neighbouring heights along x and y [m], or one number for both.
        corner: Where `heights[0, 0]` is, x and y [m]; None centres the field on the origin.
    """

    heights: Any
    spacing: float | tuple[float, float]
    corner: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        heights = np.array(as_numbers("heights of a height field", self.heights, np.float32))
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise InvalidValue(f"heights must have the shape [nx, ny] of at least [2, 2], not {list(heights.shape)}.")
        if not np.isfinite(heights).all():
            raise InvalidValue("heights must be finite numbers.")
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        if as_numbers("the spacing of a height field", self.spacing).shape not in ((), (1,), (2,)):
            raise InvalidValue(f"the spacing of a height field must be one number or two, not {self.spacing!r:.60}.")
        if self.corner is not None:
            as_numbers("the corner of a height field", self.corner)
        if not (np.isfinite(self.steps).all() and (self.steps > 0.0).all()):
            raise InvalidValue(f"the spacing of a height field must be positive, not {self.spacing}.")
        if not (self.begin.shape == (2,) and np.isfinite(self.begin).all()):
            raise InvalidValue(f"the corner of a height field must be two finite numbers, not {self.corner}.")

    @property
    def steps(self) -> Floats:
        """Distances between heights along x and y [m], shape [2]."""
        return np.array(np.broadcast_to(np.asarray(self.spacing, float), 2))

    @property
    def begin(self) -> Floats:
        """Where `heights[0, 0]` is, x and y [m], shape [2]."""
        if self.corner is None:
            return np.asarray(-0.5 * self.steps * (np.array(self.heights.shape) - 1))
        return np.asarray(self.corner, float)

    def heights_at(self, places: Floats) -> Floats:
        """Heights above places x, y in its own frame [m], shape [n, 2]; beyond the rim those of the rim."""
        rows, columns = ((places - self.begin) / self.steps).T
        return np.asarray(ndimage.map_coordinates(self.heights.astype(float), [rows, columns], order=1, mode="nearest"))

    def top(self) -> tuple[Floats, Indices]:
        """The surface: vertices [m], shape [n, 3], and triangles, two a cell, shape [m, 3]."""
        nx, ny = self.heights.shape
        grid = np.indices((nx, ny)).reshape(2, -1).T * self.steps + self.begin
        corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        across = np.stack([corner, corner + ny, corner + ny + 1, corner + 1], axis=1)
        triangles = np.concatenate([across[:, [0, 1, 2]], across[:, [0, 2, 3]]]).astype(np.int32)
        return np.column_stack([grid, np.asarray(self.heights).ravel()]), triangles

    def block(self, depth: float) -> TriangleMesh:
        """The ground within the rim as a closed mesh, for a physics that touches meshes but no height fields.

        Args:
            depth: Thickness below the lowest height [m].
        """
        depth = require_positive("depth of the block", depth)
        vertices, triangles = self.top()
        nx, ny = self.heights.shape
        number = np.arange(nx * ny).reshape(nx, ny)
        rim = np.concatenate([number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]])
        ahead = np.roll(rim, -1)
        floor = vertices.copy()
        floor[:, 2] = vertices[:, 2].min() - depth
        below = len(vertices)
        sides = np.concatenate(
            [np.column_stack([rim, rim + below, ahead + below]), np.column_stack([rim, ahead + below, ahead])]
        )
        return TriangleMesh(
            np.concatenate([vertices, floor]), np.concatenate([triangles, triangles[:, ::-1] + below, sides])
        )
