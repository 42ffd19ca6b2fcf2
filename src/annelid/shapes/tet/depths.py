"""How deep every point of a lattice lies in a solid, asking for the distance only near the surface.

A distance of d at the middle of a block says that no surface comes closer: if the block lies within d, all its points
are on one side, and their depths need not be asked for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.tet.bcc import BccLattice
from annelid.shapes.values import Floats

_LARGEST_BLOCK = 16
_REACH = 0.5 * math.sqrt(3.0) * (1.0 + 1e-3)
"""From the middle of a cube to its corners, in edges, and a little more for rounding."""


def depths(lattice: BccLattice, distance: Callable[[Floats], Floats]) -> Floats:
    """Depth of all lattice points below the surface [m], negative outside; shape [n].

    Signs are exact, and so are the depths of points in cubes that the surface may cross; others are lower bounds.
    """
    asked = _Depths(lattice)
    blocks = _all_blocks(lattice.cubes, _LARGEST_BLOCK)
    size = _LARGEST_BLOCK
    while True:
        middles = lattice.origin + lattice.pitch * size * (blocks + 0.5)
        found = -distance(middles)
        near = np.abs(found) <= _REACH * size * lattice.pitch
        asked.fill(blocks[~near], size, middles[~near], found[~near])
        if size == 1:
            asked.finish(blocks[near], found[near], distance)
            return asked.values
        blocks, size = _halved(blocks[near], size // 2, lattice.cubes), size // 2


class _Depths:
    """The depths as they become known.

    Attributes:
        values: One for each lattice point [m], shape [n].
    """

    def __init__(self, lattice: BccLattice) -> None:
        self._lattice = lattice
        self.values = np.full(lattice.corner_count + math.prod(lattice.cubes), -math.inf)

    def fill(self, blocks: NDArray[np.int64], size: int, middles: Floats, found: Floats) -> None:
        """Give the points of far blocks the least depth that the distance at the middle allows."""
        for steps, points in ((_lots(size + 1), self._corners), (_lots(size), self._centers)):
            index = size * blocks[:, None] + steps
            inside, number, place = points(index)
            away = np.linalg.norm(place - middles[:, None], axis=2)
            value = np.sign(found)[:, None] * np.maximum(np.abs(found)[:, None] - away, 1e-9 * self._lattice.pitch)
            self.values[number[inside]] = value[inside]

    def finish(self, cubes: NDArray[np.int64], found: Floats, distance: Callable[[Floats], Floats]) -> None:
        """Ask for the corners of cubes near the surface, whose centres are known."""
        _, number, _ = self._centers(cubes)
        self.values[number] = found
        _, number, place = self._corners(cubes[:, None] + _lots(2))
        asked, first = np.unique(number, return_index=True)
        self.values[asked] = -distance(place.reshape(-1, 3)[first])

    def _corners(self, index: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64], Floats]:
        """Of indices [..., 3]: which are in the lattice, their point numbers and positions [m]."""
        inside, number = _numbers(index, [n + 1 for n in self._lattice.cubes])
        return inside, number, self._lattice.origin + self._lattice.pitch * index

    def _centers(self, index: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64], Floats]:
        inside, number = _numbers(index, list(self._lattice.cubes))
        return inside, number + self._lattice.corner_count, self._lattice.origin + self._lattice.pitch * (index + 0.5)


def _numbers(index: NDArray[np.int64], shape: list[int]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    inside = np.asarray((index < shape).all(axis=-1))
    clipped = np.minimum(index, np.array(shape) - 1)
    return inside, np.ravel_multi_index(tuple(np.moveaxis(clipped, -1, 0)), shape)


def _lots(count: int) -> NDArray[np.int64]:
    """All triples of numbers below the count, shape [count^3, 3]."""
    return np.array(list(itertools.product(range(count), repeat=3)))


def _all_blocks(cubes: tuple[int, int, int], size: int) -> NDArray[np.int64]:
    return np.stack(np.meshgrid(*(np.arange(-(-n // size)) for n in cubes), indexing="ij"), axis=-1).reshape(-1, 3)


def _halved(blocks: NDArray[np.int64], size: int, cubes: tuple[int, int, int]) -> NDArray[np.int64]:
    """The eight halves of each block that hold any cubes; `size` is that of the halves."""
    halves = (2 * blocks[:, None] + _lots(2)).reshape(-1, 3)
    return halves[(size * halves < cubes).all(axis=1)]
