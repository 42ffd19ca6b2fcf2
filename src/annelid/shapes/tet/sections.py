"""Plane sections of quadrilaterals, from which `swept` makes solids: rectangles and disks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.options import require_truth
from annelid.shapes.values import Floats, Indices, require_count, require_positive

MOST_CELLS = 10_000
"""Most cells along one direction."""

_ROUNDNESS = 0.5
"""How far the core of a disk bulges from a square (0) to a circle (1): halfway, cells are best."""


@dataclass(frozen=True, eq=False)
class Section:
    """Quadrilaterals in a plane, and how each is to be cut.

    Attributes:
        nodes: Positions [m], shape [n, 2].
        quads: Nodes of each quadrilateral, counter-clockwise, shape [q, 4].
        labels: 0, 1 or 2 for each node, shape [n]. Around every quadrilateral they read 0, 1, 2, 1: it is cut from its
            0 to its 2, so neighbours are mirror images of each other and no direction is preferred.
        patches: Two numbers that say where each quadrilateral lies, shape [q, 2]: column and row of a rectangle; ring
            and place around of a disk, counter-clockwise from the direction (-1, -1), whose core has ring 0.
    """

    nodes: Floats
    quads: Indices
    labels: Indices
    patches: Indices

    def __post_init__(self) -> None:
        around = np.sort(self.labels[self.quads], axis=1)
        wrong = (around != [[0, 1, 1, 2]]).any(axis=1) | (np.ptp(self.labels[self.quads[:, ::2]], axis=1) % 2 != 0)
        if wrong.any():
            raise InvalidValue(
                f"{wrong.sum()} of {len(self.quads)} quadrilaterals are not labelled 0, 1, 2, 1 around; label them so."
            )


def rectangle(across: ArrayLike, upwards: ArrayLike) -> Section:
    """A rectangle cut along the given coordinates [m], two rising sequences."""
    x, y = _rising("across", across), _rising("upwards", upwards)
    column, row = (index.ravel() for index in np.meshgrid(np.arange(len(x)), np.arange(len(y)), indexing="ij"))
    number = np.arange(len(column), dtype=np.int32).reshape(len(x), len(y))
    quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    patches = np.stack([column[quads[:, 0]], row[quads[:, 0]]], axis=1).astype(np.int32)
    return Section(np.stack([x[column], y[row]], axis=1), quads, column % 2 + row % 2, patches)


def disk(radii: Sequence[float], *, cells: int = 4, equal_area: bool = False) -> Section:
    """A disk: a rounded square of cells x cells in the middle, and rings of 4 cells each around it.

    Args:
        radii: Outer radius of the core and of every ring, rising [m]; at least the core and one ring.
        cells: Cells along a side of the core, an even number.
        equal_area: Push the rings outwards until the polygon has the area of the circle; else its corners lie on it.
    """
    require_truth("equal_area", equal_area)
    cells = require_count("cells", cells, least=2, most=MOST_CELLS)
    if cells % 2:
        raise InvalidValue(
            f"cells = {cells} cannot be used; give an even number, so that the disk has planes of symmetry."
        )
    radius = _rising("radii", [0.0, *radii], least=3)[1:]
    turns = 4 * cells
    if equal_area:
        radius = radius * math.sqrt(2.0 * math.pi / (turns * math.sin(2.0 * math.pi / turns)))
    core = rectangle(*[np.linspace(-1.0, 1.0, cells + 1)] * 2)
    inner = _rounded(core.nodes, radius[0])
    rim = _rim(cells)
    angle = 2.0 * math.pi * np.arange(turns) / turns - 0.75 * math.pi
    rings = radius[1:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    number = np.concatenate([rim[None], len(inner) + np.arange(rings.size // 2).reshape(-1, turns)]).astype(np.int32)
    following = np.roll(number, -1, axis=1)
    outer = np.stack([number[:-1], number[1:], following[1:], following[:-1]], axis=-1).reshape(-1, 4)
    ring, place = (index.ravel() for index in np.meshgrid(np.arange(len(rings)), np.arange(turns), indexing="ij"))
    return Section(
        np.concatenate([inner, rings.reshape(-1, 2)]),
        np.concatenate([core.quads, outer]),
        np.concatenate([core.labels, (ring + 1) % 2 + place % 2]),
        np.concatenate([np.zeros((len(core.quads), 2), dtype=np.int64), np.stack([ring + 1, place], axis=1)]),
    )


def _rounded(square: Floats, radius: float) -> Floats:
    """Points of the square [-1, 1] x [-1, 1] brought towards a disk, its corners at the radius; shape [n, 2]."""
    reach = np.abs(square).max(axis=1)
    steep = np.abs(square[:, 1]) > np.abs(square[:, 0])
    far, near = np.where(steep, square[:, 1], square[:, 0]), np.where(steep, square[:, 0], square[:, 1])
    slope = 0.25 * math.pi * near / np.where(far == 0.0, 1.0, far)
    first, second = np.sign(far) * reach * np.cos(slope), np.sign(far) * reach * np.sin(slope)
    circle = np.where(steep[:, None], np.stack([second, first], axis=1), np.stack([first, second], axis=1))
    return radius * ((1.0 - _ROUNDNESS) * square / math.sqrt(2.0) + _ROUNDNESS * circle)


def _rim(cells: int) -> Indices:
    """Nodes around the core, counter-clockwise from its corner of least x and y; shape [4 cells]."""
    number = np.arange((cells + 1) ** 2, dtype=np.int32).reshape(cells + 1, cells + 1)
    sides = [number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]]
    return np.concatenate(sides)


def _rising(name: str, values: ArrayLike, *, least: int = 2) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    if array.ndim != 1 or len(array) < least or not np.isfinite(array).all() or (np.diff(array) <= 0.0).any():
        shown = values if array.size < 10 else f"{array.size} numbers"
        raise InvalidValue(f"{name} = {shown} cannot be used; give {least} or more finite numbers that rise [m].")
    return array


def steps(lengths: Sequence[float], counts: Sequence[int]) -> Floats:
    """Coordinates from 0 on, along stretches of the given lengths [m], each cut into its count of equal cells."""
    starts = np.concatenate([[0.0], np.cumsum([require_positive("length of a stretch", length) for length in lengths])])
    parts = [
        np.linspace(start, end, require_count("count of cells", count, least=1, most=MOST_CELLS), endpoint=False)
        for start, end, count in zip(starts[:-1], starts[1:], counts, strict=True)
    ]
    return np.concatenate([*parts, starts[-1:]])
