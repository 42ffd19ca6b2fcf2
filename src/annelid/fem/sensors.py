"""Sensors of solids and soft robots: nodes and effectors, actuators and volumes of cavities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.kernels.sums import PARTS, Sums, finish_sum, finish_turn
from annelid.core.replay import Replays
from annelid.core.sensors import Mean, Reading, Sensor, require_turn, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.hydrostatics import CavityVolume
from annelid.fem.kernels.sensing import copy_number, sum_moments, sum_vectors
from annelid.fem.robots.actuators import Chamber, Pneumatic
from annelid.fem.robots.effectors import Orientation
from annelid.fem.robots.solver import RobotSolver
from annelid.fem.solid import Solid, Where
from annelid.fem.solver import Solver

_XYZ = ("x", "y", "z")

Read = Callable[[Any, wp.array[Any], int], None]
"""Writes readings of a state into an array, from a column on; see `core.sensors.Reading`."""


@dataclass(frozen=True, eq=False)
class SolidSensor(Sensor):
    """Reads a solid or a soft robot, by itself or as a side of what steps it together with others."""

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver."""
        if isinstance(solver, Solver | RobotSolver):
            return self._reading(solver)
        own, part = side_of(solver, Solver, self._what)
        reading = self._reading(own)
        return replace(reading, read=lambda state, out, first: reading.read(part(state), out, first))

    @property
    def _what(self) -> str:
        """What it reads, for the sentence that refuses another solver."""
        raise NotImplementedError

    def _reading(self, own: Solver | RobotSolver) -> Reading:
        """The sensor of a solver of solids."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class NodeSensor(SolidSensor):
    """Reads a quantity of nodes; made by `position_of` and its like.

    Attributes:
        quantity: "position", "velocity" or "turn".
        where: Which nodes, or the name of an effector.
    """

    quantity: str
    where: Where = None

    @property
    def _what(self) -> str:
        return f"{self.quantity} of nodes"

    def _reading(self, own: Solver | RobotSolver) -> Reading:
        if self.quantity == "velocity" and not isinstance(own, DynamicSolver):
            raise InvalidValue(
                "what goes from equilibrium to equilibrium has no velocity to read: simulate a solid with "
                "fem.simulation(..., dynamic=True), or read positions."
            )
        device, worlds, count = own.device, own.worlds, own.model.node_count
        nodes, weights = self._members(own)
        members = wp.array(nodes.astype(np.int32), dtype=wp.int32, device=device)
        sums = wp.zeros((worlds, PARTS), dtype=Sums, device=device)
        if self.quantity == "turn":
            places = own.model.solid.nodes[nodes]
            require_turn(places, "nodes")
            rests = wp.array(places - places.mean(axis=0), dtype=wp.vec3d, device=device)

            def read_turn(state: Any, out: wp.array[Any], first: int) -> None:
                wp.launch(sum_moments, sums.shape, [count, members, rests, state.positions], [sums], device=device)
                wp.launch(finish_turn, worlds, [sums, first], [out], device=device)

            return Reading(read_turn, (4,), "", (*_XYZ, "w"))
        shares = wp.array(weights, dtype=wp.float64, device=device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            vectors = state.velocities if self.quantity == "velocity" else state.positions
            wp.launch(sum_vectors, sums.shape, [count, members, shares, vectors], [sums], device=device)
            wp.launch(finish_sum, worlds, [sums, 1.0, 0, 3, first], [out], device=device)

        moving = self.quantity == "velocity"
        means = (Mean("velocities" if moving else "positions", nodes, weights),)
        return Reading(read, (3,), "m/s" if moving else "m", _XYZ, means)

    def _members(self, solver: Solver | RobotSolver) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and their weights in the mean."""
        solid = solver.model.solid
        if isinstance(self.where, str) and self.where not in solid.groups and self.quantity != "turn":
            return _of_effector(solver, self.where)
        chosen = solid.indices(self.where)
        if len(chosen) == 0:
            raise InvalidValue("a sensor needs at least one node.")
        return chosen, np.full(len(chosen), 1.0 / len(chosen))


