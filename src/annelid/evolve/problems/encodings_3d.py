"""From rows of numbers to bodies in a box of cells: directly, by networks of patterns (CPPN), patched, or by growth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy import ndimage

KINDS = 5
"""What a cell may be: empty, or one of four materials."""

_NODES = 10
_HIDDEN = 8  # of the network of growth
_WEAK = 0.3  # weights below this are no connection: patterns of few parts are as easy to draw as intricate ones
_FIRM = 0.4  # by so much a number of a cell must exceed another to overrule a network


class Encoding(ABC):
    """Turns rows of numbers into grids.

    Args:
        cells: Cells of the box along x, y and z.
        kinds: What a cell may be: empty, or a material.
        extras: Numbers of a cell beside its material, such as a phase.

    Attributes:
        size: Numbers of a row.
        parts: How many of them, one after the other, belong together; empty: all do.
    """

    size: int
    parts: tuple[int, ...] = ()

    def __init__(self, cells: tuple[int, int, int], kinds: int = KINDS, extras: int = 0) -> None:
        self.cells, self.kinds, self.extras = cells, kinds, extras
        self.outputs = kinds + extras

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Initial rows, shape [count, size]."""

    @abstractmethod
    def scores(self, batch: np.ndarray) -> np.ndarray:
        """How much each cell would like to be of each kind, the first of which is empty, and its other numbers.

        Shape [n, x, y, z, kinds + extras].
        """

    def decode(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Grids, and other numbers of cells, shape [n, x, y, z, extras]; see `grids`."""
        scores = self.scores(np.asarray(batch, float))
        chosen = (scores[..., : self.kinds].argmax(axis=-1) - 1).astype(np.int16)
        parts = np.where(_largest_parts(chosen >= 0), chosen, np.int16(-1))
        falls = _heights(parts)
        return _lowered(parts, falls), _lowered(scores[..., self.kinds :], falls)

    def grids(self, batch: np.ndarray) -> np.ndarray:
        """Material of each cell, -1: empty, int16 of shape [n, x, y, z]: the largest part, down on the ground."""
        return self.decode(batch)[0]


class Direct(Encoding):
    """A row has a number for each kind a cell, of which the largest decides."""

    def __init__(self, cells: tuple[int, int, int], kinds: int = KINDS, extras: int = 0) -> None:
        super().__init__(cells, kinds, extras)
        self.size = self.outputs * int(np.prod(cells))

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Normal numbers."""
        return rng.normal(size=(count, self.size))

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """The numbers themselves."""
        return batch.reshape(len(batch), *self.cells, self.outputs)


class PatternNetwork(Encoding):
    """A row is a network from places to materials (Stanley 2007): which functions its nodes have, and all weights.

    Each node sees x, y, z, the distance from the middle, 1, and all nodes before it. A place is empty where the first
    output is not above 0; the largest of the next is its material.
    """

    def __init__(self, cells: tuple[int, int, int], kinds: int = KINDS, extras: int = 0) -> None:
        super().__init__(cells, kinds, extras)
        axes = [np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1) for count in cells]
        x, y, z = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        self._seen = np.stack([x, y, z, np.sqrt(x * x + y * y + z * z), np.ones(len(x))])
        inputs = len(self._seen)
        self._begins = np.cumsum([_NODES, *(inputs + node for node in range(_NODES))])
        self._values = inputs + _NODES
        self.size = int(self._begins[-1]) + self.outputs * self._values

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Any functions, and normal weights."""
        functions = rng.uniform(0.0, len(_FUNCTIONS), (count, _NODES))
        return np.concatenate([functions, rng.normal(size=(count, self.size - _NODES))], axis=1)

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """Outputs of the networks at all places."""
        kinds = np.floor(batch[:, :_NODES]).astype(int) % len(_FUNCTIONS)
        weights = np.where(np.abs(batch) > _WEAK, batch, 0.0)
        values = np.empty((len(batch), self._values, self._seen.shape[1]))
        inputs = len(self._seen)
        values[:, :inputs] = self._seen
        for node in range(_NODES):
            begin, end = self._begins[node], self._begins[node + 1]
            sums = np.einsum("nk,nkc->nc", weights[:, begin:end], values[:, : inputs + node])
            for number, function in enumerate(_FUNCTIONS):
                own = kinds[:, node] == number
                values[own, inputs + node] = function(sums[own])
        last = weights[:, self._begins[-1] :].reshape(len(batch), self.outputs, self._values)
        out = np.einsum("nok,nkc->nco", last, values)
        full = out[..., 0] > 0.0
        scores = np.concatenate([np.where(full, -np.inf, np.inf)[..., None], out[..., 1:]], axis=-1)
        return scores.reshape(len(batch), *self.cells, self.outputs)


class Patched(Encoding):
    """A network of patterns, and numbers of cells by which some of them are exceptions; at the beginning none is."""

    def __init__(self, cells: tuple[int, int, int], kinds: int = KINDS, extras: int = 0) -> None:
        super().__init__(cells, kinds, extras)
        self._network, self._own = PatternNetwork(cells, kinds, extras), Direct(cells, kinds, extras)
        self.parts = self._network.size, self._own.size
        self.size = sum(self.parts)

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Networks alone."""
        return np.concatenate([self._network.sample(rng, count), np.zeros((count, self._own.size))], axis=1)

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """A little for what the network says, and the numbers of cells."""
        said = self._network.scores(batch[:, : self._network.size])
        chosen = said[..., : self.kinds].argmax(axis=-1)
        said[..., : self.kinds] = _FIRM * np.eye(self.kinds)[chosen]
        return np.asarray(said + self._own.scores(batch[:, self._network.size :]))


