"""A voxel robot as a user builds it: a grid of materials, sensors and a controller."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from scipy import ndimage

from annelid.control.controller import Controller, controller_from_dict
from annelid.core.arrays import array_or_none, as_truths, kept
from annelid.core.described import Described
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.numbers import is_whole
from annelid.core.options import require_callable, require_kind
from annelid.voxels.material import Voxel
from annelid.voxels.sensors import Sensor

SensorPlan = Sequence[Sensor] | Callable[[int, int], Sequence[Sensor]]
"""Sensors of every voxel, or a function from the cell (x, y) of a voxel to its sensors."""

_FORMAT = "annelid-voxel-robot-1"


@dataclass(frozen=True, eq=False)
class Load:
    """A force on masses from outside.

    Attributes:
        forces: Force on each mass [N], shape [width, height, 4, 2]; masses in the order NW, NE, SE, SW.
        seconds: How long it lasts from the beginning [s].
    """

    forces: np.ndarray
    seconds: float = float("inf")

    def __post_init__(self) -> None:
        object.__setattr__(self, "forces", kept(self.forces))


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Described):
    """A robot: voxels on a grid, each rigidly joined to those beside, above and below it.

    Attributes:
        grid: Material of each cell, -1 where it is empty, shape [width, height]; x to the right, y up.
        materials: Materials that the grid refers to.
        controller: Its controller; None leaves it passive.
        sensors: Sensors of every voxel, or a function from its cell to them.
        fixed: Masses that do not move, shape [width, height, 4].
        loads: Forces from outside.
        seed: Seed of the noise of its sensors.
    """

    grid: np.ndarray
    materials: tuple[Voxel, ...]
    controller: Controller | None = None
    sensors: SensorPlan = ()
    fixed: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    loads: tuple[Load, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        grid = _whole(self.grid)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise InvalidValue(f"the seed of a robot must be a whole number of 0 or more, not {self.seed!r:.60}.")
        require_kind("fixed masses of a robot", self.fixed, np.ndarray, "an array of truth values; see Robot.fix")
        object.__setattr__(self, "materials", _as_materials(self.materials))
        _require_controller(self.controller)
        if grid.ndim != 2 or (grid < 0).all():
            raise InvalidValue("the grid of a robot has no voxels.")
        if grid.max() >= len(self.materials):
            raise InvalidValue(f"the grid refers to material {grid.max()}, but there are {len(self.materials)}.")
        _require_connected(grid)
        used = [self.materials[i] for i in np.unique(grid[grid >= 0])]
        if len(sides := sorted({m.side_length for m in used})) > 1:
            raise InvalidValue(f"all voxels of a robot must have one side length, not {sides[0]} and {sides[1]} m.")
        grid.setflags(write=False)
        object.__setattr__(self, "grid", grid)
        fixed = self.fixed if self.fixed.size else np.zeros((*grid.shape, 4), bool)
        object.__setattr__(self, "fixed", kept(fixed))
        if self.fixed.shape != (*grid.shape, 4):
            raise InvalidValue(f"fixed masses need shape {(*grid.shape, 4)}, not {self.fixed.shape}.")

    @classmethod
    def from_text(cls, art: str, materials: Mapping[str, Voxel] | Voxel | None = None, **options: Any) -> Robot:
        """A robot drawn in text, its top row first; blanks and dots are empty.

        Args:
            art: The drawing.
            materials: Material of each character, or one for all; by default that of the paper.
            options: Other attributes of the robot.
        """
        require_kind("the drawing of a robot", art, str, "a text")
        accepted = "a voxels.Voxel, Voxels by letter, or None"
        require_kind("materials of a drawing", materials, (Mapping, Voxel, NoneType), accepted)
        lines = [line.rstrip() for line in art.strip("\n").splitlines()]
        wide = max((len(line) for line in lines), default=0)
        letters = np.array([list(line.ljust(wide)) for line in lines] or [[]], dtype="<U1")
        kinds = sorted(set(letters.ravel().tolist()) - {" ", "."})
        if not isinstance(materials, Mapping):
            materials = dict.fromkeys(kinds, materials or Voxel.paper())
        if unknown := [kind for kind in kinds if kind not in materials]:
            raise InvalidValue(f"the drawing has {unknown[0]!r}, which is no material: {', '.join(materials)}.")
        grid = np.full(letters.shape, -1)
        for number, kind in enumerate(kinds):
            grid[letters == kind] = number
        return cls(grid[::-1].T, tuple(materials[kind] for kind in kinds), **options)

    @classmethod
    def from_function(
        cls, width: int, height: int, material: Callable[[int, int], Voxel | None], **options: Any
    ) -> Robot:
        """A robot from a function of the cell (x, y), y up, that returns a material or None."""
        require_callable("what chooses materials", material)
        if not (is_whole(width, 1) and is_whole(height, 1)):
            raise InvalidValue(
                f"the width and height of a robot must be whole numbers of cells, not {width!r:.40} and {height!r:.40}."
            )
        return cls.from_array([[material(x, y) for y in range(height)] for x in range(width)], **options)

    @classmethod
    def from_array(cls, cells: Any, material: Voxel | None = None, **options: Any) -> Robot:
        """A robot from a 2-D array [width, height] of materials and None, or of truth values and one material."""
        array = np.asarray(cells, dtype=object)
        if array.ndim != 2:
            raise InvalidValue(f"the cells of a robot must be a 2-D array, not one of shape {array.shape}.")
        if not isinstance(material, Voxel | None):
            raise InvalidValue(
                f"the material of an array must be one Voxel, not {material!r:.60}: give several in its cells."
            )
        voxels = [_in_cell(place, cell, material) for place, cell in np.ndenumerate(array)]
        table = tuple(dict.fromkeys(voxel for voxel in voxels if voxel is not None))
        number = {voxel: i for i, voxel in enumerate(table)}
        grid = np.array([-1 if voxel is None else number[voxel] for voxel in voxels], np.int32)
        return cls(grid.reshape(array.shape), table, **options)

    @cached_property
    def cells(self) -> np.ndarray:
        """Cell (x, y) of each voxel, in the order of all arrays of voxels, shape [voxels, 2]."""
        return np.argwhere(self.grid >= 0)

    def facts(self) -> dict[str, str]:
        """How many, how large and what moves it."""
        wide, high = self.grid.shape
        return {
            "voxels": str(self.voxel_count),
            "grid": f"{wide} × {high}",
            "side": f"{self.side_length:.4g} m",
            "controller": "none" if self.controller is None else type(self.controller).__name__,
        }

    @property
    def voxel_count(self) -> int:
        """Number of voxels."""
        return len(self.cells)

    @property
    def side_length(self) -> float:
        """Side of its voxels [m]."""
        return self.materials[int(self.grid[tuple(self.cells[0])])].side_length

    @cached_property
    def empty_margin(self) -> tuple[float, float]:
        """Width of empty columns on the left and height of empty rows below [m]."""
        margin = self.cells.min(axis=0) * self.side_length
        return float(margin[0]), float(margin[1])

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height at rest [m]."""
        extent = (self.cells.max(axis=0) - self.cells.min(axis=0) + 1) * self.side_length
        return float(extent[0]), float(extent[1])

    @cached_property
    def inputs(self) -> tuple[tuple[int, Sensor], ...]:
        """All sensors, voxel by voxel, with the number of their voxel."""
        if callable(self.sensors):
            return tuple((i, s) for i, (x, y) in enumerate(self.cells) for s in self.sensors(int(x), int(y)))
        return tuple((i, s) for i in range(self.voxel_count) for s in self.sensors)

    @cached_property
    def input_counts(self) -> np.ndarray:
        """Number of sensors of each voxel, shape [voxels]."""
        return np.bincount(np.array([i for i, _ in self.inputs], int), minlength=self.voxel_count)

    @cached_property
    def neighbours(self) -> np.ndarray:
        """Voxel to the north, east, south and west of each, -1 where there is none, shape [voxels, 4]."""
        number = np.full(np.array(self.grid.shape) + 2, -1)
        number[tuple((self.cells + 1).T)] = np.arange(self.voxel_count)
        around = self.cells[:, None, :] + 1 + np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
        return number[around[..., 0], around[..., 1]]

    @cached_property
    def body_key(self) -> tuple[Any, ...]:
        """What its tables depend on: robots with equal keys share them."""
        return (self.grid.shape, self.grid.tobytes(), self.materials, self.fixed.tobytes())

    def with_controller(self, controller: Controller | None) -> Robot:
        """The same body with another controller."""
        _require_controller(controller)
        other = copy(self)  # with all that was worked out about the body
        object.__setattr__(other, "controller", controller)
        return other

    def with_parameters(self, parameters: np.ndarray) -> Robot:
        """The same robot whose controller has other parameters."""
        if self.controller is None:
            raise InvalidValue("a robot without a controller has no parameters.")
        _ = self.size, self.inputs, self.input_counts, self.neighbours, self.body_key, self.empty_margin  # shared
        return self.with_controller(self.controller.with_parameters(parameters))

    def fix(self, masses: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Robot:
        """The robot with some masses held in place.

        Args:
            masses: From the cell x, the cell y and the corner (0 to 3: NW, NE, SE, SW) of masses to truth values.
        """
        require_callable("what chooses masses", masses)
        places = np.indices(self.fixed.shape)
        held = as_truths("what chooses masses", masses(places[0], places[1], places[2]))
        return replace(self, fixed=self.fixed | held)

    def push(self, forces: np.ndarray, seconds: float = float("inf")) -> Robot:
        """The robot with a force on its masses [N], shape [width, height, 4, 2], for some time [s]."""
        try:
            forces = np.asarray(forces, float)
        except (TypeError, ValueError, OverflowError):
            forces = np.empty(0)
        if forces.shape != (*self.grid.shape, 4, 2) or not np.isfinite(forces).all():
            raise InvalidValue(f"forces on masses must be finite, of shape {(*self.grid.shape, 4, 2)}.")
        return replace(self, loads=(*self.loads, Load(forces, seconds)))

    def to_json(self) -> str:
        """The robot as JSON: body, sensors and controller, but not what holds or pushes it."""
        plan = [[sensor.to_dict() for i, sensor in self.inputs if i == n] for n in range(self.voxel_count)]
        return json.dumps(
            {
                "format": _FORMAT,
                "grid": self.grid.tolist(),
                "materials": [material.to_dict() for material in self.materials],
                "sensors": plan if self.inputs else [],
                "controller": None if self.controller is None else self.controller.to_dict(),
                "seed": self.seed,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Robot:
        """A robot from `to_json`."""
        try:
            values = json.loads(text)
            if not isinstance(values, dict) or values.get("format") != _FORMAT:
                raise FileFormatError(f"this is no voxel robot: its format must be {_FORMAT!r}.")
            grid = np.array(values["grid"], dtype=np.int32)
            plan = [tuple(Sensor.from_dict(sensor) for sensor in voxel) for voxel in values["sensors"]]
            number = np.full(grid.shape, -1)
            number[grid >= 0] = np.arange(int((grid >= 0).sum()))
            return cls(
                grid,
                tuple(Voxel.from_dict(material) for material in values["materials"]),
                None if values["controller"] is None else controller_from_dict(values["controller"]),
                (lambda x, y: plan[int(number[x, y])]) if plan else (),
                seed=int(values["seed"]),
            )
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            if isinstance(error, FileFormatError | InvalidValue):
                raise
            raise FileFormatError(f"this voxel robot cannot be read: {error}.") from error


def _require_controller(given: Any) -> None:
    if given is not None:
        require_kind("the controller of a robot", given, Controller, "one of annelid.control")


def _whole(given: Any) -> np.ndarray:
    grid = array_or_none(given)
    if not np.issubdtype(grid.dtype, np.integer):
        raise InvalidValue(
            f"the grid of a robot must be whole numbers of materials, -1 where it is empty, not {grid.dtype}: of truth "
            "values it is np.where(mask, 0, -1)."
        )
    return grid.astype(np.int32)


def _as_materials(given: Any) -> tuple[Voxel, ...]:
    materials = tuple(given) if isinstance(given, Iterable) else (given,)
    for material in materials:
        require_kind("a material of a robot", material, Voxel, "a voxels.Voxel")
    return materials


def largest_connected(grid: np.ndarray) -> np.ndarray:
    """The grid with only its largest connected part; of equal ones the first. Empty cells are -1."""
    grid = _whole(grid)
    labels, count = ndimage.label(grid >= 0)
    if count == 0:
        return grid
    largest = 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))
    return np.where(labels == largest, grid, -1)


def _in_cell(place: tuple[int, ...], cell: Any, material: Voxel | None) -> Voxel | None:
    """The voxel that a cell of an array asks for; numbers of materials would all count as true."""
    if isinstance(cell, Voxel):
        return cell
    if cell is None or (isinstance(cell, Real | np.bool_) and cell in (0, 1)):
        return (material or Voxel.paper()) if cell else None
    raise InvalidValue(f"cell {place} of a robot is {cell!r:.40}: give a Voxel, None or a truth value.")


def _require_connected(grid: np.ndarray) -> None:
    _, parts = ndimage.label(grid >= 0)
    if parts > 1:
        raise InvalidValue(
            f"the grid of a robot has {parts} parts that do not share a side; take the largest with largest_connected."
        )
