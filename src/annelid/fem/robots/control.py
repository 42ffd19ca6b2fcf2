"""Simulations of soft robots: one that follows targets, which people or a script move, and one whose efforts change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.fem.robots.forward import Forward
from annelid.fem.robots.inverse import Inverse, InverseSettings, Step
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.solver import RobotSolver, RobotState

Script = Callable[[float], Mapping[str, Any]]
"""Targets of effectors, or efforts of actuators, by name at a time [s]."""


class ControlSolver(RobotSolver):
    """Advances a robot towards its targets, one inverse step a time step.

    Args:
        robot: The robot.
        settings: How it is controlled.
        script: Targets over time; without it, and from the first `aim` on, they stay where they were put.

    Attributes:
        inverse: The control.
        last: What the last step did, None before the first.
    """

    def __init__(self, robot: Robot, settings: InverseSettings | None = None, *, script: Script | None = None) -> None:
        self.last: Step | None = None
        self.inverse = Inverse(robot, settings)
        self.script = script
        super().__init__(robot, self.inverse.settings.seconds)

    def aim(self, state: RobotState, targets: Mapping[str, Any]) -> None:
        """Put targets somewhere, by name; from now on nothing else moves them."""
        self._set_goals(state, targets)
        self.script = None

    def targets(self, state: RobotState) -> dict[str, np.ndarray]:
        """Where the targets of effectors of one point are [m], by name."""
        rows, goals = self.robot.effectors, state.goals.numpy()
        single = [i for i in range(len(rows.effectors)) if rows.first[i + 1] - rows.first[i] == 1]
        return {rows.effectors[i].name: goals[rows.first[i]].copy() for i in single}

    def _step(self, state: RobotState, time: float) -> None:
        if self.script is not None:
            self._set_goals(state, self.script(time))
        step = self.last = self.inverse.step_to(state.goals.numpy().copy())
        self.strokes = np.array([step.strokes[name] for name in self.robot.names])
        self.distances, self.active = step.distances, step.active

    def _forget(self) -> None:
        super()._forget()
        self.last = None

    def _set_goals(self, state: RobotState, targets: Mapping[str, Any]) -> None:
        rows, goals = self.robot.effectors, state.goals.numpy().copy()
        rows.require_known(targets)
        for i, effector in enumerate(rows.effectors):
            if effector.name in targets:
                some = slice(rows.first[i], rows.first[i + 1])
                goals[some] = effector.goal(targets[effector.name], rows.rest[some])
        state.goals.assign(goals)


class PoseSolver(RobotSolver):
    """Advances a robot whose efforts, or strokes at which actuators are held, change over time.

    Args:
        robot: The robot.
        script: Efforts by name at a time [s]; for an actuator that is held at a stroke, that stroke.
        dt: Time that a step stands for [s].
    """

    def __init__(self, robot: Robot, script: Script, *, dt: float = 0.05) -> None:
        if not (np.isfinite(dt) and dt > 0.0):
            raise InvalidValue(f"the time step must be a finite time above 0 [s], not {dt}.")
        self.script, self.forward = script, Forward(robot)
        self.forward.settle()
        super().__init__(robot, dt)

    def _step(self, state: RobotState, time: float) -> None:
        efforts = {}
        for name, value in self.script(time).items():
            if self.robot.limits[self.robot.number(name)][1].held:
                self.robot.hold(name, value)
            else:
                efforts[name] = value
        self.forward.settle(efforts)
        self.strokes = self.robot.aim()
        state.goals.assign(self.robot.places())


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


def posed(robot: Robot, script: Script, *, dt: float = 0.05) -> Simulation[PoseSolver]:
    """A simulation in which the efforts of a robot change, see `PoseSolver`."""
    return Simulation(PoseSolver(robot, script, dt=dt))
