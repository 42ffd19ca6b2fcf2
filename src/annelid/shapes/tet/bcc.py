"""The body-centred cubic lattice and its tetrahedra, all of one shape, that fill space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annelid.core.errors import InvalidValue
from annelid.core.memory import require_memory
from annelid.shapes.values import Floats, Indices

MAX_POINTS = 60_000_000
"""Largest lattice that is made."""
_BYTES = 130
"""Memory that a point takes while a lattice is filled [B]."""


@dataclass(frozen=True, eq=False)
class BccLattice:
    """Corners of cubes and their centres. Points are numbered corners first, then centres, z fastest.

    Attributes:
        origin: The first corner [m], shape [3].
        pitch: Edge of a cube [m].
        cubes: Number of cubes along each axis.
    """

    origin: Floats
    pitch: float
    cubes: tuple[int, int, int]

    @classmethod
    def around(cls, low: Floats, high: Floats, pitch: float) -> BccLattice:
        """The lattice whose cubes cover a box [m], with one cube more on every side."""
        cubes = np.maximum(np.ceil((high - low) / pitch - 1e-9), 1.0) + 2.0
        if 2.0 * np.prod(cubes + 1.0) > MAX_POINTS:
            size = " x ".join(f"{n:.3g}" for n in cubes)
            raise InvalidValue(f"a pitch of {pitch:g} m needs {size} cubes, which is too many; choose a coarser one.")
        nx, ny, nz = (int(n) for n in cubes)
        points = 2.0 * math.prod((nx, ny, nz))
        require_memory(f"a lattice of {points:.2g} points", _BYTES * points, f"choose a pitch above {pitch:g} m")
        return cls(low - pitch, pitch, (nx, ny, nz))

    @property
    def corner_count(self) -> int:
        """How many points are corners; centres follow."""
        return math.prod(n + 1 for n in self.cubes)

    def steps(self, points: Indices | slice = slice(None)) -> NDArray[np.int64]:
        """Place of the points in half pitches from the origin, even for corners and odd for centres, shape [n, 3]."""
        number = np.arange(self.corner_count + math.prod(self.cubes))[points]
        corner = number < self.corner_count
        at_corner = np.stack(np.unravel_index(np.where(corner, number, 0), [n + 1 for n in self.cubes]), axis=1)
        at_center = np.stack(np.unravel_index(np.where(corner, 0, number - self.corner_count), self.cubes), axis=1)
        return np.where(corner[:, None], 2 * at_corner, 2 * at_center + 1)

    def positions(self) -> Floats:
        """All points [m], shape [n, 3]."""
        return self.origin + 0.5 * self.pitch * self.steps()

    def tetrahedra(self, wanted: NDArray[np.bool_]) -> Indices:
        """Tetrahedra with at least one wanted point, of positive volume, shape [m, 4].

        Four stand around the line between the centres of two neighbouring cubes, one for each edge of the square
        between them. The outer pyramids of the outermost cubes are not covered.
        """
        corner = np.arange(self.corner_count).reshape([n + 1 for n in self.cubes])
        center = self.corner_count + np.arange(math.prod(self.cubes)).reshape(self.cubes)
        found = [self._along(axis, corner, center, wanted) for axis in range(3)]
        return np.concatenate(found).astype(np.int32)

    @staticmethod
    def _along(
        axis: int, corner: NDArray[np.int64], center: NDArray[np.int64], wanted: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        center, corner = np.moveaxis(center, axis, 0), np.moveaxis(corner, axis, 0)[1:-1]
        if axis == 1:  # moving an axis to the front must not mirror the others
            center, corner = np.swapaxes(center, 1, 2), np.swapaxes(corner, 1, 2)
        around = [corner[:, :-1, :-1], corner[:, 1:, :-1], corner[:, 1:, 1:], corner[:, :-1, 1:]]
        six = np.stack([center[:-1], center[1:], *around], axis=-1)
        six = six[wanted[six].any(axis=-1)]
        four = np.stack([six[:, [0, 2 + k, 2 + (k + 1) % 4, 1]] for k in range(4)], axis=1).reshape(-1, 4)
        return four[wanted[four].any(axis=1)]
