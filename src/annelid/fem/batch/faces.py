"""Faces of cells on which chambers press: their tangent is found with that of the cells, whose nodes are at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annelid.fem.actuation.actuator import Drive
from annelid.fem.batch.alike import Alike
from annelid.fem.kernels.batch_cells import FACES

_BITS = 32
_CORNERS = np.array([[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]])


class PressedFaces:
    """Which triangles of chambers are faces of which tetrahedra.

    Args:
        drives: The actuators.
    """

    def __init__(self, drives: Sequence[Drive]) -> None:
        self._triangles = [drive.triangles() for drive in drives]
        self._found: dict[tuple[int, ...], tuple[int, int]] = {}
        for number, triangles in enumerate(self._triangles):
            for row, triangle in enumerate(triangles.tolist()):
                self._found[_named(triangle)] = number, row
        self._taken: set[tuple[int, int]] = set()

    def take(self, alike: Alike) -> tuple[np.ndarray, np.ndarray]:
        """Bits of the faces of each cell, shape [c], and their actuators, shape [c, 4 t]; see `CellGroup`."""
        count, tetrahedra = alike.members.shape
        bits, actors = np.zeros(count, np.int64), np.zeros((count, FACES * tetrahedra), np.int32)
        if FACES * tetrahedra <= _BITS and self._found:
            corners = np.take_along_axis(alike.nodes[:, None], alike.places, axis=2)
            faces = corners[:, :, _CORNERS].reshape(count, -1, 3)
            used = np.repeat(alike.members >= 0, FACES, axis=1)
            for cell, face in zip(*np.nonzero(used), strict=True):
                actors[cell, face] = self._actor(faces[cell, face].tolist())
            bits = ((actors != 0).astype(np.int64) << np.arange(FACES * tetrahedra)).sum(axis=1)
        return bits.astype(np.uint32).view(np.int32), actors

    def left(self) -> list[np.ndarray]:
        """For each actuator, triangles of its chamber that no cell has taken."""
        taken = [{row for own, row in self._taken if own == number} for number in range(len(self._triangles))]
        return [np.delete(every, sorted(rows), axis=0) for every, rows in zip(self._triangles, taken, strict=True)]

    def _actor(self, face: list[int]) -> int:
        for sign, named in ((1, _named(face)), (-1, _named(face[::-1]))):
            found = self._found.get(named)
            if found is not None and found not in self._taken:
                self._taken.add(found)
                return sign * (found[0] + 1)
        return 0


def _named(triangle: list[int]) -> tuple[int, ...]:
    """A triangle from its least corner on, by which it is known whichever corner it begins with."""
    first = triangle.index(min(triangle))
    return (*triangle[first:], *triangle[:first])
