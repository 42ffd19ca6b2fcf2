"""Inverse control as a solver of a `Simulation`: a robot that follows targets, which people or a script move."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.fem.control_pictures import ControlPainter
from annelid.fem.inverse import Inverse, InverseSettings, Step
from annelid.fem.kernels.motion import tick
from annelid.fem.robot import Robot

Script = Callable[[float], Mapping[str, Any]]
"""Targets by name at a time [s]."""


@dataclass
class ControlState:
    """What changes with time.

    Attributes:
        positions: Positions of the nodes [m], vec3d of shape [n].
        velocities: None: the robot goes from equilibrium to equilibrium.
        efforts: Efforts of the actuators, float64 of shape [k].
        forces: Forces of obstacles on outer nodes [N], float64 of shape [o, k].
        goals: Where the effectors are to be [m], float64 of shape [p, 3].
        clock: Steps done, shape [1].
    """

    positions: wp.array
    velocities: wp.array
    efforts: wp.array
    forces: wp.array
    goals: wp.array
    clock: wp.array


class ControlSolver:
    """Advances a robot towards its targets, one inverse step a time step.

    Args:
        robot: The robot.
        settings: How it is controlled.
        script: Targets over time; without it, and from the first `aim` on, they stay where they were put.

    Attributes:
        inverse: The control.
        last: What the last step did, None before the first.
    """

    batch = 1

    def __init__(self, robot: Robot, settings: InverseSettings | None = None, *, script: Script | None = None) -> None:
        self.robot, self.device = robot, robot.device
        self.inverse = Inverse(robot, settings)
        self.time_step = self.inverse.settings.seconds
        self.script = script
        self.last: Step | None = None
        self._start = robot.positions.numpy().copy(), robot.efforts.copy(), self._forces(), robot.places()
        self._painter = ControlPainter(self)

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def initial_state(self) -> ControlState:
        """The robot at rest, its targets where its effectors are."""
        positions, efforts, forces, places = self._start
        self.last = None
        return ControlState(
            positions=self.robot.model.vectors(positions),
            velocities=wp.zeros(0, dtype=wp.vec3d, device=self.device),
            efforts=self._array(efforts),
            forces=self._array(forces),
            goals=self._array(places),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
        )

    def aim(self, state: ControlState, targets: Mapping[str, Any]) -> None:
        """Put targets somewhere, by name; from now on nothing else moves them."""
        self.script = None
        self._set_goals(state, targets)

    def targets(self, state: ControlState) -> dict[str, np.ndarray]:
        """Where the targets of effectors of one point are [m], by name."""
        rows, goals = self.robot.effectors, state.goals.numpy()
        single = [i for i in range(len(rows.effectors)) if rows.first[i + 1] - rows.first[i] == 1]
        return {rows.effectors[i].name: goals[rows.first[i]] for i in single}

    def advance(self, state: ControlState, steps: int) -> None:
        """Take steps."""
        self._take(state)
        try:
            for _ in range(steps):
                if self.script is not None:
                    self._set_goals(state, self.script((int(state.clock.numpy()[0]) + 1) * self.time_step))
                self.last = self.inverse.step_to(state.goals.numpy().copy())
                wp.launch(tick, 1, [1, state.clock], device=self.device)
        finally:
            self._give(state)

    def trouble(self) -> int | None:
        """None: a step that finds no equilibrium is not taken."""
        return None

    def forgive(self) -> None:
        """Nothing to forget."""

    def complaint(self, state: ControlState) -> str:
        """The last step in words."""
        return "no step was taken" if self.last is None else self.last.summary()

    def fingerprint(self) -> str:
        """Identity of the robot, for checkpoints."""
        digest = hashlib.blake2b(digest_size=8)
        digest.update(repr((self.robot.names, [e.name for e in self.robot.effectors.effectors])).encode())
        return f"fem-control-{self.robot.model.fingerprint()}-{digest.hexdigest()}"

    def snapshot(self, state: ControlState, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    def _set_goals(self, state: ControlState, targets: Mapping[str, Any]) -> None:
        rows, goals = self.robot.effectors, state.goals.numpy().copy()
        known = {e.name: goals[rows.first[i] : rows.first[i + 1]] for i, e in enumerate(rows.effectors)}
        for i, effector in enumerate(rows.effectors):
            if effector.name in targets:
                some = slice(rows.first[i], rows.first[i + 1])
                known[effector.name][:] = effector.goal(targets[effector.name], rows.rest[some])
        rows.require_known(targets)
        state.goals.assign(goals)

    def _take(self, state: ControlState) -> None:
        """Put the robot where the state says."""
        robot = self.robot
        wp.copy(robot.positions, state.positions)
        robot.exert(state.efforts.numpy())
        if robot.contacts is not None:
            robot.contacts.forces[:] = state.forces.numpy()

    def _give(self, state: ControlState) -> None:
        robot = self.robot
        wp.copy(state.positions, robot.positions)
        state.efforts.assign(robot.efforts)
        if robot.contacts is not None:
            state.forces.assign(robot.contacts.forces)

    def _forces(self) -> np.ndarray:
        return np.zeros((0, 0)) if self.robot.contacts is None else self.robot.contacts.forces.copy()

    def _array(self, values: np.ndarray) -> wp.array:
        return wp.array(np.ascontiguousarray(values, float), dtype=wp.float64, device=self.device)


def controlled(
    robot: Robot, *, settings: InverseSettings | None = None, script: Script | None = None
) -> Simulation[ControlSolver]:
    """A simulation in which a robot follows its targets.

    Args:
        robot: The robot.
        settings: How it is controlled.
        script: Targets by name at a time [s].
    """
    return Simulation(ControlSolver(robot, settings, script=script))
