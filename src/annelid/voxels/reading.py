"""Sensors of simulations of voxel robots: where a robot is, has been, how it moves and turns, what its voxels sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import whole_numbers
from annelid.core.errors import InvalidValue
from annelid.core.sensors import Reading, Sensor
from annelid.core.solver import Solver as AnySolver
from annelid.voxels.kernels.whole import inputs_kernel, read_peaks, whole_kernel
from annelid.voxels.model import Model
from annelid.voxels.solver import Solver

Cells = Sequence[tuple[int, int]] | None
"""Cells (x, y) of voxels; None for all of a robot."""


@dataclass(frozen=True, eq=False)
class RobotSensor(Sensor):
    """Reads a quantity of a robot, or of some of its voxels; made by `position_of` and its like.

    Attributes:
        quantity: "position", "velocity" or "turn".
        cells: Cells of the voxels.
        robot: Number of the robot in its world.
    """

    quantity: str
    cells: Cells = None
    robot: int = 0

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of voxels."""
        own = _of_voxels(solver, f"{self.quantity} of a robot")
        model, device = own.model, own.device
        _, representatives, kind_of = np.unique(model.shape_of, return_index=True, return_inverse=True)
        members = [self._members(model, world) for world in representatives.tolist()]
        parts = [members[kind] for kind in kind_of.ravel().tolist()]
        counts = [len(masses) for masses, _, _ in parts]
        begins = wp.array(np.concatenate([[0], np.cumsum(counts)]), dtype=wp.int32, device=device)
        masses, weights, rests = (np.concatenate([part[i] for part in parts]) for i in range(3))
        fixed = [
            begins,
            wp.array(masses.astype(np.int32), dtype=wp.int32, device=device),
            wp.array(weights, dtype=wp.float64, device=device),
            wp.array(rests, dtype=wp.vec2d, device=device),
            model.tables,
        ]
        kernel = whole_kernel(model.real, self.quantity)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            inputs = [*fixed, state.positions, state.velocities, first]
            wp.launch(kernel, own.worlds, inputs, [out], device=device)

        if self.quantity == "turn":
            return Reading(read, (1,), "rad")
        return Reading(read, (2,), "m/s" if self.quantity == "velocity" else "m", ("x", "z"))

    def _members(self, model: Model, world: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Masses of the voxels of a world that are read, their shares of the mass, and their places at rest [m]."""
        number = _robot_number(model, world, self.robot)
        robot, ahead = model.robots[number], model.worlds[world][: self.robot]
        cells = robot.cells if self.cells is None else _as_cells(self.cells)
        numbers = {tuple(cell): i for i, cell in enumerate(robot.cells.tolist())}
        for cell in cells.tolist():
            if tuple(cell) not in numbers:
                raise InvalidValue(f"robot {number} has no voxel in cell {tuple(cell)} that a sensor could read.")
        if len(cells) == 0:
            raise InvalidValue("a sensor needs at least one voxel.")
        within = np.array([numbers[tuple(cell)] for cell in cells.tolist()]) + sum(r.voxel_count for r in ahead)
        masses = (4 * within[:, None] + np.arange(4)).ravel()
        shape = model.shapes[model.shape_of[world]]
        places = shape.centers[shape.mass_body[masses]] + shape.mass_arm[masses]
        each = np.repeat([robot.materials[robot.grid[x, y]].mass for x, y in cells.tolist()], 4)
        weights = each / each.sum()
        return masses, weights, places - weights @ places


@dataclass(frozen=True, eq=False)
class InputSensor(Sensor):
    """Reads all sensors of the voxels of a robot; made by `readings_of`."""

    robot: int = 0

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of voxels."""
        own = _of_voxels(solver, "the voxels' sensors")
        model, device = own.model, own.device
        numbers = [_robot_number(model, world, self.robot) for world in range(len(model.worlds))]
        counts = {len(model.robots[number].inputs) for number in numbers}
        if len(counts) > 1 or 0 in counts:
            raise InvalidValue(
                "the voxels' sensors can be read where robots have some, and as many in every world, not "
                f"{' or '.join(map(str, sorted(counts)))}: build robots with sensors=[...]."
            )
        (count,) = counts
        starts = wp.array(model.bank.first_inputs[numbers].astype(np.int32), dtype=wp.int32, device=device)
        kernel = inputs_kernel(model.real)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            wp.launch(kernel, (own.worlds, count), [starts, own.look(state), first], [out], device=device)

        cells = model.robots[numbers[0]].cells
        parts = (f"{x},{y} {s.kind}" for (x, y), s in ((cells[v], s) for v, s in model.robots[numbers[0]].inputs))
        return Reading(read, (count,), "", _distinct(parts))


@dataclass(frozen=True, eq=False)
class PeakSensor(Sensor):
    """Reads how high a robot has been; made by `highest`."""

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of voxels."""
        own = _of_voxels(solver, "how high a robot has been")
        if not own.model.world.watch:
            raise InvalidValue("how high a robot has been is kept only where the simulation has watch=True.")
        if len(own.model.robots) != own.worlds:
            raise InvalidValue("how high a robot has been can be read where each world has one robot.")

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            inputs = [state.peaks, own.readout.device_totals(state), first]
            wp.launch(read_peaks, own.worlds, inputs, [out], device=own.device)

        return Reading(read, (1,), "m")


def position_of(cells: Cells = None, *, robot: int = 0) -> Sensor:
    """Centre of mass of a robot, or of voxels of it, x and z [m].

    Args:
        cells: Cells (x, y) of the voxels; None for all.
        robot: Number of the robot in its world.
    """
    return RobotSensor("position", cells, robot)


def velocity_of(cells: Cells = None, *, robot: int = 0) -> Sensor:
    """Velocity of the centre of mass of a robot, or of voxels of it, along x and z [m/s]; see `position_of`."""
    return RobotSensor("velocity", cells, robot)


def orientation_of(cells: Cells = None, *, robot: int = 0) -> Sensor:
    """Angle by which a robot, or voxels of it, have turned from x to z [rad], from -π to π; see `position_of`."""
    return RobotSensor("turn", cells, robot)


def readings_of(*, robot: int = 0) -> Sensor:
    """What the sensors of the voxels of a robot read, voxel by voxel in the order of `robot.inputs`.

    Args:
        robot: Number of the robot in its world.
    """
    return InputSensor(robot)


def highest() -> Sensor:
    """Highest place of the centre of a robot since it began [m], where the simulation has watch=True."""
    return PeakSensor()


def _distinct(names: Any) -> tuple[str, ...]:
    """Names in which those that come again are numbered."""
    found: dict[str, int] = {}
    result = []
    for name in names:
        found[name] = found.get(name, 0) + 1
        result.append(name if found[name] == 1 else f"{name} {found[name]}")
    return tuple(result)


def _as_cells(given: Any) -> np.ndarray:
    """Columns and rows of cells, shape [n, 2]."""
    cells = whole_numbers("cells that a sensor reads", given)
    if cells.ndim not in (1, 2) or cells.shape[-1] != 2:
        raise InvalidValue(f"cells that a sensor reads must be pairs, [(column, row), …], not {given!r:.60}.")
    return cells.astype(int).reshape(-1, 2)


def _robot_number(model: Model, world: int, robot: int) -> int:
    count = len(model.worlds[world])
    if isinstance(robot, bool) or not isinstance(robot, int | np.integer):
        raise InvalidValue(f"a robot is named by its number in its world, from 0 to {count - 1}, not by {robot!r:.60}.")
    if not 0 <= robot < count:
        raise InvalidValue(f"world {world} has the robots 0 to {count - 1}, not {robot}.")
    return int(model.first_robot[world]) + robot


def _of_voxels(solver: AnySolver, what: str) -> Solver:
    if isinstance(solver, Solver):
        return solver
    raise InvalidValue(f"{what} cannot be read from a simulation of {solver.physics}.")
