"""Sensors of solids and soft robots: nodes and effectors, actuators and volumes of cavities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.replay import Replays
from annelid.core.sensors import Reading, Sensor, require_turn, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.core.state_view import Members, Parts, StateView, VectorSensor
from annelid.fem.actuation.chamber import Chamber, Pneumatic
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.hydrostatics import CavityVolume
from annelid.fem.kernels.sensing import copy_number
from annelid.fem.robots.effectors import Orientation
from annelid.fem.robots.solver import RobotSolver
from annelid.fem.solid import Solid, Where
from annelid.fem.solver import Solver

SOLVERS: tuple[type[Solver | RobotSolver], ...] = (Solver, RobotSolver)

Read = Callable[[Any, wp.array[Any], int], None]
"""Writes readings of a state into an array, from a column on; see `core.sensors.Reading`."""


def _view(solver: Solver | RobotSolver, sensor: VectorSensor) -> StateView:
    """Nodes as sensors read them."""
    moving, turned = sensor.quantity == "velocity", sensor.quantity == "turn"
    if moving and not isinstance(solver, DynamicSolver):
        raise InvalidValue(
            "what goes from equilibrium to equilibrium has no velocity to read: simulate a solid with "
            "fem.simulation(..., dynamic=True), or read positions."
        )
    nodes, weights = _nodes(solver, sensor)
    places, rests = solver.model.solid.nodes[nodes], None
    if turned:
        require_turn(places, "nodes")
        rests = places - places.mean(axis=0)
    members = Members(
        solver.device,
        [nodes],
        stride=solver.model.node_count,
        each=sensor.each,
        weights=None if turned or sensor.each else weights,
        rests=rests,
    )
    return StateView(
        lambda: members,
        lambda state: state.velocities if moving else state.positions,
        means=None if turned else (nodes, weights),
    )


def _nodes(solver: Solver | RobotSolver, sensor: VectorSensor) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and their weights in the mean."""
    solid, where = solver.model.solid, sensor.where
    if isinstance(where, str) and where not in solid.groups and sensor.quantity != "turn":
        if sensor.each:
            raise InvalidValue(f"{where!r} names no group of nodes, which could be read one by one: give nodes.")
        return _of_effector(solver, where)
    chosen = solid.indices(where)
    if len(chosen) == 0:
        raise InvalidValue("a sensor needs at least one node.")
    return chosen, np.full(len(chosen), 1.0 / len(chosen))


@dataclass(frozen=True, eq=False)
class ActuatorSensor(Sensor):
    """Reads what an actuator does; made by `effort_of` and `stroke_of`.

    Attributes:
        quantity: "effort" or "stroke".
        name: Name of the actuator.
    """

    quantity: str
    name: str

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solid or a robot."""
        own, side = side_of(solver, SOLVERS, f"{self.quantity} of an actuator")
        number, device = _actuator_number(own, self.name), own.device
        drive = own.drives[number]
        if self.quantity == "effort":

            def read_effort(state: Any, out: wp.array[Any], first: int) -> None:
                inputs = [len(own.drives), number, first, side(state).efforts]
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

        return Reading(_world_by_world(own, side, read_stroke), (1,), drive.actuator.stroke_unit)


@dataclass(frozen=True, eq=False)
class VolumeSensor(Sensor):
    """Reads the volume of a cavity; made by `volume_of`."""

    cavity: int | str | Cavity

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solid or a robot."""
        own, side = side_of(solver, SOLVERS, "volume of a cavity")
        solid, device = own.model.solid, own.device
        volume = CavityVolume(self._found(own, solid), solid.nodes, device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            volume.evaluate(state.positions)
            wp.launch(copy_number, 1, [0, 0, first, volume.volume], [out], device=device)

        return Reading(_world_by_world(own, side, read), (1,), "m³")

    def _found(self, solver: Solver | RobotSolver, solid: Solid) -> Cavity:
        if isinstance(self.cavity, Cavity):
            return self.cavity
        if not isinstance(self.cavity, str):
            return Pneumatic(name="the sensor", cavity=self.cavity).cavity_of(solid)
        actuator = solver.drives[_actuator_number(solver, self.cavity)].actuator
        if not isinstance(actuator, Chamber):
            raise InvalidValue(f"{self.cavity} has no volume: it is a {type(actuator).__name__}; name a chamber.")
        return actuator.cavity_of(solid)


NODES: Parts[Where] = Parts("nodes", SOLVERS, _view)
position_of, velocity_of, orientation_of = NODES.position_of, NODES.velocity_of, NODES.orientation_of


def effort_of(actuator: str) -> Sensor:
    """What an actuator exerts: pressure [Pa], tension of a cable or force at a point [N]; travel of a slide [m]."""
    return ActuatorSensor("effort", actuator)


def stroke_of(actuator: str) -> Sensor:
    """How far an actuator has gone: growth of a chamber [m³], length of a cable pulled in or travel of a point [m]."""
    return ActuatorSensor("stroke", actuator)


def volume_of(cavity: int | str | Cavity = 0) -> Sensor:
    """Volume of a cavity [m³]: its number in the mesh, the cavity itself, or the name of the chamber that it is."""
    return VolumeSensor(cavity)


def _world_by_world(own: Solver | RobotSolver, side: Callable[[Any], Any], read: Read) -> Read:
    """Read what is evaluated with the model that all worlds share: one world after the other."""

    def read_all(state: Any, out: wp.array[Any], first: int) -> None:
        for world in range(own.worlds):
            read(own.world(side(state), world), out[world : world + 1], first)

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
