"""From rows of numbers to bodies in a box of cells: directly, or by networks of patterns (CPPN)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from annelid.voxels3d import largest_connected

KINDS = 5
"""What a cell may be: empty, or one of four materials."""

_NODES = 10
_WEAK = 0.3  # weights below this are no connection: patterns of few parts are as easy to draw as intricate ones


class Encoding(ABC):
    """Turns rows of numbers into grids.

    Args:
        cells: Cells of the box along x, y and z.

    Attributes:
        size: Numbers of a row.
    """

    size: int

    def __init__(self, cells: tuple[int, int, int]) -> None:
        self.cells = cells

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Initial rows, shape [count, size]."""

    @abstractmethod
    def scores(self, batch: np.ndarray) -> np.ndarray:
        """How much each cell would like to be each of `KINDS`, shape [n, x, y, z, KINDS]; the first is empty."""

    def grids(self, batch: np.ndarray) -> np.ndarray:
        """Material of each cell, -1: empty, int8 of shape [n, x, y, z]: the largest part, down on the ground."""
        chosen = (self.scores(np.asarray(batch, float)).argmax(axis=-1) - 1).astype(np.int8)
        return np.stack([_grounded(largest_connected(grid)) for grid in chosen])


class Direct(Encoding):
    """A row has `KINDS` numbers a cell, of which the largest decides."""

    def __init__(self, cells: tuple[int, int, int]) -> None:
        super().__init__(cells)
        self.size = KINDS * int(np.prod(cells))

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Normal numbers."""
        return rng.normal(size=(count, self.size))

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """The numbers themselves."""
        return batch.reshape(len(batch), *self.cells, KINDS)


class PatternNetwork(Encoding):
    """A row is a network from places to materials (Stanley 2007): which functions its nodes have, and all weights.

    Each node sees x, y, z, the distance from the middle, 1, and all nodes before it. A place is empty where the first
    output is not above 0; the largest of the others is its material.
    """

    def __init__(self, cells: tuple[int, int, int]) -> None:
        super().__init__(cells)
        axes = [np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1) for count in cells]
        x, y, z = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        self._seen = np.stack([x, y, z, np.sqrt(x * x + y * y + z * z), np.ones(len(x))])
        inputs = len(self._seen)
        self._begins = np.cumsum([_NODES, *(inputs + node for node in range(_NODES))])
        self._outputs = inputs + _NODES
        self.size = int(self._begins[-1]) + KINDS * self._outputs

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Any functions, and normal weights."""
        functions = rng.uniform(0.0, len(_FUNCTIONS), (count, _NODES))
        return np.concatenate([functions, rng.normal(size=(count, self.size - _NODES))], axis=1)

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """Outputs of the networks at all places."""
        kinds = np.floor(batch[:, :_NODES]).astype(int) % len(_FUNCTIONS)
        weights = np.where(np.abs(batch) > _WEAK, batch, 0.0)
        values = np.empty((len(batch), self._outputs, self._seen.shape[1]))
        inputs = len(self._seen)
        values[:, :inputs] = self._seen
        for node in range(_NODES):
            begin, end = self._begins[node], self._begins[node + 1]
            sums = np.einsum("nk,nkc->nc", weights[:, begin:end], values[:, : inputs + node])
            for number, function in enumerate(_FUNCTIONS):
                own = kinds[:, node] == number
                values[own, inputs + node] = function(sums[own])
        last = weights[:, self._begins[-1] :].reshape(len(batch), KINDS, self._outputs)
        out = np.einsum("nok,nkc->nco", last, values)
        full = out[..., 0] > 0.0
        scores = np.concatenate([np.where(full, -np.inf, np.inf)[..., None], out[..., 1:]], axis=-1)
        return scores.reshape(len(batch), *self.cells, KINDS)


_FUNCTIONS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda s: np.sin(np.pi * s),
    np.abs,
    np.tanh,
    lambda s: np.exp(-s * s),
    lambda s: np.clip(s, -1.0, 1.0) ** 2,
)


def _grounded(grid: np.ndarray) -> np.ndarray:
    """The grid with its lowest voxels on the floor."""
    layers = np.flatnonzero((grid >= 0).any(axis=(0, 1)))
    return np.roll(grid, -int(layers[0]), axis=2) if len(layers) else grid
