"""What edits make of robots: a log of voxels cut and added, of links opened and bonds made, applied from the beginning.

The log is what checkpoints keep: applied to the robots as they were built it gives the edited ones, always the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import ndimage

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.voxels3d.robot import Robot

CUT, ADD, ATTACH, DETACH = range(4)
"""Kinds of changes."""

PER_VOXEL = ("amplitude", "frequency", "phase", "temperature", "stiffness")
"""What an added voxel has a number of."""

_NUMBERS, _VALUES = 10, 8


@dataclass(frozen=True, eq=False)
class Log:
    """Changes in their order, a row each.

    Attributes:
        numbers: Kind, robot and cell, then the material of an added voxel; or robot and cell of the other voxel of a
            pair, and the step at which a bond begins, shape [n, 10].
        values: Numbers of an added voxel, see `PER_VOXEL`; or how the second voxel of a bond is turned to the first
            (4), the direction to it (3) and the time in which the bond grows [s], shape [n, 8].
    """

    numbers: np.ndarray = field(default_factory=lambda: np.zeros((0, _NUMBERS), np.int64))
    values: np.ndarray = field(default_factory=lambda: np.zeros((0, _VALUES)))

    def __len__(self) -> int:
        return len(self.numbers)

    def __add__(self, other: Log) -> Log:
        return Log(np.concatenate([self.numbers, other.numbers]), np.concatenate([self.values, other.values]))

    @classmethod
    def rows(cls, kind: int, robot: int, cells: np.ndarray, rest: Any = (), values: Any = ()) -> Log:
        """Changes of one kind at cells of one robot, which have the other numbers in common."""
        numbers, numbers_left = np.zeros((len(cells), _NUMBERS), np.int64), np.asarray(rest, np.int64)
        numbers[:, 0], numbers[:, 1], numbers[:, 2:5] = kind, robot, cells
        numbers[:, 5 : 5 + len(numbers_left)] = numbers_left
        floats = np.zeros((len(cells), _VALUES))
        floats[:, : len(values)] = values
        return cls(numbers, floats)

    def arrays(self) -> dict[str, np.ndarray]:
        """The log as checkpoints keep it; nothing while it is empty."""
        return {"edit_numbers": self.numbers, "edit_values": self.values} if len(self) else {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Log:
        """The log of a checkpoint."""
        if not arrays:
            return cls()
        numbers, values = arrays.get("edit_numbers"), arrays.get("edit_values")
        fits = (
            numbers is not None
            and values is not None
            and numbers.dtype == np.int64
            and values.dtype == np.float64
            and numbers.shape == (len(values), _NUMBERS)
            and values.shape == (len(numbers), _VALUES)
            and np.isfinite(values).all()
        )
        if not fits:
            raise FileFormatError("the checkpoint is damaged: its list of edits of voxels cannot be read.")
        assert numbers is not None
        assert values is not None
        return cls(numbers, values)


@dataclass(frozen=True, eq=False)
class Bonds:
    """Links between voxels that are no neighbours on a lattice.

    Attributes:
        ends: Robot and cell of both ends, shape [bonds, 2, 4].
        turns: How the second voxel is turned to the first at rest, quaternions, shape [bonds, 4].
        axes: Direction from the first voxel to the second, in its frame, shape [bonds, 3].
        born: Step at which they were made, shape [bonds].
        rise: Time in which they grow to their strength [s], shape [bonds].
    """

    ends: np.ndarray
    turns: np.ndarray
    axes: np.ndarray
    born: np.ndarray
    rise: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)


NO_BONDS = Bonds(np.zeros((0, 2, 4), np.int64), np.zeros((0, 4)), np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Changed:
    """What a log makes of robots.

    Attributes:
        robots: The robots; those that changed are new ones.
        opened: Cells of voxels whose link along an axis is gone, and that axis, for each robot, shape [k, 4].
        bonds: Links that were added.
    """

    robots: tuple[Robot, ...]
    opened: tuple[np.ndarray, ...]
    bonds: Bonds = NO_BONDS


def unchanged(robots: Sequence[Robot]) -> Changed:
    """Robots as they were built."""
    return Changed(tuple(robots), (np.zeros((0, 4), int),) * len(robots))


def apply(log: Log, robots: Sequence[Robot]) -> Changed:
    """What a log makes of robots as they were built; rows that cannot be are refused."""
    if not len(log):
        return unchanged(robots)
    numbers = log.numbers
    _require(np.isin(numbers[:, 0], range(4)).all(), "an edit of voxels is of no known kind.")
    for column in (1, *((5,) if np.isin(numbers[:, 0], (ATTACH, DETACH)).any() else ())):
        pairs = numbers if column == 1 else numbers[np.isin(numbers[:, 0], (ATTACH, DETACH))]
        wrong = (pairs[:, column] < 0) | (pairs[:, column] >= len(robots))
        _require(not wrong.any(), f"there is no robot {pairs[wrong][:1, column].sum()}: there are {len(robots)}.")
    drafts = [_Draft(robot) for robot in robots]
    bonds: list[tuple[np.ndarray, np.ndarray]] = []
    edges = np.flatnonzero((numbers[1:, :2] != numbers[:-1, :2]).any(axis=1)) + 1
    for part in np.split(np.arange(len(numbers)), edges):
        kind, robot = numbers[part[0], :2].tolist()
        draft, cells = drafts[robot], numbers[part, 2:5]
        if kind == CUT:
            draft.cut(cells)
            bonds[:] = [b for b in bonds if all(drafts[e[0]].has(e[1:4]) for e in b[0])]
        elif kind == ADD:
            draft.add(cells, numbers[part, 5], log.values[part])
        else:
            for row in part:
                _join(kind, numbers[row], log.values[row], drafts, bonds)
    robots_now = tuple(draft.robot(number) for number, draft in enumerate(drafts))
    return Changed(robots_now, tuple(draft.openings() for draft in drafts), _gathered(bonds))


def _join(
    kind: int, row: np.ndarray, values: np.ndarray, drafts: list[_Draft], bonds: list[tuple[np.ndarray, np.ndarray]]
) -> None:
    """Make or remove what joins two voxels."""
    ends = np.stack([row[1:5], row[5:9]])
    for robot, *cell in ends.tolist():
        drafts[robot].require(np.array([cell]))
    pair = {tuple(end) for end in ends.tolist()}
    _require(len(pair) == 2, "a voxel cannot be attached to itself.")
    there = [k for k, (other, _) in enumerate(bonds) if {tuple(end) for end in other[:, :4].tolist()} == pair]
    if kind == ATTACH:
        _require(not there, f"voxels {ends[0, 1:].tolist()} and {ends[1, 1:].tolist()} are attached already.")
        drafts[ends[0, 0]].require_apart(*ends.tolist())
        bonds.append((np.column_stack([ends, [row[9], row[9]]]), values))
    elif there:
        del bonds[there[0]]
    else:
        drafts[ends[0, 0]].open(*ends.tolist())


def _gathered(bonds: list[tuple[np.ndarray, np.ndarray]]) -> Bonds:
    if not bonds:
        return NO_BONDS
    ends, values = np.stack([b[0] for b in bonds]), np.stack([b[1] for b in bonds])
    return Bonds(ends[:, :, :4], values[:, :4], values[:, 4:7], ends[:, 0, 4], values[:, 7])


class _Draft:
    """A robot while a log is applied."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._grid = np.array(robot.grid)
        self._numbers = {name: np.array(vars(robot)[name]) for name in PER_VOXEL}
        self._opened: set[tuple[int, ...]] = set()
        self._touched = False

    def has(self, cell: Any) -> bool:
        """Whether there is a voxel in a cell."""
        return bool(self._there(np.asarray([cell]))[0])

    def require(self, cells: np.ndarray) -> None:
        """Refuse cells without a voxel."""
        there = self._there(cells)
        _require(there.all(), f"there is no voxel in cell {_first(cells[~there])}.")

    def cut(self, cells: np.ndarray) -> None:
        """Remove voxels, and what was known of their links: others that come into their cells have all of theirs."""
        self.require(cells)
        self._grid[tuple(cells.T)] = -1
        ends = ((key, (*key[:3],), (*np.add(key[:3], np.eye(3, dtype=int)[key[3]]),)) for key in self._opened)
        self._opened = {key for key, lower, upper in ends if self.has(lower) and self.has(upper)}
        self._touched = True

    def add(self, cells: np.ndarray, materials: np.ndarray, values: np.ndarray) -> None:
        """Add voxels in empty cells that share a face with others; the grid grows where it must."""
        before = (cells < 0).any(axis=1)
        remedy = "build the robot with empty cells there."
        _require(not before.any(), f"cell {_first(cells[before])} lies before the grid: {remedy}")
        known = len(self._robot.materials)
        wrong = (materials < 0) | (materials >= known)
        _require(not wrong.any(), f"there is no material {materials[wrong][:1].sum()}: the robot has {known}.")
        beyond = np.maximum(cells.max(axis=0) + 1 - self._grid.shape, 0)
        _require(
            ((beyond <= len(cells)) & (cells.max(axis=0) < 1 << 30)).all(),
            "added voxels must share a face with voxels that are there.",
        )
        pad = [(0, int(n)) for n in beyond]
        self._grid = np.pad(self._grid, pad, constant_values=-1)
        self._numbers = {name: np.pad(of, pad, mode="edge") for name, of in self._numbers.items()}
        taken = self._there(cells)
        _require(not taken.any(), f"cell {_first(cells[taken])} has a voxel already.")
        old = self._grid >= 0
        self._grid[tuple(cells.T)] = materials
        for column, name in enumerate(PER_VOXEL):
            self._numbers[name][tuple(cells.T)] = values[:, column]
        labels, _ = ndimage.label(self._grid >= 0)
        alone = ~np.isin(labels[tuple(cells.T)], np.unique(labels[old]))
        _require(not alone.any(), f"the voxel added in cell {_first(cells[alone])} must share a face with one there.")
        self._touched = True

    def open(self, first: list[int], second: list[int]) -> None:
        """Remove the link between two neighbours."""
        step = np.array(second[1:]) - first[1:]
        joined = first[0] == second[0] and np.abs(step).sum() == 1
        lower = first[1:] if step.sum() > 0 else second[1:]
        key = (*lower, int(np.argmax(np.abs(step))))
        _require(joined and key not in self._opened, f"voxels {first[1:]} and {second[1:]} are not joined.")
        self._opened.add(key)
        self._touched = True

    def require_apart(self, first: list[int], second: list[int]) -> None:
        """Refuse to attach neighbours that a link joins."""
        if first[0] == second[0] and np.abs(np.array(second[1:]) - first[1:]).sum() == 1:
            low = np.minimum(first[1:], second[1:]).tolist()
            key = (*low, int(np.argmax(np.abs(np.array(second[1:]) - first[1:]))))
            _require(key in self._opened, f"voxels {first[1:]} and {second[1:]} are joined already.")

    def openings(self) -> np.ndarray:
        """Links that are gone, of voxels that are left."""
        rows = [key for key in sorted(self._opened) if self.has(key[:3])]
        return np.array(rows, int).reshape(-1, 4)

    def robot(self, number: int) -> Robot:
        """The robot as it is now."""
        if not self._touched:
            return self._robot
        _require((self._grid >= 0).any(), f"robot {number} would have no voxels left.")
        cells = np.argwhere(self._grid >= 0)
        place = np.full(self._grid.shape, -1)
        place[tuple(cells.T)] = np.arange(len(cells))
        now = place[tuple(self._robot.cells.T)]  # of voxels as they were built
        holds = [replace(h, voxels=v) for h in self._robot.holds if len(v := _left(now, h.voxels))]
        pushes = [
            replace(p, voxels=v, force=_share(p.force, v, p.voxels), moment=_share(p.moment, v, p.voxels))
            for p in self._robot.pushes
            if len(v := _left(now, p.voxels))
        ]
        return replace(
            self._robot, grid=self._grid, holds=tuple(holds), pushes=tuple(pushes), whole=False,
            amplitude=self._numbers["amplitude"], frequency=self._numbers["frequency"], phase=self._numbers["phase"],
            temperature=self._numbers["temperature"], stiffness=self._numbers["stiffness"],
        )  # fmt: skip

    def _there(self, cells: np.ndarray) -> np.ndarray:
        inside = np.all((cells >= 0) & (cells < np.array(self._grid.shape)), axis=1)
        kept = np.where(inside[:, None], cells, 0)
        return np.asarray(inside & (self._grid[tuple(kept.T)] >= 0))


def _first(cells: np.ndarray) -> tuple[int, ...]:
    """The first of some cells, for a message; there may be none."""
    return tuple(cells[:1].ravel().tolist())


def _left(now: np.ndarray, voxels: np.ndarray) -> np.ndarray:
    """New numbers of those of some voxels that are left."""
    return now[voxels][now[voxels] >= 0]


def _share(vector: Any, left: np.ndarray, all_voxels: np.ndarray) -> Any:
    """What is left of a load that some voxels carried in equal shares."""
    return tuple(float(v) * len(left) / len(all_voxels) for v in vector)


def _require(holds: Any, message: str) -> None:
    if not holds:
        raise InvalidValue(message)
