"""Structures and worlds of EvoGym (Bhatia et al. 2021) as robots and boxes of `annelid.voxels`.

Bodies are taken over, not numbers: voxels here are squares of four masses that shrink and grow in both directions, so
that horizontal and vertical actuators are the same, and voxels that share a side are always joined.
"""

from __future__ import annotations

import json
import math
import os
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue, PartlyUsed
from annelid.core.files import as_path, open_regular, read_text
from annelid.voxels.material import Voxel
from annelid.voxels.objects import Box
from annelid.voxels.robot import Robot

EMPTY, RIGID, SOFT, HORIZONTAL, VERTICAL, FIXED = range(6)
"""Types of voxels."""

MOST_CELLS = 1_000_000
"""Cells of a structure or of a world at most."""

_MOST_BYTES = 64 << 20
_ACTUATOR = Voxel.paper(frequency=8.0, max_area_change=0.4)

MATERIALS: Mapping[int, Voxel] = {
    RIGID: Voxel.paper(frequency=25.0, max_area_change=0.0),
    SOFT: Voxel.paper(frequency=8.0, max_area_change=0.0),
    HORIZONTAL: _ACTUATOR,
    VERTICAL: _ACTUATOR,
    FIXED: Voxel.paper(frequency=25.0, max_area_change=0.0),
}
"""What types of voxels are made of: actuators shrink to 0.6 of their area, as EvoGym's to 0.6 of their length."""


@dataclass(frozen=True, eq=False)
class Setup:
    """A world of EvoGym.

    Attributes:
        robots: Bodies that move, by name; a body in several parts is several, `name-1`, `name-2` and so on.
        positions: Lower left corner of each [m], shape [robots, 2].
        boxes: What does not move, rows of cells.
    """

    robots: dict[str, Robot]
    positions: np.ndarray
    boxes: tuple[Box, ...]

    def options(self) -> dict[str, Any]:
        """What `voxels.simulation(list(setup.robots.values()), ...)` needs besides."""
        return {"together": True, "positions": self.positions, "obstacles": list(self.boxes)}


def from_structure(structure: Any, connections: Any = None, *, materials: Mapping[int, Voxel] = MATERIALS) -> Robot:
    """A robot from the arrays of EvoGym.

    Args:
        structure: Type of each cell, its top row first, shape [height, width].
        connections: Pairs of cells that are joined, shape [2, k]; None: all neighbours are.
        materials: Material of each type, see `MATERIALS`.
    """
    try:
        given = np.asarray(structure, float)
        whole = given.ndim == 2 and 0 < given.size <= MOST_CELLS and bool((given == np.round(given)).all())
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise InvalidValue(f"a structure must be a 2-D array of whole numbers, not {structure!r:.60}.")
    types = given.astype(int)[::-1].T
    _require_types(types)
    if connections is not None:
        pairs = np.asarray(connections)
        if pairs.ndim != 2 or pairs.shape[0] != 2:
            raise InvalidValue(f"connections must be of shape [2, k], not {list(pairs.shape)}.")
        joined = {(min(a, b), max(a, b)) for a, b in pairs.T.tolist()}
        _tell_open(_neighbours(given != EMPTY) - joined, "the structure")
    robots = _bodies("robot", types, materials)
    if len(robots) != 1:
        raise InvalidValue(f"the structure has {len(robots)} parts that share no side, where a robot is one.")
    return next(iter(robots.values()))[0]


def read_structure(path: str | os.PathLike[str], *, materials: Mapping[int, Voxel] = MATERIALS) -> Robot:
    """A robot from a .npz file of EvoGym: the structure, and its connections if they are there."""
    path = as_path(path)
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            arrays = {name: _array(archive, name) for name in ("arr_0.npy", "arr_1.npy") if name in archive.namelist()}
        if "arr_0.npy" not in arrays:
            raise ValueError("it holds no array arr_0")
        return from_structure(arrays["arr_0.npy"], arrays.get("arr_1.npy"), materials=materials)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # what zip and NumPy raise about damaged files is not one kind
        raise _damaged(path, "structure", error) from None


def read_world(path: str | os.PathLike[str], *, materials: Mapping[int, Voxel] = MATERIALS) -> Setup:
    """Robots and boxes from a world of EvoGym, a .json file."""
    path = as_path(path)
    try:
        return _world(json.loads(read_text(path, most=_MOST_BYTES)), materials)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError, AttributeError) as error:
        raise _damaged(path, "world", error) from None


def _world(values: Any, materials: Mapping[int, Voxel]) -> Setup:
    width, height = int(values["grid_width"]), int(values["grid_height"])
    if not (0 < width <= MOST_CELLS and 0 < height <= MOST_CELLS and width * height <= MOST_CELLS):
        raise ValueError(f"a grid of {width} by {height} cells is none, or more than {MOST_CELLS} of them")
    side = next(iter(materials.values())).side_length
    taken = np.zeros((width, height), bool)
    robots: dict[str, Robot] = {}
    corners: list[np.ndarray] = []
    boxes: list[Box] = []
    for name, one in values["objects"].items():
        types = _types(name, one, (width, height))
        if (taken & (types != EMPTY)).any():
            raise ValueError(f"the object {name!r} lies over another one")
        taken |= types != EMPTY
        if "neighbors" in one:
            near = {(min(int(a), b), max(int(a), b)) for a, others in one["neighbors"].items() for b in others}
            _tell_open(_neighbours((types != EMPTY).T) - near, f"the object {name!r}")
        if (types[types != EMPTY] == FIXED).all():
            boxes += _rows(types == FIXED, side)
            continue
        for called, (robot, corner) in _bodies(str(name), types, materials).items():
            robots[called] = robot
            corners.append(corner * side)
    return Setup(robots, np.array(corners, float).reshape(-1, 2), tuple(boxes))