@dataclass(frozen=True, eq=False)
class ActuatorSensor(SolidSensor):
    """Reads what an actuator does; made by `effort_of` and `stroke_of`.

    Attributes:
        quantity: "effort" or "stroke".
        name: Name of the actuator.
    """

    quantity: str
    name: str

    @property
    def _what(self) -> str:
        return f"{self.quantity} of an actuator"

    def _reading(self, own: Solver | RobotSolver) -> Reading:
        number, device = _actuator_number(own, self.name), own.device
        drive = own.drives[number]
        if self.quantity == "effort":

            def read_effort(state: Any, out: wp.array[Any], first: int) -> None:
                inputs = [len(own.drives), number, first, state.efforts]
                wp.launch(copy_number, own.worlds, inputs, [out], device=device)

            return Reading(read_effort, (1,), drive.actuator.effort_unit)
        strokes = wp.zeros(drive.columns, dtype=wp.float64, device=device)
        directions = wp.zeros((own.model.node_count, drive.columns), dtype=wp.vec3d, device=device)
        replays = Replays(device)

        def read_stroke(state: Any, out: wp.array[Any], first: int) -> None:
            where = state.positions
            drive.measure(where)
            replays.run(lambda: drive.stages(where, 0, strokes, directions), where)
            wp.launch(copy_number, 1, [0, 0, first, strokes], [out], device=device)

        return Reading(_world_by_world(own, read_stroke), (1,), drive.actuator.stroke_unit)


@dataclass(frozen=True, eq=False)
class VolumeSensor(SolidSensor):
    """Reads the volume of a cavity; made by `volume_of`."""

    cavity: int | str | Cavity

    @property
    def _what(self) -> str:
        return "volume of a cavity"

    def _reading(self, own: Solver | RobotSolver) -> Reading:
        solid, device = own.model.solid, own.device
        volume = CavityVolume(self._found(own, solid), solid.nodes, device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            volume.evaluate(state.positions)
            wp.launch(copy_number, 1, [0, 0, first, volume.volume], [out], device=device)

        return Reading(_world_by_world(own, read), (1,), "m³")

    def _found(self, solver: Solver | RobotSolver, solid: Solid) -> Cavity:
        if isinstance(self.cavity, Cavity):
            return self.cavity
        if not isinstance(self.cavity, str):
            return Pneumatic(name="the sensor", cavity=self.cavity).cavity_of(solid)
        actuator = solver.drives[_actuator_number(solver, self.cavity)].actuator
        if not isinstance(actuator, Chamber):
            raise InvalidValue(f"{self.cavity} has no volume: it is a {type(actuator).__name__}; name a chamber.")
        return actuator.cavity_of(solid)


def position_of(where: Where = None) -> Sensor:
    """Mean position of nodes [m], x, y, z: all, a group, a mask, indices, a function; or that of an effector."""
    return NodeSensor("position", where)


def velocity_of(where: Where = None) -> Sensor:
    """Mean velocity of nodes [m/s], x, y, z, of a solid in motion."""
    return NodeSensor("velocity", where)


def orientation_of(where: Where = None) -> Sensor:
    """How nodes have turned since rest: a quaternion x, y, z, w of the rotation that fits them best."""
    return NodeSensor("turn", where)


def effort_of(actuator: str) -> Sensor:
    """What an actuator exerts: pressure [Pa], tension of a cable or force at a point [N]; travel of a slide [m]."""
    return ActuatorSensor("effort", actuator)


def stroke_of(actuator: str) -> Sensor:
    """How far an actuator has gone: growth of a chamber [m³], length of a cable pulled in or travel of a point [m]."""
    return ActuatorSensor("stroke", actuator)


def volume_of(cavity: int | str | Cavity = 0) -> Sensor:
    """Volume of a cavity [m³]: its number in the mesh, the cavity itself, or the name of the chamber that it is."""
    return VolumeSensor(cavity)


def _world_by_world(solver: Solver | RobotSolver, read: Read) -> Read:
    """Read what is evaluated with the model that all worlds share: one world after the other."""

    def read_all(state: Any, out: wp.array[Any], first: int) -> None:
        for world in range(solver.worlds):
            read(solver.world(state, world), out[world : world + 1], first)

    return read_all


def _actuator_number(solver: Solver | RobotSolver, name: str) -> int:
    names = [drive.actuator.name for drive in solver.drives]
    if name not in names:
        raise UnknownName("actuator", name, names)
    return names.index(name)


def _of_effector(solver: Solver | RobotSolver, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the points of an effector, and their weights in the mean of these points."""
    groups = list(solver.model.solid.groups)
    rows = solver.robot.effectors if isinstance(solver, RobotSolver) else None
    named = {} if rows is None else {effector.name: i for i, effector in enumerate(rows.effectors)}
    if rows is None or name not in named:
        raise UnknownName("group of nodes or effector", name, [*groups, *named])
    if isinstance(rows.effectors[named[name]], Orientation):
        raise InvalidValue(f"effector {name!r} is an orientation and has no position: read orientation_of its nodes.")
    some = slice(rows.first[named[name]], rows.first[named[name] + 1])
    return rows.nodes[some].ravel(), rows.weights[some].ravel() / (some.stop - some.start)
