"""Edits of running robots: voxels that are cut away and added, and pairs of them that are attached and detached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.arrays import array_or_none
from annelid.core.device import undisturbed
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.gate import Gate
from annelid.core.numbers import is_number, is_whole
from annelid.voxels3d.changes import ADD, ATTACH, CUT, DETACH, PER_VOXEL, Log
from annelid.voxels3d.model import Model
from annelid.voxels3d.regions import Where, chosen

Cell = Sequence[int]


class EditedSolver(Protocol):
    """What an edit asks of the solver; `voxels3d.Solver` has it.

    Attributes:
        model: The model.
        device: Where it computes.
    """

    model: Model
    device: wp.Device

    def install(self, log: Log, states: Sequence[Any]) -> None:
        """Add changes to those of before, between two steps; nothing is changed if they are refused."""
        ...


class Editor:
    """Collects the changes of one edit: `with simulation.edit() as e: ...`; they are made in the order of the calls.

    Voxels are told by their cells, which keep their names, and by the number of their robot. Cells of a function or an
    array are those that the robot has when the edit begins.
    """

    def __init__(self, solver: EditedSolver, states: Sequence[Any]) -> None:
        self._solver, self._states = solver, states
        self._log = Log()
        self._over = False

    def cut(self, where: Where, *, robot: int = 0) -> None:
        """Remove voxels: those for which a function of the cells x, y, z is true, or those in cells; see `Where`."""
        self._require_open()
        self._log += Log.rows(CUT, robot, self._cells(where, robot))

    def add(self, cells: Any, *, robot: int = 0, material: int = 0, **numbers: float) -> None:
        """Add voxels in empty cells, shape [k, 3], that share faces with voxels of a robot.

        They join the lattice as its voxels stand now. `numbers` are `amplitude`, `frequency`, `phase`, `temperature`
        and `stiffness`, as of a robot; voxels that are added follow no commands.
        """
        self._require_open()
        self._require_robot(robot)
        places = np.atleast_2d(array_or_none(cells))
        count = len(self._solver.model.robots[robot].materials)
        if not (is_whole(material, 0) and material < count):
            raise InvalidValue(f"there is no material {material!r:.60}: robot {robot} has {count}, numbered from 0.")
        if places.ndim != 2 or places.shape[1:] != (3,) or places.dtype.kind not in "iu" or not len(places):
            raise InvalidValue(f"cells of new voxels must be whole numbers of shape [k, 3], not {cells!r:.60}.")
        for name, value in numbers.items():
            if name not in PER_VOXEL:
                raise InvalidValue(f"an added voxel has no {name!r}; it has {', '.join(PER_VOXEL)}.")
            if not is_number(value):
                raise InvalidValue(f"{name} of an added voxel must be a finite number, not {value!r:.60}.")
        values = [float(numbers.get(name, name == "stiffness")) for name in PER_VOXEL]
        self._log += Log.rows(ADD, robot, places, [material], values)

    def attach(self, first: Cell, second: Cell, *, robots: tuple[int, int] = (0, 0), rise: float = 0.0) -> None:
        """Join two voxels, of one robot or of two in the same world, by a bond: a link that rests as they stand now.

        Only its length is that of a link, the mean of the sizes; `rise` [s] lets it grow to its strength gradually.
        """
        self._require_open()
        if not (is_number(rise) and rise >= 0.0):
            raise InvalidValue(f"rise of a bond must be 0 s or more, not {rise!r:.60}.")
        one, other = self._pair(robots)
        rest = [other, *_cell(second)]
        self._log += Log.rows(ATTACH, one, np.array([_cell(first)]), rest, [0.0] * 7 + [float(rise)])

    def detach(self, first: Cell, second: Cell, *, robots: tuple[int, int] = (0, 0)) -> None:
        """Remove what joins two voxels: a bond, or the link between neighbours."""
        self._require_open()
        one, other = self._pair(robots)
        self._log += Log.rows(DETACH, one, np.array([_cell(first)]), [other, *_cell(second)])

    @contextmanager
    def collecting(self, gate: Gate) -> Iterator[Editor]:
        """The block in which changes are collected; at its end they are applied, all or none."""
        try:
            yield self
            self._over = True
            if len(self._log):
                with gate, undisturbed(self._solver.device):
                    self._solver.install(self._posed(), self._states)
        finally:
            self._over = True

    def _cells(self, where: Where, robot: int) -> np.ndarray:
        self._require_robot(robot)
        robots = self._solver.model.robots
        return robots[robot].cells[chosen(where, robots[robot].cells, robots[robot].grid.shape)]

    def _pair(self, robots: tuple[int, int]) -> tuple[int, int]:
        """The numbers of the robots of two voxels."""
        if not isinstance(robots, tuple | list) or len(robots) != 2:
            raise InvalidValue(f"robots must be the numbers of two robots, (0, 1), not {robots!r:.60}.")
        for robot in robots:
            self._require_robot(robot)
        return robots[0], robots[1]

    def _require_robot(self, robot: int) -> None:
        count = len(self._solver.model.robots)
        if not (is_whole(robot, 0) and robot < count):
            raise InvalidValue(f"there is no robot {robot!r:.60}: there are {count}.")

    def _posed(self) -> Log:
        """The log with how the voxels of bonds stand to each other now."""
        model, state = self._solver.model, self._states[0]
        numbers, values = self._log.numbers.copy(), self._log.values.copy()
        for row in np.flatnonzero(numbers[:, 0] == ATTACH):
            ends = [_found(model, numbers[row, k : k + 4]) for k in (1, 5)]
            places = model.places[ends] + state.displacements.numpy()[ends].astype(float)
            away = places[1] - places[0]
            if not np.linalg.norm(away) > 0.0:
                raise InvalidValue("two voxels at one place cannot be attached.")
            one, other = Rotation.from_quat(state.rotations.numpy()[ends].astype(float))
            values[row, :4] = (other.inv() * one).as_quat()
            values[row, 4:7] = one.inv().apply(away / np.linalg.norm(away))
            numbers[row, 9] = int(state.clock.numpy()[0])
        return Log(numbers, values)

    def _require_open(self) -> None:
        if self._over:
            raise AnnelidError("this edit is over: begin another with `with simulation.edit() as e:`.")


def _cell(cell: Cell) -> list[int]:
    found = array_or_none(cell)
    if found.shape != (3,) or found.dtype.kind not in "iu":
        raise InvalidValue(f"a voxel is told by the three whole numbers of its cell, not by {cell!r:.60}.")
    return [int(number) for number in found]


def _found(model: Model, end: np.ndarray) -> int:
    """The voxel at an end of a bond, which is there before the edit."""
    robot, *cell = end.tolist()
    if not 0 <= robot < len(model.robots):
        raise InvalidValue(f"there is no robot {robot}: there are {len(model.robots)}.")
    if not (model.robots[robot].cells == cell).all(axis=1).any():
        raise InvalidValue(f"there is no voxel in cell {tuple(cell)} of robot {robot} to attach.")
    return model.voxel_at(robot, cell)


def rows_before(old: Model, new: Model) -> np.ndarray:
    """Row that each voxel of a model had in another, -1 where it is new, shape [voxels]."""
    found = []
    for one, other, first in zip(old.robots, new.robots, old.first_voxel[:-1].tolist(), strict=True):
        number = np.full(np.maximum(one.grid.shape, other.grid.shape), -1)
        number[tuple(one.cells.T)] = first + np.arange(one.voxel_count)
        found.append(number[tuple(other.cells.T)])
    return np.concatenate(found)


def carried_over(arrays: dict[str, np.ndarray], old: Model, new: Model) -> dict[str, np.ndarray]:
    """Arrays of voxels of a state after an edit: those that were there as they are, new ones beside a neighbour.

    Args:
        arrays: Arrays of a state by name, as `Solver.install` has them.
        old: The model before.
        new: The model after.
    """
    rows = rows_before(old, new)
    there = rows >= 0
    result = {}
    for name, array in arrays.items():
        each = len(array) // old.voxel_count
        shape = (old.voxel_count, each, *array.shape[1:])
        kept = array.reshape(shape)[np.where(there, rows, 0)]
        kept[~there] = 0
        result[name] = kept.reshape(-1, *array.shape[1:])
    after, before = new.neighbours()
    _place(result, np.flatnonzero(~there), after, before, new)
    joined_anew = (after >= 0) & ~np.where(after >= 0, there[after], False)
    for name in ("largest", "offsets"):  # links to voxels that are new have not been stretched
        if len(result[name]):
            result[name].reshape(-1, 3)[joined_anew] = 0.0
    return result


def _place(arrays: dict[str, np.ndarray], added: np.ndarray, after: np.ndarray, before: np.ndarray, new: Model) -> None:
    """Put new voxels beside neighbours, which move along with them; layer by layer, until all have their place."""
    placed = np.ones(new.voxel_count, bool)
    placed[added] = False
    sides = new.of_voxels("side")
    while not placed.all():
        ready = {}
        for axis in range(3):
            for sign, table in ((-1.0, after), (1.0, before)):  # who is after it, has it on the lower side
                for voxel in np.flatnonzero(~placed & (table[:, axis] >= 0)):
                    if placed[table[voxel, axis]] and voxel not in ready:
                        ready[voxel] = table[voxel, axis], axis, sign
        if not ready:
            raise InvalidValue("a voxel that is added cannot be detached from all others in one edit: do so later.")
        for voxel, (near, axis, sign) in ready.items():
            turn = Rotation.from_quat(arrays["rotations"][near].astype(float))
            arm = turn.apply(np.eye(3)[axis] * sign * sides[voxel])
            spin = arrays["spins"][near].astype(float)
            place = new.places[near] + arrays["displacements"][near] + arm
            arrays["displacements"][voxel] = place - new.places[voxel]
            arrays["rotations"][voxel] = arrays["rotations"][near]
            arrays["velocities"][voxel] = arrays["velocities"][near] + np.cross(spin, arm)
            arrays["spins"][voxel] = arrays["spins"][near]
            placed[voxel] = True
