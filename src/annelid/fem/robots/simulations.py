"""Simulations of soft robots: one that follows targets, which people or a script move, and one whose efforts change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.controls import Control
from annelid.core.errors import InvalidValue, Unsupported
from annelid.core.numbers import is_number
from annelid.core.options import require_words, spelled_out
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
from annelid.core.state import overwrite
from annelid.fem.actuation.channels import Channels
from annelid.fem.robots.active import limit_count
from annelid.fem.robots.forward import Forward
from annelid.fem.robots.inverse import Inverse, InverseSettings
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.solver import RobotSolver
from annelid.fem.robots.state import ForwardState, InverseState
from annelid.fem.robots.targets import TargetChannels

Script = Callable[[float], Mapping[str, Any]]
"""Targets of effectors, or efforts of actuators, by name at a time [s]."""


class InverseSolver(RobotSolver):
    """Advances a robot towards its targets, one step of inverse control in each time step.

    Args:
        robot: The robot.
        settings: How it is controlled.
        script: Targets over time, until the first `aim` or command.

    Attributes:
        inverse: The control.
    """

    def __init__(self, robot: Robot, settings: InverseSettings | None = None, *, script: Script | None = None) -> None:
        self.inverse = Inverse(robot, settings)
        self.script = _callable(script)
        self._targets = TargetChannels(robot)
        super().__init__(robot, self.inverse.settings.dt)

    @property
    def controls(self) -> tuple[Control, ...]:
        """One channel a coordinate of the targets of points."""
        return self._targets.controls

    def take_parameters(self, state: InverseState, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Let the next step take its own stiffness: the one at hand belongs to other parameters."""
        state.control.stiffness.age.fill_(-1)
        state.control.stiffness.pending.fill_(0)

    def _first_state(self) -> InverseState:
        """The robot at rest, its targets where its effectors are."""
        return InverseState(
            **self._beginning(),
            active=wp.zeros(limit_count(self.robot), dtype=wp.int32, device=self.device),
            commands=self._targets.resting(self.device),
            aimed=wp.zeros(1, dtype=wp.int32, device=self.device),
            control=self.inverse.memory(),
        )

    def aim(self, state: InverseState, targets: Mapping[str, Any]) -> None:
        """Put targets somewhere, by name; from now on nothing moves them but commands."""
        self._set_goals(state, targets)
        self._targets.follow(state.goals.numpy(), state.commands)
        state.aimed.fill_(1)

    def targets(self, state: InverseState) -> dict[str, np.ndarray]:
        """Where the targets of effectors of one point are [m], by name."""
        return self.readout.targets(state)

    def _driven_by(self) -> tuple[Any, ...]:
        return self.inverse.settings, self.script

    def _step(self, state: InverseState, step: int) -> None:
        goals = self._goals(state, step + 1)
        self.inverse.number = step
        done = self.inverse.step_to(goals)
        overwrite(state.strokes, [done.strokes[name] for name in self.robot.names])
        overwrite(state.active, done.active_numbers)

    def _goals(self, state: InverseState, step: int) -> np.ndarray:
        """Where effectors are to be after so many steps [m], shape [p, 3]; from the first command on it leads."""
        if self.script is not None and not state.aimed.numpy()[0]:
            if not self._targets.taken(state.goals.numpy(), state.commands):
                self._set_goals(state, _by_name(self.script, step * self.dt, "targets"))
                self._targets.follow(state.goals.numpy(), state.commands)
                return np.array(state.goals.numpy())
            state.aimed.fill_(1)
        goals = np.array(state.goals.numpy())
        self._targets.lead(goals, state.commands, step)
        overwrite(state.goals, goals)
        return goals

    def _take(self, state: InverseState) -> None:
        super()._take(state)
        self.inverse.recall(state.control)

    def _give(self, state: InverseState) -> None:
        super()._give(state)
        self.inverse.remember(state.control)

    def _set_goals(self, state: InverseState, targets: Mapping[str, Any]) -> None:
        rows, goals = self.robot.effectors, state.goals.numpy().copy()
        rows.require_known(targets)
        for i, effector in enumerate(rows.effectors):
            if effector.name in targets:
                some = slice(rows.first[i], rows.first[i + 1])
                goals[some] = effector.goal(targets[effector.name], rows.rest[some])
        overwrite(state.goals, goals)


