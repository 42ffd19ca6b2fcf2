"""A soft robot as a solver of a `Simulation`: what following targets and given efforts have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import Commanded
from annelid.core.events import Event
from annelid.core.identity import identity
from annelid.core.model_solver import ModelSolver
from annelid.core.scenery import Scenery
from annelid.core.snapshot import Look, Snapshot
from annelid.core.stability import StepReport
from annelid.core.state import clone_state, copy_state, overwrite
from annelid.core.variation import Parameter, unvaried
from annelid.core.weakly import weakly
from annelid.fem.actuation.actuator import Drive
from annelid.fem.actuation.limits import Limits, relimited
from annelid.fem.adjustment import Adjustment
from annelid.fem.contact.contacts import Contacts
from annelid.fem.gallery import Gallery
from annelid.fem.kernels.motion import tick
from annelid.fem.model import Model
from annelid.fem.one_by_one import OneByOne
from annelid.fem.parameters import AT_REST
from annelid.fem.robots.pictures import RobotPainter
from annelid.fem.robots.readout import RobotReadout
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.state import RobotState

_INFINITE = float(np.finfo(float).max)  # checkpoints hold finite numbers only


class RobotSolver(ModelSolver[Model, RobotPainter]):
    """Advances a robot from equilibrium to equilibrium. A subclass says how, in `_step`.

    The state says where the robot stands: what is done to the robot itself between steps does not count.

    Args:
        robot: The robot, at rest.
        dt: Time that a step stands for [s].
        worlds: Number of worlds, see `OneByOne`; None for a robot by itself.

    Attributes:
        readout: What reads states.
    """

    physics = "fem"
    batch = 1

    def __init__(self, robot: Robot, dt: float, *, worlds: int | None = None) -> None:
        self.robot, self.model, self.device, self.dt = robot, robot.model, robot.device, dt
        self.readout = RobotReadout(robot)
        self._adjustment = Adjustment(robot.model, robot.drives)
        self._painter = RobotPainter(robot, self.readout, dt)
        self._start = {
            "positions": robot.positions.numpy().copy(),
            "efforts": robot.efforts.copy(),
            "strokes": robot.aim().copy(),
            "limits": _packed(robot.limits),
            "forces": np.zeros((0, 0)) if robot.contacts is None else robot.contacts.forces.copy(),
            "goals": robot.places(),
        }
        self._touch = clone_state(robot.touch_state)
        self._worlds: OneByOne[Any] = OneByOne(worlds, weakly(self._first_state))
        self.worlds = self._worlds.count
        self._gallery = Gallery(self.worlds, robot.solid.nodes)
        acting = robot.actuators, robot.effectors.effectors, robot.touched is None
        self._built = identity(type(self), acting, self._start, self.worlds, self._driven_by())

    @property
    def initial_positions(self) -> np.ndarray:
        """Positions of the nodes at the beginning [m], shape [n, 3]."""
        return self._start["positions"]

    @property
    def contacts(self) -> Contacts | None:
        """What it touches with friction; None where there is nothing."""
        return self.robot.touched

    @property
    def drives(self) -> tuple[Drive, ...]:
        """The actuators on the device."""
        return self.robot.drives

    def initial_state(self) -> Any:
        """The robot at rest, its targets where its effectors are, in every world."""
        return self._worlds.first_state()

    def world(self, state: Any, world: int) -> Any:
        """One of the worlds as a state of its own, to be read; the next call overwrites it."""
        return self._worlds.world(state, world)

    def advance(self, state: Any, steps: int) -> None:
        """Take steps; one that leads to no equilibrium is not taken, and tells why, or loses one of several worlds."""
        self._worlds.advance(state, steps, self._march)

    def reset(self, state: Any, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to rest; see `core.solver.Solver`. With a mask the clock goes on, a script with it."""
        self._worlds.reset(state, mask)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return AT_REST

    def commanded(self, state: Any) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation)

    def explain_step(self) -> StepReport:
        """What limits the time step: nothing, since a robot goes from equilibrium to equilibrium."""
        return StepReport(self.dt, self.dt, "a step goes to the next equilibrium, whatever time it stands for")

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters that would change nothing."""
        self._adjustment.require(ranges)

    def limit(
        self, state: RobotState, name: str, *, effort: Limits | None = None, stroke: Limits | None = None
    ) -> None:
        """Replace limits of an actuator from the next step on, in all worlds.

        Args:
            state: The state.
            name: Name of the actuator.
            effort: Limits of its effort; those it has unless told.
            stroke: Limits of its stroke; those it has unless told.
        """
        limits = _unpacked(state.limits.numpy())
        for number in range(self.robot.number(name), len(limits), len(self.drives)):
            limits[number] = relimited(name, limits[number], effort, stroke)
        overwrite(state.limits, _packed(limits))

    def limits(self, state: RobotState, world: int = 0) -> dict[str, tuple[Limits, Limits]]:
        """Limits of effort and stroke of each actuator by name."""
        return dict(zip(self.robot.names, _unpacked(self.world(state, world).limits.numpy()), strict=True))

    def diverged_at(self) -> int | None:
        """The step in which one of several worlds was lost; None by itself, where a step to nowhere is not taken."""
        return self._worlds.diverged_at()

    def clear_divergence(self) -> None:
        """Forget that worlds were lost, after the state was restored."""
        self._worlds.forget()

    def describe_divergence(self, state: Any) -> str:
        """Why a world was lost, or limits that stand in the way and what may help."""
        world, reason = self._worlds.lost_in or (0, "")
        if reason:
            return f"in world {world} {reason}" if self.worlds > 1 else reason
        active = ", ".join(self.readout.active_limits(state)) or "none"
        return f"active limits: {active}; smaller efforts, targets that move less a step or a stiffer solid may help"

    def collect_events(self, *states: RobotState) -> list[Event]:
        """Whether strains have left the range in which a material was measured, told once."""
        return self.model.measured.events(states[0].positions, states[0].clock, self.dt)

    def fingerprint(self) -> str:
        """Identity of the robot, for checkpoints."""
        return f"fem-robot-{self.robot.model.fingerprint()}-{self._built}"

    def _driven_by(self) -> tuple[Any, ...]:
        """What else its steps depend on."""
        return ()

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """A picture of the state; several worlds stand side by side."""
        return self._gallery.snapshot(lambda world, how: self._painter.snapshot(self.world(state, world), how), look)

    def _first_state(self) -> Any:
        """One world at rest."""
        return RobotState(**self._beginning())

    def _march(self, state: Any, steps: int) -> None:
        """Take steps in one world."""
        with self._adjustment.of(state.variation):
            self._take(state)
            try:
                for _ in range(steps):
                    step = int(state.clock.numpy()[0])
                    self.robot.time = step * self.dt
                    self._step(state, step)
                    wp.launch(tick, 1, [1, state.clock], device=self.device)
            finally:
                self._give(state)

    def scenery(self) -> Scenery:
        """What cameras and lidars can see; see `core.scenery.Visible`."""
        return self._painter.scenery(self.worlds)

    def _step(self, state: Any, step: int) -> None:
        """Take one step, the one after so many."""
        raise NotImplementedError

    def _beginning(self) -> dict[str, Any]:
        """The parts of the first state."""
        start = dict(self._start)
        return {
            "positions": self.model.vectors(start.pop("positions")),
            "clock": wp.zeros(1, dtype=wp.int64, device=self.device),
            "linear": self.model.linear.memory(self.device),
            "touch": clone_state(self._touch),
            "variation": unvaried(self.device),
            **{name: self._array(values) for name, values in start.items()},
        }

    def _take(self, state: Any) -> None:
        """Put the robot where the state says."""
        robot = self.robot
        wp.copy(robot.positions, state.positions)
        robot.exert(state.efforts.numpy())
        robot.limits = _unpacked(state.limits.numpy())
        if robot.contacts is not None:
            robot.contacts.forces[:] = state.forces.numpy()
        copy_state(state.touch, robot.touch_state)
        self.model.linear.recall(state.linear)

    def _give(self, state: Any) -> None:
        robot = self.robot
        wp.copy(state.positions, robot.positions)
        overwrite(state.efforts, robot.efforts)
        overwrite(state.limits, _packed(robot.limits))
        if robot.contacts is not None:
            overwrite(state.forces, robot.contacts.forces)
        copy_state(robot.touch_state, state.touch)
        self.model.linear.remember(state.linear)

    def _array(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values, float), dtype=wp.float64, device=self.device)


def _packed(limits: list[tuple[Limits, Limits]]) -> np.ndarray:
    """Limits as finite numbers, shape [k, 6]."""
    numbers = [(e.low, e.high, e.rate, s.low, s.high, s.rate) for e, s in limits]
    return np.clip(np.array(numbers, float).reshape(-1, 6), -_INFINITE, _INFINITE)


def _unpacked(numbers: np.ndarray) -> list[tuple[Limits, Limits]]:
    opened = np.where(np.abs(numbers) >= _INFINITE, np.copysign(np.inf, numbers), numbers).tolist()
    return [(Limits(*row[:3]), Limits(*row[3:])) for row in opened]
