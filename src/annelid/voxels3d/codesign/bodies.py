"""Polycubes: random ones, mutants and children, and which of them are the same up to turns and mirrors."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import ndimage

BOX = (6, 6, 4)
"""Cells of the box that holds a body."""

FEWEST = 8
"""Voxels of a random body at least: fewer can hardly walk."""

_FILL, _SPREAD, _RANGE = 0.35, 0.125, (0.1, 0.6)
_GROWING = 1.025  # by which the chance of a flip grows with each try that changes nothing


def random_bodies(rng: np.random.Generator, count: int, box: tuple[int, int, int] = BOX) -> np.ndarray:
    """Random bodies, shape [count, x, y, z], each one connected, on the ground and in the middle of the box.

    A volume is drawn among the possible ones, then a box of that volume, then how much of it is filled. Bodies of fewer
    than `FEWEST` voxels are drawn again.
    """
    found = np.zeros((0, *box), bool)
    while len(found) < count:
        drawn = settled(_drawn(rng, count, box))
        found = np.concatenate([found, drawn[drawn.sum(axis=(1, 2, 3)) >= min(FEWEST, np.prod(box))]])
    return found[:count]


def _drawn(rng: np.random.Generator, count: int, box: tuple[int, int, int]) -> np.ndarray:
    sides = np.array(list(itertools.product(*(range(1, side + 1) for side in box))))
    volumes, number, many = np.unique(sides.prod(axis=1), return_inverse=True, return_counts=True)
    chosen = rng.integers(0, len(volumes), count)
    order, begins = np.argsort(number, kind="stable"), np.cumsum(many) - many
    limits = sides[order[begins[chosen] + rng.integers(0, many[chosen])]]
    fill = np.clip(rng.normal(_FILL, _SPREAD, count), *_RANGE)
    inside = np.indices(box)[None] < limits[:, :, None, None, None]
    return np.asarray((rng.random((count, *box)) < fill[:, None, None, None]) & inside.all(axis=1))


def settled(grids: np.ndarray) -> np.ndarray:
    """The largest connected part of each of many grids, moved to the ground and to the middle of the box."""
    apart = np.zeros((3, 3, 3, 3), int)
    apart[1] = ndimage.generate_binary_structure(3, 1)  # cells of different bodies are no neighbours
    labels, parts = ndimage.label(grids, apart)
    sizes = np.bincount(labels.ravel(), minlength=parts + 1)
    sizes[0] = 0
    largest = sizes[labels].reshape(len(grids), -1).argmax(axis=1)  # a cell of it; of equal parts the first
    chosen = np.take_along_axis(labels.reshape(len(grids), -1), largest[:, None], axis=1)
    body, *cell = np.nonzero((labels == chosen[:, :, None, None]) & grids)
    cells = np.stack(cell, axis=1)
    low, high = np.full((len(grids), 3), 10**6), np.full((len(grids), 3), -1)
    np.minimum.at(low, body, cells)
    np.maximum.at(high, body, cells)
    begin = (np.array(grids.shape[1:]) - (high + 1 - low)) // 2
    begin[:, 2] = 0
    moved = np.zeros_like(grids)
    moved[(body, *(cells - low[body] + begin[body]).T)] = True
    return moved


def mutant(rng: np.random.Generator, parent: np.ndarray) -> np.ndarray:
    """A body some cells of which are flipped."""
    chance = 1.0 / parent.size
    while True:
        changed = parent ^ (rng.random(parent.shape) < chance)
        if changed.any():
            made = settled(changed[None])[0]
            if not np.array_equal(made, parent):
                return made
        chance = min(0.5, _GROWING * chance)


def child(rng: np.random.Generator, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A body of cells that only one of two parents has; a mutant of the first where that leaves nothing."""
    crossed = one ^ other
    return settled(crossed[None])[0] if crossed.any() else mutant(rng, one)


def key(grid: np.ndarray) -> bytes:
    """What bodies that are the same up to turns about the vertical, mirrors and places have in common."""
    filled = np.argwhere(grid)
    part = grid[tuple(slice(low, high + 1) for low, high in zip(filled.min(axis=0), filled.max(axis=0), strict=True))]
    turned = [np.rot90(each, turns) for each in (part, part[::-1]) for turns in range(4)]
    return min(bytes([*each.shape]) + np.packbits(each).tobytes() for each in turned)


def diversity(grids: np.ndarray) -> float:
    """Mean Hamming distance of the cells of two bodies."""
    share = grids.reshape(len(grids), -1).mean(axis=0)
    pairs = len(grids) * (len(grids) - 1)
    return float(2.0 * (share * (1.0 - share)).sum() * len(grids) ** 2 / pairs) if pairs else 0.0
