"""Ready bodies: worm, biped, tripod, box, and random ones."""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.shapes.values import require_count, seeded
from annelid.voxels.material import Voxel
from annelid.voxels.robot import Robot, largest_connected

_WIDEST = 10_000  # voxels along an edge


def box(width: int, height: int, material: Voxel | None = None, **options: Any) -> Robot:
    """A full rectangle of voxels."""
    width, height = _voxels("width", width), _voxels("height", height)
    return Robot(np.zeros((width, height), int), (_material(material),), **options)


def worm(length: int = 4, material: Voxel | None = None, *, height: int = 1, **options: Any) -> Robot:
    """A row of voxels."""
    return box(length, height, material, **options)


def biped(length: int = 4, material: Voxel | None = None, **options: Any) -> Robot:
    """A trunk with a leg of one voxel at each end."""
    length = _voxels("length", length)
    return _legs(length, [0, length - 1], material, **options)


def tripod(length: int = 5, material: Voxel | None = None, **options: Any) -> Robot:
    """A trunk with three legs of one voxel."""
    length = _voxels("length", length)
    return _legs(length, [0, length // 2, length - 1], material, **options)


def random_body(
    width: int, height: int, material: Voxel | None = None, *, fill: float = 0.5, seed: int = 0, **options: Any
) -> Robot:
    """The largest connected part of randomly filled cells; there is always at least one voxel."""
    width, height = _voxels("width", width), _voxels("height", height)
    if not (is_number(fill) and 0.0 <= fill <= 1.0):
        raise InvalidValue(f"fill must be a share of the cells from 0 to 1, not {fill!r:.60}.")
    filled = seeded(seed).random((width, height)) < fill
    filled[width // 2, height // 2] |= not filled.any()
    return Robot(largest_connected(np.where(filled, 0, -1)), (_material(material),), **options)


def _voxels(name: str, count: int) -> int:
    return require_count(f"the {name} of a body", count, least=1, most=_WIDEST)


def _material(given: Voxel | None) -> Voxel:
    """The material of a body, that of the paper unless told otherwise."""
    require_kind("the material of a body", given, (Voxel, NoneType), "a voxels.Voxel or None")
    return given or Voxel.paper()


def _legs(length: int, legs: list[int], material: Voxel | None, **options: Any) -> Robot:
    grid = np.full((length, 2), -1)
    grid[:, 1] = 0
    grid[legs, 0] = 0
    return Robot(grid, (_material(material),), **options)