class Growth(Encoding):
    """A row is a rule by which a body grows from one cell, in the middle of the ground: the same for all its cells.

    In each round a small network looks at the empty cells beside the body: how many neighbours of each kind, how many
    around, above and below in all, and how far the growth has come. It says what a cell becomes, if anything.
    """

    def __init__(self, cells: tuple[int, int, int], kinds: int = KINDS, extras: int = 0) -> None:
        super().__init__(cells, kinds, extras)
        self._inputs = kinds - 1 + 5
        self.size = _HIDDEN * (self._inputs + self.outputs)

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Normal weights."""
        return rng.normal(size=(count, self.size))

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """1 for what a cell has become, and the other outputs of the network when it did."""
        count, split = len(batch), _HIDDEN * self._inputs
        first = batch[:, :split].reshape(count, self._inputs, _HIDDEN)
        second = batch[:, split:].reshape(count, _HIDDEN, self.outputs)
        body = np.zeros((count, *self.cells, self.kinds - 1))  # 1 for the material that a cell has
        extras = np.zeros((count, *self.cells, self.extras))
        seed = self.cells[0] // 2, self.cells[1] // 2, 0
        body[(slice(None), *seed, 0)] = 1.0
        rounds = sum(self.cells)
        for step in range(rounds):
            sides = [_beside(body, axis, sign) for axis in (1, 2, 3) for sign in (1, -1)]
            around = sum(sides[:4], np.zeros_like(body)).sum(axis=-1)
            whole = [around, *(side.sum(axis=-1) for side in sides[4:]), np.full_like(around, step / rounds)]
            seen = np.concatenate([sum(sides), np.stack([*whole, np.ones_like(around)], axis=-1)], axis=-1)
            hidden = np.tanh(np.einsum("nxyzi,nih->nxyzh", seen, first))
            out = np.einsum("nxyzh,nho->nxyzo", hidden, second)
            chosen = out[..., : self.kinds].argmax(axis=-1)
            new = (chosen > 0) & (body.sum(axis=-1) == 0.0) & (seen[..., : self.kinds - 1].sum(axis=-1) > 0.0)
            if not new.any():
                break
            body[new] = np.eye(self.kinds)[chosen[new]][:, 1:]
            extras[new] = out[..., self.kinds :][new]
        empty = 0.5 * np.ones((*body.shape[:-1], 1))  # less than what a cell is, more than what it is not
        return np.concatenate([empty, body, extras], axis=-1)


def _beside(body: np.ndarray, axis: int, sign: int) -> np.ndarray:
    """What is in the next cell along an axis; nothing beyond the box."""
    moved = np.roll(body, -sign, axis=axis)
    edge = [slice(None)] * body.ndim
    edge[axis] = slice(-1, None) if sign > 0 else slice(0, 1)
    moved[tuple(edge)] = 0.0
    return moved


_FUNCTIONS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda s: np.sin(np.pi * s),
    np.abs,
    np.tanh,
    lambda s: np.exp(-s * s),
    lambda s: np.clip(s, -1.0, 1.0) ** 2,
)


ENCODINGS: dict[str, type[Encoding]] = {"cppn": PatternNetwork, "patched": Patched, "direct": Direct, "growth": Growth}
"""Encodings by name."""


def _largest_parts(full: np.ndarray) -> np.ndarray:
    """Which cells of each box belong to its largest connected part, of equal ones the first, shape [n, x, y, z]."""
    faces = np.zeros((3, 3, 3, 3), bool)  # of the four axes the first leads from box to box, where nothing is joined
    faces[1] = ndimage.generate_binary_structure(3, 1)
    labels, count = ndimage.label(full, structure=faces)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[0] = 0
    size_of = sizes[labels].reshape(len(full), -1)
    best = np.take_along_axis(labels.reshape(len(full), -1), size_of.argmax(axis=1)[:, None], axis=1)
    return full & (labels == best.reshape(-1, 1, 1, 1))


def _heights(grids: np.ndarray) -> np.ndarray:
    """Layers below the lowest voxels of grids, 0 where there are none, shape [n]."""
    return np.asarray((grids >= 0).any(axis=(1, 2)).argmax(axis=1))


def _lowered(values: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """Values of cells, shape [n, x, y, z, ...], moved down by some layers; those below come out on top."""
    height = values.shape[3]
    from_layer = (np.arange(height) + layers[:, None]) % height
    return np.asarray(values[np.arange(len(values))[:, None], :, :, from_layer].swapaxes(1, 2).swapaxes(2, 3))
