"""Cubic lattices: which cells of a regular grid are filled, and the nodes, links and surface that follow from that.

A lattice knows geometry only. Masses, stiffnesses and materials are put on it by the packages that use it, through
`node_sums` and `link_means`, which share a value of each cell among the nodes and links that the cell holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol, runtime_checkable

import numpy as np

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidValue
from annelid.core.memory import require_memory
from annelid.core.numbers import is_number

_MOST_COUNTED = 10**30
_LARGEST = 1e9  # [m], of a cell
_SIDES = (-1, 0, 1)
_HALF_DIRECTIONS = [(x, y, z) for x, y, z in product(_SIDES, _SIDES, _SIDES) if (x, y, z) > (0, 0, 0)]
_BYTES_A_CELL = 2000  # of a filled cell, with the mass and the thirteen springs that it becomes; measured
_BYTES_A_PLACE = 40  # of any cell of the grid
_PROBES = 8  # along each side of the box, to guess how many cells will be filled
_SUSPICIOUS = 1.0  # [m]: a robot wider than this that needs too many cells may have another unit
_ROUNDING = 1e-6  # of a length: files in single precision are as exact as that
_FULL_SHARE = {1: 4, 2: 2, 3: 1}  # cells around an edge, a face diagonal, a body diagonal inside the bulk


@runtime_checkable
class Solid(Protocol):
    """What a lattice needs to know of a shape."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner [m]."""
        ...

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Whether each of the points [n, 3] is inside, shape [n]."""
        ...


Region = Solid | Callable[[np.ndarray], np.ndarray]
"""A solid, or a function of points [n, 3] that tells which of them are inside, shape [n]."""


def inside(region: Region, points: np.ndarray) -> np.ndarray:
    """Which of the points [n, 3] lie in a region, bool of shape [n]."""
    found = region.contains(points) if isinstance(region, Solid) else region(points)
    return np.asarray(found, bool)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Filled cells of a cubic grid.

    Attributes:
        cells: Whether each cell is filled, shape [nx, ny, nz].
        pitch: Edge of a cell [m].
        origin: Corner of the grid [m], shape [3].
    """

    cells: np.ndarray
    pitch: float
    origin: np.ndarray

    def __post_init__(self) -> None:
        _require_pitch(self.pitch)
        if not self.cells.any():
            raise InvalidValue("the lattice has no filled cell; use a smaller pitch.")

    @classmethod
    def block(cls, nodes: tuple[int, int, int], pitch: float) -> Lattice:
        """A full block with that many nodes (masses) along x, y, z, one corner at the origin."""
        given = array_or_none(nodes)
        counts = [int(n) for n in given.tolist() if is_number(n) and n == int(n)] if given.shape == (3,) else []
        if len(counts) != 3:
            raise InvalidValue(f"a block needs three whole numbers of masses, not {nodes!r:.60}.")
        if min(counts) < 2:
            raise InvalidValue(f"a block needs at least 2 masses along each axis, not {tuple(counts)}.")
        count = float(min(math.prod(counts), _MOST_COUNTED))
        require_memory(f"a block of {count:.3g} masses", _BYTES_A_CELL * count, "use fewer masses along its edges")
        _require_pitch(pitch)
        return cls(np.ones([n - 1 for n in counts], bool), float(pitch), np.zeros(3))

    @classmethod
    def fill(cls, shape: Solid, pitch: float) -> Lattice:
        """The cells whose centre is inside the shape; the grid is centred on the shape's bounds."""
        low, high = shape.bounds()
        extent = high - low
        _require_pitch(pitch)
        if (extent < pitch * (1.0 - _ROUNDING)).any():
            size = " x ".join(f"{e:.4g}" for e in extent)
            raise InvalidValue(
                f"pitch {pitch:g} m is larger than the body ({size} m): use at most {extent.min():.4g} m."
            )
        with np.errstate(over="ignore"):
            places = float(np.prod(np.round(extent / pitch)))
        widest = float(extent.max())
        remedy = "use a larger pitch"
        if widest > _SUSPICIOUS:
            remedy = f"{remedy}, or another scale if the body, {widest:.4g} m wide, is in millimetres (1e-3)"
        if not places <= 2e9:
            raise InvalidValue(f"pitch {pitch:g} m needs {places:.3g} cells: {remedy}.")
        require_memory(f"a grid of {places:.3g} cells", _BYTES_A_PLACE * places, remedy)
        filled = places * _share(shape, low, extent)
        require_memory(f"a lattice of {filled:.3g} cells", _BYTES_A_CELL * filled, remedy)
        counts = np.round(extent / pitch).astype(int)
        origin = (low + high - counts * pitch) / 2
        axes = [o + pitch * (np.arange(n) + 0.5) for o, n in zip(origin, counts, strict=True)]
        inside = [shape.contains(_plane(x, axes[1], axes[2])).reshape(counts[1:]) for x in axes[0]]
        cells = np.stack(inside)
        if not cells.any():
            raise InvalidValue(
                f"no cell of pitch {pitch:g} m fits inside the body: it is thinner; use a smaller pitch."
            )
        return cls(cells, float(pitch), origin)

    @property
    def volume(self) -> float:
        """Volume of the filled cells [m³]."""
        return float(self.cells.sum()) * self.pitch**3

    @cached_property
    def _index(self) -> np.ndarray:
        """Number of each grid node, -1 where no filled cell touches it, shape [nx + 1, ny + 1, nz + 1].

        The longest axis varies fastest: long runs of nodes with equal surroundings are what the solvers like.
        """
        used = _corner_sums(self.cells.astype(np.int8)) > 0
        order = np.argsort(self.cells.shape, kind="stable")
        index = np.full(used.shape, -1, np.int32)
        turned, flags = index.transpose(order), used.transpose(order)
        turned[flags] = np.arange(int(used.sum()), dtype=np.int32)
        return index

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self._index.max()) + 1

    @cached_property
    def nodes(self) -> np.ndarray:
        """Node positions [m], shape [n, 3]."""
        grid = np.argwhere(self._index >= 0)
        nodes = np.empty((len(grid), 3))
        nodes[self._index[tuple(grid.T)]] = self.origin + self.pitch * grid
        return nodes

    @cached_property
    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of nodes joined by an edge or a diagonal of a filled cell, shape [m, 2], and the kind of each link.

        The kind is 1 for an edge, 2 for a face diagonal, 3 for a body diagonal: the square of its length in pitches.
        """
        found = [self._links_along(d) for d in _HALF_DIRECTIONS]
        pairs = np.concatenate([pair for pair, _ in found])
        kinds = np.repeat([sum(map(abs, d)) for d in _HALF_DIRECTIONS], [len(pair) for pair, _ in found])
        return pairs, kinds.astype(np.int8)

    def link_means(self, cell_values: np.ndarray) -> np.ndarray:
        """Sum of a value over the filled cells that hold each link, divided by their number in the bulk, shape [m].

        A link on the surface belongs to fewer cells and gets a smaller share (1/2 of a face diagonal, 1/4 of an edge).
        """
        values = np.where(self.cells, cell_values, 0.0)
        means = []
        for direction in _HALF_DIRECTIONS:
            sums = _link_sums(values, direction)
            means.append(sums[self._links_along(direction)[1]] / _FULL_SHARE[sum(map(abs, direction))])
        return np.concatenate(means)

    def node_sums(self, cell_values: np.ndarray) -> np.ndarray:
        """An eighth of the values of the filled cells around each node, summed, shape [n]."""
        sums = _corner_sums(np.where(self.cells, cell_values, 0.0)) / 8
        held = self._index >= 0
        result = np.empty(self.node_count)
        result[self._index[held]] = sums[held]
        return result

    @cached_property
    def corners(self) -> np.ndarray:
        """The eight nodes of each filled cell, x slowest, shape [c, 8]; cells in the order of `np.argwhere(cells)`."""
        cells = np.argwhere(self.cells)
        steps = np.array(list(np.ndindex(2, 2, 2)))
        return self._index[tuple(np.moveaxis(cells[:, None] + steps, 2, 0))]

    @cached_property
    def cell_centers(self) -> np.ndarray:
        """Centres of all cells of the grid, filled or not [m], shape [nx, ny, nz, 3]."""
        grid = np.stack(np.meshgrid(*[np.arange(n) + 0.5 for n in self.cells.shape], indexing="ij"), axis=-1)
        return self.origin + self.pitch * grid

    @cached_property
    def surface(self) -> np.ndarray:
        """Triangles of the boundary, counter-clockwise from outside, shape [t, 3]."""
        padded = np.pad(self.cells, 1)
        quads = []
        for axis, side in product(range(3), (0, 1)):
            open_side = self.cells & ~np.roll(padded, 1 - 2 * side, axis)[1:-1, 1:-1, 1:-1]
            quads.append(self._face(np.argwhere(open_side), axis, side))
        quad = np.concatenate(quads)
        return np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]])

    def _face(self, cells: np.ndarray, axis: int, side: int) -> np.ndarray:
        """Node numbers of one side of the given cells, shape [n, 4]."""
        u, v = (axis + 1) % 3, (axis + 2) % 3
        corners = np.repeat(cells[:, None, :], 4, axis=1)
        corners[:, :, axis] += side
        corners[:, (1, 2), u] += 1
        corners[:, (2, 3), v] += 1
        if side == 0:
            corners = corners[:, ::-1]
        return self._index[corners[..., 0], corners[..., 1], corners[..., 2]]

    def _links_along(self, direction: tuple[int, int, int]) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Linked pairs in one direction, and the grid positions where they begin."""
        begins = _link_sums(self.cells.astype(np.int8), direction) > 0
        start = np.nonzero(begins)
        end = tuple(s + d for s, d in zip(start, direction, strict=True))
        return np.stack([self._index[start], self._index[end]], axis=1), start


