"""A soft robot as a solver of a `Simulation`: what inverse control and given efforts have in common."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.core.snapshot import Look, Snapshot
from annelid.fem.kernels.motion import tick
from annelid.fem.robots.pictures import RobotPainter
from annelid.fem.robots.robot import Robot


@dataclass
class RobotState:
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


class RobotSolver:
    """Advances a robot from equilibrium to equilibrium. A subclass says how, in `_step`.

    Args:
        robot: The robot, at rest.
        dt: Time that a step stands for [s].

    Attributes:
        strokes: Strokes of the actuators, shape [k].
        distances: Distance of each effector from its target [m], by name.
        active: Limits that keep effectors from their targets, in words.
    """

    batch = 1

    def __init__(self, robot: Robot, dt: float) -> None:
        self.robot, self.device, self.dt = robot, robot.device, dt
        self._start = robot.positions.numpy().copy(), robot.efforts.copy(), self._forces(), robot.places()
        self._painter = RobotPainter(self)
        self._forget()

    @property
    def initial_positions(self) -> np.ndarray:
        """Positions of the nodes at the beginning [m], shape [n, 3]."""
        return self._start[0]

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def initial_state(self) -> RobotState:
        """The robot at rest, its targets where its effectors are."""
        positions, efforts, forces, places = self._start
        self._forget()
        return RobotState(
            positions=self.robot.model.vectors(positions),
            velocities=wp.zeros(0, dtype=wp.vec3d, device=self.device),
            efforts=self._array(efforts),
            forces=self._array(forces),
            goals=self._array(places),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
        )

    def advance(self, state: RobotState, steps: int) -> None:
        """Take steps; one that leads to no equilibrium is not taken, and tells why."""
        self._take(state)
        try:
            for _ in range(steps):
                self._step(state, (int(state.clock.numpy()[0]) + 1) * self.dt)
                wp.launch(tick, 1, [1, state.clock], device=self.device)
        finally:
            self._give(state)

    def diverged_at(self) -> int | None:
        """None: a step that finds no equilibrium is not taken."""
        return None

    def clear_divergence(self) -> None:
        """Nothing to forget."""

    def describe_divergence(self, state: RobotState) -> str:
        """Limits that are active, in words."""
        return f"limits: {', '.join(self.active)}" if self.active else "no limit is active"

    def fingerprint(self) -> str:
        """Identity of the robot, for checkpoints."""
        digest = hashlib.blake2b(digest_size=8)
        digest.update(repr((self.robot.names, [e.name for e in self.robot.effectors.effectors])).encode())
        return f"fem-robot-{self.robot.model.fingerprint()}-{digest.hexdigest()}"

    def snapshot(self, state: RobotState, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    def _step(self, state: RobotState, time: float) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        self.strokes = np.zeros(len(self.robot.drives))
        self.distances = {effector.name: 0.0 for effector in self.robot.effectors.effectors}
        self.active: tuple[str, ...] = ()

    def _take(self, state: RobotState) -> None:
        """Put the robot where the state says."""
        robot = self.robot
        wp.copy(robot.positions, state.positions)
        robot.exert(state.efforts.numpy())
        if robot.contacts is not None:
            robot.contacts.forces[:] = state.forces.numpy()

    def _give(self, state: RobotState) -> None:
        robot = self.robot
        wp.copy(state.positions, robot.positions)
        state.efforts.assign(robot.efforts)
        if robot.contacts is not None:
            state.forces.assign(robot.contacts.forces)

    def _forces(self) -> np.ndarray:
        return np.zeros((0, 0)) if self.robot.contacts is None else self.robot.contacts.forces.copy()

    def _array(self, values: np.ndarray) -> wp.array:
        return wp.array(np.ascontiguousarray(values, float), dtype=wp.float64, device=self.device)
