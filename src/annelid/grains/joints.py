"""Joints of robots among grains: channels set their speeds, and their links are driven bodies.

A state keeps, for each joint of each world, its value when the present interval began and when that ends [rad] or [m],
and the step at which it began; -1 before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.pacing import Act, interval_in_steps
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.simulation import Simulation
from annelid.core.solver import Controllable
from annelid.core.solver import Solver as AnySolver
from annelid.grains.controls import AnyControl, joints_among
from annelid.grains.kernels import joints as kernels
from annelid.grains.model import Model
from annelid.grains.rigid import Solid
from annelid.grains.solver import Solver
from annelid.shapes.articulated.chains import Hop, way_to
from annelid.shapes.articulated.controls import JointControl
from annelid.shapes.articulated.tree import MOVING, RigidTree


def lead_joints(simulation: Simulation[Any], controls: Sequence[AnyControl]) -> None:
    """Let the joints among the controls of a simulation of grains, or of bodies among them, move their links."""
    for tree in dict.fromkeys(control.tree for control in joints_among(controls)):
        own, side = side_of(simulation.solver, Solver, f"joints of {tree.name}")
        leader = _Leader(simulation, own, tree)
        simulation.pace(leader.acting(simulation.solver, side), every=leader.every)


class _Leader:
    """Moves the links of one robot in all worlds; it does not keep the simulation, which keeps it."""

    def __init__(self, simulation: Simulation[Any], own: Solver, tree: RigidTree) -> None:
        self.own = own
        self.first, self.controls = _own_joints(own.model, tree)
        self.every = _steps(self.controls, simulation.dt) * simulation.dt
        self.seconds = wp.float64(self.every)
        device = own.device
        columns = [simulation.controls.index(control.name) for control in self.controls]
        self.columns = wp.array(columns, dtype=wp.int32, device=device)
        self.lows, self.highs = (wp.array(side, dtype=wp.float64, device=device) for side in (tree.lower, tree.upper))
        self.ways, self.parts = _ways(own, tree), len(tree.parts)

    def acting(self, solver: AnySolver, side: Any) -> Act:
        """What it does at the steps that are multiples of its interval."""
        own, count = self.own, len(joints_among(self.own.model.world.controls))
        assert isinstance(solver, Controllable)

        def act(state: Any, step: int) -> None:
            place, mine = solver.commanded(state), side(state)
            where = [self.columns, len(solver.controls), self.first, count, self.lows, self.highs, self.seconds]
            inputs = [*where, place.clock, place.commands, mine.joints]
            wp.launch(kernels.advance_joints, (own.worlds, len(self.controls)), inputs, device=own.device)
            inputs = [self.ways, self.first, count, self.seconds, mine.joints, mine.places, mine.turns]
            outputs = [mine.drives, mine.body_forecast, mine.body_turning]
            wp.launch(kernels.drive_links, (own.worlds, self.parts), inputs, outputs, device=own.device)

        return act


def _own_joints(model: Model, tree: RigidTree) -> tuple[int, list[JointControl]]:
    """Controls of a robot, and the place of the first among all joints; all of its joints must be there, in order."""
    given = joints_among(model.world.controls)
    places = [place for place, control in enumerate(given) if control.tree is tree]
    if not places:
        raise InvalidValue(f"no joint of {tree.name} is a control of this simulation: give it joint_controls(robot).")
    found = given[places[0] : places[-1] + 1]
    if [control.joint for control in found] != list(tree.moving):
        raise InvalidValue(
            f"controls must have all joints of {tree.name} ({', '.join(tree.names)}) side by side, as "
            "joint_controls(robot) gives them."
        )
    return places[0], found


def _steps(controls: Sequence[JointControl], dt: float) -> int:
    """Whole steps of an interval: where joints get to does not depend on it, so that nobody is told of rounding."""
    return round(interval_in_steps(controls[0].every, dt))


def _ways(own: Solver, tree: RigidTree) -> Any:
    """The ways to all parts, for kernels."""
    walks, device = [way_to(tree, part) for part in tree.parts], own.device
    hops: list[Hop] = [hop for walk, _ in walks for hop in walk]
    counts = np.cumsum([0, *(len(walk) for walk, _ in walks)])
    ways: Any = kernels.Ways()
    ways.firsts = wp.array(counts.astype(np.int32), dtype=wp.int32, device=device)
    ways.frames = _transforms([hop.frame for hop in hops], device)
    ways.axes = wp.array(np.array([hop.axis for hop in hops]).reshape(-1, 3), dtype=wp.vec3d, device=device)
    ways.slides = wp.array([int(hop.slides) for hop in hops], dtype=wp.int32, device=device)
    ways.leaders = wp.array([hop.leader for hop in hops], dtype=wp.int32, device=device)
    ways.factors = wp.array([hop.factor for hop in hops], dtype=wp.float64, device=device)
    ways.offsets = wp.array([hop.offset for hop in hops], dtype=wp.float64, device=device)
    numbers = [_driven(own.model, part.name, tree) for part in tree.parts]
    tails = [tail @ _axes(own.model, number) for (_, tail), number in zip(walks, numbers, strict=True)]
    ways.tails = _transforms(tails, device)
    ways.bodies = wp.array(numbers, dtype=wp.int32, device=device)
    ways.body_count = len(own.model.bodies) // own.worlds
    return ways


def _driven(model: Model, name: str, tree: RigidTree) -> int:
    number = model.number(name)
    body = model.bodies[number]
    if not (isinstance(body, Solid) and body.rigid.moves == "driven") or number in model.paths:
        raise InvalidValue(f"joints of {tree.name} are commanded: give its bodies(motion='driven') as obstacles.")
    return number


def _axes(model: Model, number: int) -> np.ndarray:
    """The axes of inertia of a body, which its rotation in a state is of, as a frame of its shape."""
    frame, body = np.eye(4), model.bodies[number]
    assert isinstance(body, Solid)
    frame[:3, :3] = body.axes
    return frame


def _transforms(frames: Sequence[np.ndarray], device: wp.Device) -> wp.array[Any]:
    stack = np.array(frames).reshape(-1, 4, 4)
    turns = Rotation.from_matrix(stack[:, :3, :3]).as_quat() if len(stack) else np.zeros((0, 4))
    return wp.array(np.column_stack([stack[:, :3, 3], turns]), dtype=wp.transformd, device=device)


@dataclass(frozen=True, eq=False)
class JointSensor(Sensor):
    """Reads the values of the joints of a robot; made by `joints_of`."""

    tree: RigidTree

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of grains, or of bodies among them."""
        own, side = side_of(solver, Solver, f"joints of {self.tree.name}")
        first, controls = _own_joints(own.model, self.tree)
        count, steps = len(joints_among(own.model.world.controls)), _steps(controls, solver.dt)
        assert isinstance(solver, Controllable)
        commanded = solver.commanded

        def read(state: Any, out: wp.array[Any], column: int) -> None:
            inputs = [first, count, wp.float64(steps), commanded(state).clock, side(state).joints, column]
            size = (own.worlds, len(controls))
            wp.launch(kernels.read_joints, size, inputs, [out], device=own.device)

        units = {"m" if MOVING[joint.kind] else "rad" for joint in self.tree.moving}
        return Reading(read, (len(controls),), units.pop() if len(units) == 1 else "", self.tree.names)


def joints_of(tree: RigidTree) -> Sensor:
    """Values of the joints of a robot whose joints are controls [rad] or [m], in the order of its joints."""
    return JointSensor(tree)
