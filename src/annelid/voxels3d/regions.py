"""What acts on parts of a robot from outside: what holds and moves them, and what pushes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from annelid.core.arrays import kept
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.values import Vector, as_vector

Where = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | np.ndarray | Sequence[Sequence[int]]
"""Which voxels: a function from the cells x, y, z of voxels to truth values; an array of these, as the grid; or cells,
shape [k, 3]."""

FREEDOMS = ("x", "y", "z", "rx", "ry", "rz")
"""Freedoms of a voxel: along the axes, and about them."""


@dataclass(frozen=True, eq=False)
class Hold:
    """Voxels some of whose freedoms are held, or moved to another place.

    Attributes:
        voxels: Numbers of the voxels.
        freedoms: The freedoms that are held; see `FREEDOMS`.
        displacement: Where they are moved to, from where they were built [m].
        rotation: How they are turned, a vector along the axis with the angle as its length [rad].
        begin: When that begins [s].
        duration: How long it takes [s].
    """

    voxels: np.ndarray
    freedoms: tuple[str, ...] = FREEDOMS
    displacement: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (0.0, 0.0, 0.0)
    begin: float = 0.0
    duration: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "voxels", kept(self.voxels))
        for name in self.freedoms:
            if not isinstance(name, str) or name not in FREEDOMS:
                raise InvalidValue(f"freedom {name!r} does not exist; use {', '.join(FREEDOMS)}.")
        for name in ("displacement", "rotation"):
            object.__setattr__(self, name, as_vector(f"{name} of held voxels", vars(self)[name]))
        for axis, (moved, turned) in enumerate(zip(self.displacement, self.rotation, strict=True)):
            if moved and FREEDOMS[axis] not in self.freedoms:
                raise InvalidValue(f"voxels are moved along {FREEDOMS[axis]}, which is not among the held freedoms.")
            if turned and not set(FREEDOMS[3:]) <= set(self.freedoms):
                raise InvalidValue("voxels are turned only where all of rx, ry and rz are held.")
        _require_times("held voxels", self.begin, self.duration)

    @property
    def bits(self) -> int:
        """The freedoms, a bit each."""
        return sum(1 << FREEDOMS.index(name) for name in set(self.freedoms))


@dataclass(frozen=True, eq=False)
class Push:
    """A force and a moment, shared equally by some voxels.

    Attributes:
        voxels: Numbers of the voxels.
        force: On all of them together [N].
        moment: On all of them together [N m].
        begin: When it begins [s].
        rise: How long it grows from 0 [s].
        end: When it ends [s].
    """

    voxels: np.ndarray
    force: Vector = (0.0, 0.0, 0.0)
    moment: Vector = (0.0, 0.0, 0.0)
    begin: float = 0.0
    rise: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "voxels", kept(self.voxels))
        for name in ("force", "moment"):
            object.__setattr__(self, name, as_vector(f"{name} on voxels", vars(self)[name]))
        _require_times("a push", self.begin, self.rise)
        if not (isinstance(self.end, Real) and self.end > self.begin):
            raise InvalidValue(f"a push that begins at {self.begin:g} s must end later, not at {self.end} s.")


def chosen(where: Where, cells: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of the voxels that are meant; in the order of the cells where these were given."""
    try:
        mask = np.asarray(where(*cells.T) if callable(where) else where)
    except ValueError:
        raise InvalidValue(f"a part of a robot cannot be told by {where!r:.60}: see voxels3d.Robot.fix.") from None
    if not callable(where) and mask.dtype.kind in "iu" and mask.ndim == 2 and mask.shape[1] == 3 and len(mask):
        numbers = numbers_of(mask, cells)
        if (numbers < 0).any():
            x, y, z = mask[numbers < 0][0].tolist()
            raise InvalidValue(f"there is no voxel in cell ({x}, {y}, {z}).")
        return np.array(list(dict.fromkeys(numbers.tolist())))
    if mask.dtype != np.bool_:
        raise InvalidValue(
            f"a part of a robot is told by a function such as lambda x, y, z: x == 0, by truth values, or by the cells "
            f"[k, 3] of its voxels, not by {mask.dtype} values of shape {list(mask.shape)}."
        )
    if mask.shape == shape:
        mask = mask[tuple(cells.T)]
    if mask.shape != (len(cells),):
        raise InvalidValue(
            f"a part of a robot needs truth values of the shape of the grid {list(shape)} or of its {len(cells)} "
            f"voxels, not {list(mask.shape)}."
        )
    if not mask.any():
        raise InvalidValue("the part of the robot that was chosen has no voxels.")
    return np.flatnonzero(mask)


def numbers_of(wanted: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Numbers of the voxels in cells that are wanted, -1 where there is none."""
    numbers = {tuple(cell): number for number, cell in enumerate(cells.tolist())}
    return np.array([numbers.get(tuple(cell), -1) for cell in wanted.tolist()], int)


def _require_times(what: str, begin: float, duration: float) -> None:
    for name, value in (("begin", begin), ("duration", duration)):
        if not (is_number(value) and value >= 0.0):
            raise InvalidValue(f"{name} of {what} must be 0 s or more, not {value!r}.")
