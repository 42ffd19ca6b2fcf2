"""A 3-D voxel robot as a user builds it: materials on a lattice, how they are actuated, what holds and pushes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import ndimage

from annelid.core.arrays import array_or_none, as_numbers, kept
from annelid.core.described import Described
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind, require_truth
from annelid.shapes.values import Vector, require_positive
from annelid.voxels3d.regions import FREEDOMS, Hold, Push, Where, chosen
from annelid.voxels3d.voxel import Voxel

_MOST_MATERIALS = 1 << 30
_LEAST_SIDE, _MOST_SIDE = 1e-7, 1e6  # [m]; inertias go with the fifth power, and float32 ends at 1e-38 and 1e38
_PER_VOXEL = ("amplitude", "frequency", "phase", "temperature", "stiffness")


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Described):
    """A robot: cubes on a lattice, each joined to its face neighbours.

    Numbers of voxels (`amplitude`, …) are one for all, or an array of the shape of the grid.

    Attributes:
        grid: Material of each cell, -1 where it is empty, shape [x, y, z]; z is up.
        materials: Materials that the grid refers to.
        side_length: Side of a cell [m].
        amplitude: Amplitude of the temperature of voxels [K]: their length changes by `expansion` of the material
            for each degree.
        frequency: Frequency of its wave [Hz]; voxels with 0 follow commands from -1 to 1 instead.
        phase: Where the wave begins [cycles].
        temperature: Constant temperature above that at which they were built [K].
        stiffness: Factor on the modulus of the material.
        ramp: Time in which waves grow to their amplitude [s].
        only_cools: Whether waves never rise above `temperature`, as in voxcraft-sim unless it is told otherwise.
        holds: What is held.
        pushes: What is pushed.
        whole: Whether a grid in several parts is refused.
    """

    grid: np.ndarray
    materials: tuple[Voxel, ...] = (Voxel(),)
    side_length: float = 0.01
    amplitude: Any = 0.0
    frequency: Any = 0.0
    phase: Any = 0.0
    temperature: Any = 0.0
    stiffness: Any = 1.0
    ramp: float = 0.0
    only_cools: bool = False
    holds: tuple[Hold, ...] = field(default=())
    pushes: tuple[Push, ...] = field(default=())
    whole: bool = True

    def __post_init__(self) -> None:
        require_truth("only_cools of a robot", self.only_cools)
        require_truth("whole of a robot", self.whole)
        grid = _whole(self.grid)
        materials = _as_materials(self.materials)
        for material in materials:
            if not isinstance(material, Voxel):
                raise InvalidValue(f"each material of a robot must be a voxels3d.Voxel, not {material!r:.60}.")
        if (grid < 0).all():
            raise InvalidValue("the grid of a robot has no voxels.")
        if grid.max() >= len(materials):
            raise InvalidValue(
                f"the grid refers to material {grid.max()}, but there are {len(materials)}, counted from 0: -1 is "
                "empty. In arrays for Robot.from_array 0 is, and 1 the first."
            )
        grid.setflags(write=False)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "materials", materials)
        object.__setattr__(self, "side_length", require_positive("side_length", self.side_length))
        if not _LEAST_SIDE <= self.side_length <= _MOST_SIDE:
            raise InvalidValue(
                f"side_length = {self.side_length:g} m is beyond what numbers of masses and inertias can tell; give "
                f"{_LEAST_SIDE:g} to {_MOST_SIDE:g} m."
            )
        for name in _PER_VOXEL:
            object.__setattr__(self, name, self._spread(name))
        _require_values(self)
        if self.whole:
            _require_connected(grid)

    @classmethod
    def from_array(cls, numbers: Any, materials: Voxel | Sequence[Voxel] = (), **options: Any) -> Robot:
        """A robot from an array [x, y, z] in which 0 is empty and k is the k-th material, as in files of Voxelyze."""
        grid, given = _whole(numbers), _as_materials(materials) or (Voxel(),)
        if grid.size and grid.max() > len(given):
            raise InvalidValue(
                f"the array has the number {grid.max()}, but 1 to {len(given)} are the materials, and 0 is empty."
            )
        return cls(grid - 1, given, **options)

    @cached_property
    def cells(self) -> np.ndarray:
        """Cell (x, y, z) of each voxel, in the order of all arrays of voxels, shape [voxels, 3]."""
        return np.argwhere(self.grid >= 0)

    @property
    def voxel_count(self) -> int:
        """Number of voxels."""
        return len(self.cells)

    @cached_property
    def material_of(self) -> np.ndarray:
        """Material of each voxel, shape [voxels]."""
        return np.asarray(self.grid[tuple(self.cells.T)])

    @cached_property
    def centers(self) -> np.ndarray:
        """Centres of the voxels as built [m], shape [voxels, 3]; the corner of cell (0, 0, 0) is at the origin."""
        return (self.cells + 0.5) * self.side_length

    @cached_property
    def size(self) -> tuple[float, float, float]:
        """Extent at rest [m]."""
        x, y, z = ((np.ptp(self.cells, axis=0) + 1) * self.side_length).tolist()
        return x, y, z

    def facts(self) -> dict[str, str]:
        """How many, how large, what of."""
        return {
            "voxels": str(self.voxel_count),
            "grid": " × ".join(map(str, self.grid.shape)),
            "side": f"{self.side_length:.4g} m",
            "materials": str(len(self.materials)),
        }

    def of_voxels(self, name: str) -> np.ndarray:
        """A number of each voxel by the name of its attribute, shape [voxels]."""
        values: np.ndarray = vars(self)[name]
        return values[tuple(self.cells.T)]

    def fix(self, where: Where, freedoms: Sequence[str] = FREEDOMS) -> Robot:
        """The robot with some voxels held, in all freedoms or in some; see `Where` and `FREEDOMS`."""
        return self._held(Hold(chosen(where, self.cells, self.grid.shape), _listed(freedoms)))

    def drive(
        self,
        where: Where,
        displacement: Vector = (0.0, 0.0, 0.0),
        rotation: Vector = (0.0, 0.0, 0.0),
        *,
        freedoms: Sequence[str] = FREEDOMS,
        begin: float = 0.0,
        duration: float = 0.0,
    ) -> Robot:
        """The robot with some voxels moved by a displacement [m] and a rotation vector [rad], and held there."""
        voxels = chosen(where, self.cells, self.grid.shape)
        return self._held(Hold(voxels, _listed(freedoms), displacement, rotation, begin, duration))

    def push(
        self,
        where: Where,
        force: Vector = (0.0, 0.0, 0.0),
        moment: Vector = (0.0, 0.0, 0.0),
        *,
        begin: float = 0.0,
        rise: float = 0.0,
        end: float = float("inf"),
    ) -> Robot:
        """The robot with a force [N] and a moment [N m] shared by some voxels, from `begin` to `end` [s]."""
        voxels = chosen(where, self.cells, self.grid.shape)
        return replace(self, pushes=(*self.pushes, Push(voxels, force, moment, begin, rise, end)))

    def _held(self, hold: Hold) -> Robot:
        for other in self.holds:
            if len(twice := np.intersect1d(other.voxels, hold.voxels)):
                x, y, z = self.cells[twice[0]].tolist()
                raise InvalidValue(f"voxel ({x}, {y}, {z}) is held already: hold all of its freedoms at once.")
        return replace(self, holds=(*self.holds, hold))

    def _spread(self, name: str) -> np.ndarray:
        """One number a cell."""
        try:
            values = kept(vars(self)[name], float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"{name} of a robot must be a number, or one a cell.") from None
        if values.shape not in ((), self.grid.shape):
            raise InvalidValue(
                f"{name} of a robot must be a number, or an array of the shape {list(self.grid.shape)} of its grid, "
                f"not {list(values.shape)}."
            )
        return np.broadcast_to(values, self.grid.shape)


def largest_connected(grid: np.ndarray) -> np.ndarray:
    """The grid with only its largest connected part; of equal ones the first. Empty cells are -1."""
    labels, count = ndimage.label(as_numbers("a grid", grid) >= 0)
    if count == 0:
        return np.array(grid)
    largest = 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))
    return np.where(labels == largest, grid, -1)


def _whole(grid: Any) -> np.ndarray:
    given = array_or_none(grid)
    if given.ndim != 3 or given.dtype == np.bool_ or not np.issubdtype(given.dtype, np.integer):
        raise InvalidValue(
            f"the grid of a robot must be an array of whole numbers of shape [x, y, z], not {given.dtype} of shape "
            f"{list(given.shape)}."
        )
    if given.size and max(-int(given.min()), int(given.max())) > _MOST_MATERIALS:
        wrong = given.max() if given.max() > _MOST_MATERIALS else given.min()
        raise InvalidValue(f"the grid of a robot has numbers of materials up to {_MOST_MATERIALS}, not {wrong}.")
    return given.astype(np.int32)


def _as_materials(given: Any) -> tuple[Voxel, ...]:
    if isinstance(given, Voxel):
        return (given,)
    if not isinstance(given, Iterable):
        raise InvalidValue(f"materials of a robot must be one voxels3d.Voxel or several, not {given!r:.60}.")
    return tuple(given)


def _require_values(robot: Robot) -> None:
    there = robot.grid >= 0
    for name in _PER_VOXEL:
        values = vars(robot)[name][there]
        if not np.isfinite(values).all():
            raise InvalidValue(f"{name} of a robot must be finite.")
        if name in ("frequency", "stiffness") and (values < 0.0).any():
            raise InvalidValue(f"{name} of a robot must not be negative, as {values.min():g} is.")
    if (robot.stiffness[there] == 0.0).any():
        raise InvalidValue("stiffness of a robot must be above 0 in every voxel; leave cells empty instead.")
    expansions = np.array([material.expansion for material in robot.materials])[robot.grid[there]]
    change = np.abs(expansions) * np.abs(robot.amplitude[there])
    least = 1.0 + expansions * robot.temperature[there] - change
    if (least <= 0.0).any():
        raise InvalidValue(
            f"a voxel would shrink to {least.min():.3g} of its size: use a smaller amplitude or temperature."
        )
    if robot.only_cools and (robot.amplitude[there] < 0.0).any():
        raise InvalidValue("a robot that only cools needs amplitudes of 0 or more: shift their phases by 0.5 instead.")
    if not (is_number(robot.ramp) and robot.ramp >= 0.0):
        raise InvalidValue(f"ramp of a robot must be 0 s or more, not {robot.ramp!r}.")
    for name, held, kind in (("holds", robot.holds, Hold), ("pushes", robot.pushes, Push)):
        require_kind(f"{name} of a robot", held, Sequence, f"a list of voxels3d.{kind.__name__}")
        for part in held:
            require_kind(f"each of the {name} of a robot", part, kind, f"a voxels3d.{kind.__name__}")
    parts: tuple[Hold | Push, ...] = (*robot.holds, *robot.pushes)
    for part in parts:
        voxels, count = np.asarray(part.voxels), robot.voxel_count
        if len(voxels) == 0 or voxels.min() < 0 or voxels.max() >= count:
            raise InvalidValue(f"what is held or pushed must be some of the voxels 0 to {count - 1}, not {voxels}.")


def _listed(freedoms: Sequence[str]) -> tuple[str, ...]:
    require_kind("freedoms that are held", freedoms, Sequence, "a list of their names, such as ('x', 'y')")
    return tuple(freedoms)


def _require_connected(grid: np.ndarray) -> None:
    labels, parts = ndimage.label(grid >= 0)
    if parts > 1:
        sizes = np.bincount(labels.ravel())[1:]
        x, y, z = np.argwhere(labels == 1 + int(np.argmin(sizes)))[0].tolist()
        raise InvalidValue(
            f"the grid of a robot has {parts} parts that share no face, the smallest of {sizes.min()} at cell "
            f"({x}, {y}, {z}); take the largest with largest_connected."
        )