class ForwardSolver(RobotSolver):
    """Advances a robot whose efforts, or strokes at which actuators are held, change over time.

    Args:
        robot: The robot.
        script: Efforts by name at a time [s]; for an actuator that is held at a stroke, that stroke. Without it they
            are commanded.
        dt: Time that a step stands for [s].
        strokes: Names of actuators that are held at the stroke which is commanded, instead of exerting an effort.
        worlds: Number of worlds, see `OneByOne`; None for a robot by itself.

    Attributes:
        forward: What finds equilibria.
    """

    def __init__(
        self,
        robot: Robot,
        script: Script | None = None,
        *,
        dt: float = 0.05,
        strokes: Sequence[str] = (),
        worlds: int | None = None,
    ) -> None:
        if not (is_number(dt) and dt > 0.0):
            raise InvalidValue(f"the time step dt must be a positive time in seconds, not {dt!r:.60}.")
        if not isinstance(strokes, str):  # which is told what to write
            require_words("strokes", strokes)
        if script is not None and len(strokes):
            raise InvalidValue("strokes are commanded where there is no script: leave one of the two out.")
        self.script, self.forward = _callable(script), Forward(robot)
        actuators, limits = (robot.actuators, robot.limits) if script is None else ((), ())
        self._channels = Channels(actuators, limits, strokes)
        for channel in self._channels.every:
            if channel.by_stroke:
                robot.hold(channel.control.name, channel.control.rest)
        self.forward.settle()
        self.forward.dt = dt
        super().__init__(robot, dt, worlds=worlds)

    @property
    def controls(self) -> tuple[Control, ...]:
        """One channel an actuator that takes commands."""
        return self._channels.controls

    def _first_state(self) -> ForwardState:
        """One world at rest, its targets where its effectors are."""
        return ForwardState(**self._beginning(), commands=self._channels.resting(self.device))

    def _driven_by(self) -> tuple[Any, ...]:
        return self.script, [channel.by_stroke for channel in self._channels.every]

    def _given(self, state: ForwardState, step: int) -> Mapping[str, float]:
        """Efforts and strokes by name after so many steps."""
        if self.script is not None:
            return _by_name(self.script, step * self.dt, "efforts")
        values = self._channels.values(state.commands, step)
        return {channel.control.name: value for channel, value in zip(self._channels.every, values, strict=True)}

    def _step(self, state: ForwardState, step: int) -> None:
        efforts = {}
        for name, value in self._given(state, step + 1).items():
            stroke = self.robot.limits[self.robot.number(name)][1]
            if stroke.held:
                most = stroke.rate * self.dt
                self.robot.hold(name, stroke.low + min(max(value - stroke.low, -most), most))
            else:
                efforts[name] = value
        self.forward.settle(efforts)
        overwrite(state.strokes, self.robot.aim())
        overwrite(state.goals, self.robot.places())


def _callable(script: Script | None) -> Script | None:
    """The script, if it is none or a function."""
    if script is not None and not callable(script):
        raise InvalidValue(f"script must be a function of the time [s], not {script!r:.60}; give lambda time: ...")
    return script


def _by_name(script: Script, time: float, what: str) -> Mapping[str, Any]:
    """What a script says of a moment [s]."""
    found = script(time)
    if not isinstance(found, Mapping):
        raise InvalidValue(f"a script must give {what} by name, {{name: value}}; at {time:g} s it gave {found!r:.60}.")
    return found


@documented
@dataclass(frozen=True)
class InverseOptions(InverseSettings):
    """What a simulation of inverse control is given besides the robot."""

    of_what: ClassVar[str] = "a simulation of inverse control"

    script: Script | None = parameter(
        None,
        "Targets by name at a time [s]; `solver.aim(state, targets)` puts them somewhere by hand, and so do commands: "
        'the coordinates of points are channels of `simulation.controls`, such as "tip.x" [m].',
    )
    worlds: int | None = parameter(None, "Number of worlds; inverse control has one.", least=1)


@options_of(InverseOptions, **{"fem.Robot": Robot})
def inverse_simulation(robot: Robot, options: InverseOptions) -> Simulation[InverseSolver]:
    """A simulation in which a robot follows its targets: efforts are found in each step.

    Args:
        robot: The robot; it is brought to rest.
        options: Its targets, and how they are followed.
    """
    if options.worlds not in (None, 1):
        raise Unsupported(
            "inverse control", f"have {options.worlds!r} worlds side by side",
            ("fem.simulation", "fem.forward_simulation"),
            "Follow targets in one world, or command efforts and strokes in several.",
        )  # fmt: skip
    return Simulation(InverseSolver(robot, options.part(InverseSettings), script=options.script))


@spelled_out("a simulation of given efforts", **{"fem.Robot": Robot})
def forward_simulation(
    robot: Robot,
    script: Script | None = None,
    *,
    dt: float = 0.05,
    strokes: Sequence[str] = (),
    worlds: int | None = None,
) -> Simulation[ForwardSolver]:
    """A simulation in which the efforts of a robot are given: it goes from equilibrium to equilibrium.

    Without a script they are commanded: each actuator that is neither closed nor held at one value is a channel of
    `simulation.controls`, with its name, its limits and its unit. Efforts and strokes, from a script or commanded, are
    followed as far and as fast as the limits of the actuator let it: it stops at a limit of its stroke and exerts what
    that takes, and gives way where a stroke would take more than its effort.

    Args:
        robot: The robot; it is brought to rest.
        script: Efforts by name at a time [s]; for an actuator that is held at a stroke, that stroke.
        dt: Time that a step stands for [s].
        strokes: Names of actuators that are held at the stroke which is commanded, within the limits of their stroke,
            instead of exerting an effort.
        worlds: Copies of the robot side by side that know nothing of each other, each with commands of its own; None
            for one by itself. A robot of a batch that finds no equilibrium is lost by itself.
    """
    return Simulation(ForwardSolver(robot, script, dt=dt, strokes=strokes, worlds=worlds))
