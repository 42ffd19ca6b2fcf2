"""Sensors of 3-D voxels: where parts of robots are, how they move, turn and stretch, what they touch, and energies.

Each world may have a robot of its own: a part is chosen in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import AddEnergies, EnergyKind, EnergySensor
from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Sums, finish_mean, finish_turn
from annelid.core.options import require_truth
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.voxels3d.kernels.sensing import (
    ENERGY,
    POSITION,
    STRAIN,
    TOUCH,
    TURN,
    VELOCITY,
    reading_kernel,
    scaled_sum,
)
from annelid.voxels3d.model import Model
from annelid.voxels3d.regions import Where, chosen, numbers_of
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.solver import Solver

_XYZ = ("x", "y", "z")
_UNITS = {"position": "m", "velocity": "m/s"}
_KINDS = {"position": POSITION, "velocity": VELOCITY, "turn": TURN, "touch": TOUCH, "strain": STRAIN}


@dataclass(frozen=True, eq=False)
class PartSensor(Sensor):
    """Reads a quantity of a part of each robot, or of each voxel of it; made by `position_of` and its like.

    Attributes:
        quantity: "position", "velocity", "turn", "strain" or "touch".
        where: Which voxels; None for all.
        each: Whether every voxel is read by itself.
    """

    quantity: str
    where: Where | None = None
    each: bool = False

    def __post_init__(self) -> None:
        require_truth("each", self.each)

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of 3-D voxels."""
        own, _ = side_of(solver, Solver, f"{self.quantity} of 3-D voxels")
        if self.quantity == "touch" and own.model.world.sand is not None:
            raise InvalidValue("touch_of cannot tell what a ResistiveGround does yet: leave it out, or use a Plane.")
        part = _Part(own, self.where, each=self.each)
        if self.quantity == "strain" and not part.now().linked():
            raise InvalidValue("a sensor of strain needs two neighbouring voxels among those that were chosen.")
        return self._of_each(own, part) if self.each else self._of_part(own, part)

    def _of_each(self, own: Solver, part: _Part) -> Reading:
        there = part.now().voxels.reshape(own.worlds, -1) >= 0
        size = 3 if self.quantity in _UNITS else 1
        kind, shape = _KINDS[self.quantity], there.shape
        none = wp.zeros((0, 0), dtype=Sums, device=own.device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            part.now().read(own, state, kind, size, first, none, out, shape)

        missing = None if there.all() else np.repeat(there, size, axis=1)
        return Reading(read, (size * shape[1],), _UNITS.get(self.quantity, ""), there=missing)

    def _of_part(self, own: Solver, part: _Part) -> Reading:
        quantity, device = self.quantity, own.device
        sums = wp.zeros((own.worlds, PARTS), dtype=Sums, device=device)
        none = wp.zeros((0, 0), dtype=wp.float32, device=device)
        parts = {"turn": (*_XYZ, "w"), "touch": (), "strain": ()}.get(quantity, _XYZ)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            members = part.now()
            members.read(own, state, _KINDS[quantity], 0, 0, sums, none, sums.shape)
            if quantity == "turn":
                wp.launch(finish_turn, own.worlds, [sums, first], [out], device=device)
            elif quantity == "strain":
                wp.launch(finish_mean, own.worlds, [sums, first], [out], device=device)
            else:
                count = max(1, len(parts))
                wp.launch(scaled_sum, own.worlds, [sums, members.scale, count, first], [out], device=device)

        return Reading(read, (max(1, len(parts)),), _UNITS.get(quantity, ""), parts)


def _energies(solver: Solver, where: Where | None) -> AddEnergies:
    """Sums over voxels; see `EnergySensor`."""
    part = _Part(solver, where)
    none = wp.zeros((0, 0), dtype=wp.float32, device=solver.device)
    return lambda state, sums: part.now().read(solver, state, ENERGY, 0, 0, sums, none, sums.shape)


class _Part:
    """A part of robots; where a function tells it, it is chosen again when they were edited.

    Args:
        solver: The solver.
        where: Which voxels of each robot; None for all.
        each: Whether its voxels are read one by one: then they stay those that it had at the beginning.
    """

    def __init__(self, solver: Solver, where: Where | None, *, each: bool = False) -> None:
        self._solver, self._where, self._each = solver, where, each
        model = solver.model
        distinct = {id(robot): robot for robot in model.robots}
        found = {key: _chosen(robot, where) for key, robot in distinct.items()}
        numbers = [found[id(robot)] for robot in model.robots]
        stays = each or not (where is None or callable(where))
        self._cells = [robot.cells[some] for robot, some in zip(model.robots, numbers, strict=True)] if stays else None
        if self._cells is not None and each:
            self._cells = _side_by_side(self._cells, model.group)
            pairs = zip(self._cells, model.robots, strict=True)
            numbers = [numbers_of(cells, robot.cells) for cells, robot in pairs]
        self._members = _Members(model, numbers)

    def now(self) -> _Members:
        """The voxels of the part."""
        model = self._solver.model
        if self._members.model is not model:
            if self._cells is None:
                numbers = [_chosen(robot, self._where, edited=True) for robot in model.robots]
            else:
                pairs = zip(self._cells, model.robots, strict=True)
                numbers = [numbers_of(cells, robot.cells) for cells, robot in pairs]
            self._members = _Members(model, [some if self._each else some[some >= 0] for some in numbers])
        return self._members


class _Members:
    """Voxels of a part in each world.

    Args:
        model: The model.
        numbers: Those of each robot, from its first voxel on; -1 where one is gone.
    """

    def __init__(self, model: Model, numbers: list[np.ndarray]) -> None:
        self.model = model
        counts = np.array([len(some) for some in numbers]).reshape(-1, model.group).sum(axis=1)
        self.first = np.concatenate([[0], np.cumsum(counts)])
        placed = zip(model.first_voxel, numbers, strict=False)
        self.voxels = np.concatenate([np.where(some < 0, -1, first + some) for first, some in placed])
        self.inside = np.zeros(model.voxel_count + 1, np.int32)  # and the voxel that closes the list
        self.inside[self.voxels[self.voxels >= 0]] = 1
        device = model.device
        self.arrays = [
            wp.array(values.astype(np.int32), dtype=wp.int32, device=device)
            for values in (self.first, self.voxels, self.inside)
        ]
        # The mean of nothing is not a number.
        scale = np.divide(1.0, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        self.scale = wp.array(scale, dtype=wp.float64, device=device)

    def read(
        self, own: Solver, state: Any, kind: int, each: int, first: int, sums: Any, out: Any, shape: tuple[int, ...]
    ) -> None:
        """Sum a quantity over the members into `sums`, or write `each` numbers of every one into `out`."""
        inputs = [kind, each, *self.arrays, own.model.tables, own.bound(state), first]
        wp.launch(
            reading_kernel(own.model.real, own.model.kinds, own.model.moving),
            shape,
            inputs,
            [sums, out],
            device=own.device,
        )

    def linked(self) -> bool:
        """Whether every world has a link between two members."""
        beyond = self.model.tables.next.numpy().reshape(-1, 3)[self.voxels]
        joined = ((beyond >= 0) & (self.inside[beyond] == 1)).any(axis=1) & (self.voxels >= 0)
        return bool(np.logical_or.reduceat(joined, self.first[:-1]).all())


def _side_by_side(cells: list[np.ndarray], group: int) -> list[np.ndarray]:
    """As many cells of each robot as of its like in other worlds, sorted; (-1, -1, -1) where a robot has it not."""
    found: list[np.ndarray] = [np.zeros((0, 3), int)] * len(cells)
    for first in range(group):
        own = cells[first::group]
        alike = all(one is own[0] or np.array_equal(one, own[0]) for one in own)
        every = own[0] if alike else np.unique(np.concatenate(own), axis=0)
        for k, one in enumerate(own):
            found[first + k * group] = every if alike else np.where(numbers_of(every, one)[:, None] >= 0, every, -1)
    return found


def _chosen(robot: Robot, where: Where | None, *, edited: bool = False) -> np.ndarray:
    """Voxels of a robot that are meant; none where an edit has removed them all."""
    if where is None:
        return np.arange(robot.voxel_count)
    if edited and callable(where) and not np.any(where(*robot.cells.T)):
        return np.zeros(0, int)
    return chosen(where, robot.cells, robot.grid.shape)


def position_of(where: Where | None = None, *, each: bool = False) -> Sensor:
    """Mean centre of voxels [m], x, y, z: of all, or of a part (see `Where`); with `each` the centre of every one."""
    return PartSensor("position", where, each)


def velocity_of(where: Where | None = None, *, each: bool = False) -> Sensor:
    """Mean velocity of voxels [m/s], x, y, z; with `each` that of every one."""
    return PartSensor("velocity", where, each)


def orientation_of(where: Where | None = None) -> Sensor:
    """How voxels have turned since they were built, in the mean: a quaternion x, y, z, w."""
    return PartSensor("turn", where)


def strain_of(where: Where | None = None, *, each: bool = False) -> Sensor:
    """Mean strain of the links between voxels, against their lengths as built; with `each` of every one's links."""
    return PartSensor("strain", where, each)


def touch_of(where: Where | None = None, *, each: bool = False) -> Sensor:
    """The share of voxels that touch an obstacle, from 0 to 1; with `each` whether every one does."""
    return PartSensor("touch", where, each)


def energy_of(where: Where | None = None, *, kind: EnergyKind = "total") -> Sensor:
    """Energy of voxels [J], and of the links around them, which count half where one end is not among the voxels.

    Args:
        where: Which voxels; None for all.
        kind: "kinetic", "rotational" (a part of it), "elastic", "gravitational" (0 at the origin) or "total".
    """
    return EnergySensor(kind, (Solver,), "3-D voxels", partial(_energies, where=where))