def _require_pitch(pitch: object) -> None:
    if not (is_number(pitch) and float(pitch) > 0.0):
        raise InvalidValue(f"pitch must be a positive length in metres, not {pitch!r}.")
    if pitch > _LARGEST:
        raise InvalidValue(f"pitch = {pitch:g} m is too long a cell; give at most {_LARGEST:g} m.")


def _share(shape: Solid, low: np.ndarray, extent: np.ndarray) -> float:
    """About how much of the box around a shape is inside it."""
    steps = (np.arange(_PROBES) + 0.5) / _PROBES
    probes = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    return float(np.mean(shape.contains(low + extent * probes)))


def _plane(x: float, ys: np.ndarray, zs: np.ndarray) -> np.ndarray:
    grid = np.empty((len(ys), len(zs), 3))
    grid[..., 0], grid[..., 1], grid[..., 2] = x, ys[:, None], zs[None, :]
    return grid.reshape(-1, 3)


def _corner_sums(values: np.ndarray) -> np.ndarray:
    """Sum over the (up to eight) cells around every grid node."""
    padded = np.pad(values, 1)
    for axis in range(3):
        padded = np.take(padded, range(1, padded.shape[axis]), axis) + np.take(
            padded, range(padded.shape[axis] - 1), axis
        )
    return padded


def _link_sums(values: np.ndarray, direction: tuple[int, int, int]) -> np.ndarray:
    """Sum over the cells that hold the link from every grid node along `direction`; 0 where it would leave the grid."""
    padded = np.pad(values, 1)
    for axis, step in enumerate(direction):
        count = padded.shape[axis] - 1
        low = np.take(padded, range(count), axis)  # the cell before the node
        high = np.take(padded, range(1, count + 1), axis)  # the cell after it
        padded = low + high if step == 0 else (high if step > 0 else low)
    return padded
