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
from annelid.core.kernels.sums import PARTS, Sums, finish_mean, finish_sum, finish_turn
from annelid.core.options import require_truth
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.core.state_view import Members, Parts, StateView, VectorSensor, require_robot
from annelid.voxels3d.kernels.sensing import ENERGY, STRAIN, TOUCH, TURN, reading_kernel
from annelid.voxels3d.model import Model
from annelid.voxels3d.regions import Where, chosen, numbers_of
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.solver import Solver

_KINDS = {"turn": TURN, "touch": TOUCH, "strain": STRAIN}


def _view(solver: Solver, sensor: VectorSensor) -> StateView:
    """Voxels as sensors read them."""
    part = _Part(solver, sensor.where, each=sensor.each, robot=sensor.robot)
    there = part.now().voxels.reshape(solver.worlds, -1) >= 0 if sensor.each else None
    if sensor.quantity == "velocity":
        return StateView(lambda: part.now().moving, lambda state: state.velocities, there=there)
    return StateView(lambda: part.now().placed, lambda state: state.displacements, there=there)


@dataclass(frozen=True, eq=False)
class PartSensor(Sensor):
    """Reads how a part of each robot has turned, stretches or touches; made by `strain_of` and its like.

    Attributes:
        quantity: "turn", "strain" or "touch".
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
        kind, shape = _KINDS[self.quantity], there.shape
        none = wp.zeros((0, 0), dtype=Sums, device=own.device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            part.now().read(own, state, kind, 1, first, none, out, shape)

        return Reading(read, (shape[1],), there=None if there.all() else there)

    def _of_part(self, own: Solver, part: _Part) -> Reading:
        quantity, device = self.quantity, own.device
        sums = wp.zeros((own.worlds, PARTS), dtype=Sums, device=device)
        none = wp.zeros((0, 0), dtype=wp.float32, device=device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            members = part.now()
            members.read(own, state, _KINDS[quantity], 0, 0, sums, none, sums.shape)
            if quantity == "turn":
                wp.launch(finish_turn, own.worlds, [sums, first], [out], device=device)
            elif quantity == "strain":
                wp.launch(finish_mean, own.worlds, [sums, 0, 1, 1, np.nan, first], [out], device=device)
            else:
                wp.launch(
                    finish_sum, own.worlds, [sums, members.moving.selected.scales, 0, 1, first], [out], device=device
                )

        return Reading(read, (4,), "", ("x", "y", "z", "w")) if quantity == "turn" else Reading(read, (1,))


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
        robot: Number of the robot in its world; None for all of them.
    """

    def __init__(self, solver: Solver, where: Where | None, *, each: bool = False, robot: int | None = None) -> None:
        self._solver, self._where, self._each, self._robot = solver, where, each, robot
        model = solver.model
        if robot is not None:
            require_robot(robot, model.group, 0)
        distinct = {id(one): one for one in model.robots}
        found = {key: _chosen(one, where) for key, one in distinct.items()}
        numbers = self._own([found[id(one)] for one in model.robots])
        stays = each or not (where is None or callable(where))
        self._cells = [robot.cells[some] for robot, some in zip(model.robots, numbers, strict=True)] if stays else None
        if self._cells is not None and each:
            self._cells = _side_by_side(self._cells, model.group)
            pairs = zip(self._cells, model.robots, strict=True)
            numbers = [numbers_of(cells, robot.cells) for cells, robot in pairs]
        self._members = _Members(model, numbers, each=each)

    def now(self) -> _Members:
        """The voxels of the part."""
        model = self._solver.model
        if self._members.model is not model:
            if self._cells is None:
                numbers = self._own([_chosen(robot, self._where, edited=True) for robot in model.robots])
            else:
                pairs = zip(self._cells, model.robots, strict=True)
                numbers = [numbers_of(cells, robot.cells) for cells, robot in pairs]
            left = [some if self._each else some[some >= 0] for some in numbers]
            self._members = _Members(model, left, each=self._each)
        return self._members

    def _own(self, numbers: list[np.ndarray]) -> list[np.ndarray]:
        """Voxels of the robot that is meant, and none of the others."""
        group, robot = self._solver.model.group, self._robot
        return [some if robot in (None, k % group) else some[:0] for k, some in enumerate(numbers)]


class _Members:
    """Voxels of a part in each world.

    Args:
        model: The model.
        numbers: Those of each robot, from its first voxel on; -1 where one is gone.
        each: Whether they are read one by one.
    """

    def __init__(self, model: Model, numbers: list[np.ndarray], *, each: bool) -> None:
        self.model = model
        counts = np.array([len(some) for some in numbers]).reshape(-1, model.group).sum(axis=1)
        self.first = np.concatenate([[0], np.cumsum(counts)])
        placed = zip(model.first_voxel, numbers, strict=False)
        self.voxels = np.concatenate([np.where(some < 0, -1, first + some) for first, some in placed])
        self.inside = np.zeros(model.voxel_count + 1, np.int32)  # and the voxel that closes the list
        self.inside[self.voxels[self.voxels >= 0]] = 1
        # The mean of nothing is not a number.
        scales = 1.0 if each else np.divide(1.0, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        rows = np.split(self.voxels, self.first[1:-1])
        self.moving = Members(model.device, rows, each=each, scales=scales)
        self.placed = Members(model.device, rows, each=each, scales=scales, origins=model.tables.places)
        self._inside = wp.array(self.inside, dtype=wp.int32, device=model.device)

    def read(
        self, own: Solver, state: Any, kind: int, each: int, first: int, sums: Any, out: Any, shape: tuple[int, ...]
    ) -> None:
        """Sum a quantity over the members into `sums`, or write `each` numbers of every one into `out`."""
        begins, rows = self.moving.selected.begins, self.moving.selected.rows
        inputs = [kind, each, begins, rows, self._inside, own.model.tables, own.bound(state), first]
        kernel = reading_kernel(own.model.real, own.model.kinds, own.model.moves[0])
        wp.launch(kernel, shape, inputs, [sums, out], device=own.device)

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


VOXELS: Parts[Where] = Parts("3-D voxels", (Solver,), _view, robots=True)
position_of, velocity_of = VOXELS.position_of, VOXELS.velocity_of


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