def _types(name: str, one: Mapping[str, Any], shape: tuple[int, int]) -> np.ndarray:
    """Types of the cells of an object, shape [width, height]."""
    indices, kinds = np.array(one["indices"]), np.array(one["types"])
    if indices.ndim != 1 or indices.shape != kinds.shape or not len(indices):
        raise ValueError(f"the object {name!r} needs as many types as indices, and at least one")
    if indices.dtype.kind != "i" or kinds.dtype.kind != "i":
        raise ValueError(f"the object {name!r} needs whole numbers")
    if indices.min() < 0 or indices.max() >= shape[0] * shape[1] or len(np.unique(indices)) < len(indices):
        raise ValueError(f"the object {name!r} has cells twice, or outside of the grid")
    types = np.zeros(shape, int)
    types[indices % shape[0], indices // shape[0]] = kinds
    _require_types(types)
    return types


def _require_types(types: np.ndarray) -> None:
    if len(unknown := types[(types < EMPTY) | (types > FIXED)]):
        raise InvalidValue(f"type {unknown[0]} of voxels is not one of 0 to 5.")
    if not types.any():
        raise InvalidValue("it has no voxels.")


def _bodies(name: str, types: np.ndarray, materials: Mapping[int, Voxel]) -> dict[str, tuple[Robot, np.ndarray]]:
    """Robots of the connected parts of a body, and the lower left cell of each."""
    if missing := sorted(set(types[types != EMPTY].tolist()) - set(materials)):
        raise InvalidValue(f"materials have none for type {missing[0]} of voxels.")
    kinds = sorted(materials)
    labels, count = ndimage.label(types != EMPTY)
    found = {}
    for part, (columns, rows) in enumerate(ndimage.find_objects(labels), start=1):
        here = np.where(labels[columns, rows] == part, types[columns, rows], EMPTY)
        grid = np.searchsorted(kinds, here)
        grid[here == EMPTY] = -1
        held = np.repeat((here == FIXED)[..., None], 4, axis=2)
        robot = Robot(grid, tuple(materials[kind] for kind in kinds), fixed=held)
        found[name if count == 1 else f"{name}-{part}"] = robot, np.array([columns.start, rows.start])
    return found


def _rows(fixed: np.ndarray, side: float) -> list[Box]:
    """Boxes of the runs of cells of each row."""
    boxes = []
    for y in np.flatnonzero(fixed.any(axis=0)).tolist():
        edges = np.flatnonzero(np.diff(np.concatenate([[0], fixed[:, y].astype(int), [0]])))
        for begin, end in edges.reshape(-1, 2).tolist():
            middle = (0.5 * (begin + end) * side, (y + 0.5) * side)
            boxes.append(Box(size=((end - begin) * side, side), position=middle, held="fixed"))
    return boxes


def _neighbours(cells: np.ndarray) -> set[tuple[int, int]]:
    """Pairs of cells that share a side, by their numbers row by row; `cells` has shape [height, width]."""
    number = np.arange(cells.size).reshape(cells.shape)
    beside, above = cells[:, :-1] & cells[:, 1:], cells[:-1] & cells[1:]
    pairs = np.concatenate([
        np.column_stack([number[:, :-1][beside], number[:, 1:][beside]]),
        np.column_stack([number[:-1][above], number[1:][above]]),
    ])  # fmt: skip
    return set(map(tuple, pairs.tolist()))


def _tell_open(apart: set[tuple[int, int]], what: str) -> None:
    if apart:
        a, b = min(apart)
        warnings.warn(
            f"{what} leaves {len(apart)} pairs of neighbours apart, as cells {a} and {b}, which are joined here.",
            PartlyUsed,
            stacklevel=4,
        )


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of whole numbers from an archive, whose size is looked at before it is read."""
    if archive.getinfo(name).file_size > _MOST_BYTES:
        raise ValueError(f"its array {name} is larger than {_MOST_BYTES} bytes")
    with archive.open(name) as part:
        version = np.lib.format.read_magic(part)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, ordered, dtype = read(part)
        if dtype.kind not in "biuf" or math.prod(shape) > MOST_CELLS:
            raise ValueError(f"its array {name} holds no numbers, or more than {MOST_CELLS} of them")
        data = part.read(math.prod(shape) * dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if ordered else "C")


def _damaged(path: Path, what: str, error: Exception) -> FileFormatError:
    said = str(error) if isinstance(error, AnnelidError) else f"{type(error).__name__}: {error}."
    return FileFormatError(f"{path} holds no {what} of EvoGym that could be read: {' '.join(said.split())}")
