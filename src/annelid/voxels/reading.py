"""Sensors of simulations of voxel robots: where a robot is, has been, how it moves and turns, what its voxels sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import whole_numbers
from annelid.core.errors import InvalidValue
from annelid.core.replay import Launcher
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.core.state_view import Members, Parts, StateView, VectorSensor, require_robot
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.whole import inputs_kernel, places_kernel, read_peaks
from annelid.voxels.model import Model
from annelid.voxels.solver import Solver

Cells = Sequence[tuple[int, int]]
"""Cells (x, y) of voxels."""


def _view(solver: Solver, sensor: VectorSensor) -> StateView:
    """Masses of voxels, or the centres of these where each is read by itself, as sensors read them."""
    model, device, turned = solver.model, solver.device, sensor.quantity == "turn"
    _, representatives, kind_of = np.unique(model.shape_of, return_index=True, return_inverse=True)
    found = [_members(model, world, sensor) for world in representatives.tolist()]
    parts = [found[kind] for kind in kind_of.ravel().tolist()]
    if sensor.each and len({len(masses) for masses, _, _ in parts}) > 1:
        raise InvalidValue("voxels that are read one by one must be as many in each world: name cells that all have.")
    weights, rests = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    corners = np.concatenate([4 * first + part[0] for first, part in zip(model.first_voxel, parts, strict=False)])
    width = 4 if sensor.each else 1
    begins = np.cumsum([0, *(len(masses) // width for masses, _, _ in parts)])
    members = Members(
        device,
        [np.arange(first, last) for first, last in pairwise(begins)],
        each=sensor.each,
        weights=None if turned or sensor.each else weights,
        rests=np.pad(weights[:, None] * rests, ((0, 0), (0, 1))) if turned else None,
    )
    readout = solver.readout
    fixed = [
        wp.array(readout.corner_bodies[corners].astype(np.int32), dtype=wp.int32, device=device),
        wp.array(readout.mass_arms[corners], dtype=layout(model.real).vec2, device=device),
        width,
    ]
    vectors = wp.zeros(len(corners) // width, dtype=wp.vec2d, device=device)
    kernel, launcher = places_kernel(model.real, sensor.quantity == "velocity"), Launcher(device, kept=2)

    def read(state: Any) -> wp.array[Any]:
        launcher.launch(kernel, len(vectors), [*fixed, state.positions, state.velocities, vectors])
        return vectors

    return StateView(lambda: members, read, size=2, parts=1)


def _members(model: Model, world: int, sensor: VectorSensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses of the voxels of a world that are read, their shares of the mass, and their places at rest [m]."""
    place = sensor.robot or 0
    number = _robot_number(model, world, place)
    robot, ahead = model.robots[number], model.worlds[world][:place]
    cells = robot.cells if sensor.where is None else _as_cells(sensor.where)
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
        own, _ = side_of(solver, Solver, "the voxels' sensors")
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
        own, _ = side_of(solver, Solver, "how high a robot has been")
        if not own.model.world.watch:
            raise InvalidValue("how high a robot has been is kept only where the simulation has watch=True.")
        if len(own.model.robots) != own.worlds:
            raise InvalidValue("how high a robot has been can be read where each world has one robot.")

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            inputs = [state.peaks, own.readout.device_totals(state), first]
            wp.launch(read_peaks, own.worlds, inputs, [out], device=own.device)

        return Reading(read, (1,), "m")


ROBOTS: Parts[Cells] = Parts("robots", (Solver,), _view, robots=True)
position_of, velocity_of, orientation_of = ROBOTS.position_of, ROBOTS.velocity_of, ROBOTS.orientation_of


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
    require_robot(robot, len(model.worlds[world]), world)
    return int(model.first_robot[world]) + robot
