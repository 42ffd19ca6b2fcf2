"""A soft robot among things that it touches with friction: equilibria that follow from those before them.

Friction remembers, so a robot that touches goes in steps. A step begins where the last one ended, with the stretches of
the springs of friction and the velocities of free bodies; however often efforts are changed within it, the equilibrium
depends on that beginning and on the efforts alone. Free bodies have mass and move in time; the robot has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from annelid.core.state import clone_state, copy_state, overwrite
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.responses import Responses
from annelid.fem.contact.state import Touching
from annelid.fem.linalg.unknowns import Linear
from annelid.fem.newton import NoEquilibrium, Settings
from annelid.fem.robots.condense import Condensed, Condenser
from annelid.fem.robots.robot import Robot

_AT_REST = 30.0  # [s]: over so long a time inertia holds nothing, and a body is where forces balance
_SETTINGS = Settings(tolerance=1e-5, iterations=25)
_ENOUGH = 1e-2  # of the mean load of a node: force that may be left, where contacts open and close to and fro


class _LostBalance(Exception):
    """A step that leads to no equilibrium is not taken."""


class TouchingRobot:
    """Takes a robot that touches from one step to the next.

    Args:
        robot: The robot; `robot.touched` is what it touches.
        settings: How Newton's method works.

    Attributes:
        newton: Finds equilibria.
        linear: Solves for its nodes while bodies move along.
    """

    def __init__(self, robot: Robot, settings: Settings | None = None) -> None:
        assert robot.touched is not None
        self.robot, self.contacts = robot, robot.touched
        self.newton = TouchingNewton(robot.model, self.contacts, settings or _SETTINGS)
        self.linear: Linear = Responses(self.newton.linear, self.contacts, robot.positions)

    @contextmanager
    def step(self, dt: float) -> Iterator[None]:
        """While this lasts a time dt [s] passes; what it leads to is kept, unless something is raised."""
        robot, state = self.robot, self.state
        self.contacts.begin(robot.positions, state, dt, robot.time + dt, robot.model.pull)
        if not self.contacts.arrived:
            self.settle()
        yield
        self.contacts.end(robot.positions, state, dt)
        robot.time += dt

    @contextmanager
    def rest(self) -> Iterator[None]:
        """The same for as long as everything takes to come to rest, while nothing drives obstacles."""
        robot, state = self.robot, self.state
        kept = clone_state(state)
        state.velocities.zero_()
        state.spins.zero_()
        self.contacts.begin(robot.positions, state, _AT_REST, robot.time, robot.model.pull)
        try:
            yield
        except BaseException:
            copy_state(kept, state)
            raise
        self.contacts.end(robot.positions, state, _AT_REST)
        for now, before in ((state.velocities, kept.velocities), (state.spins, kept.spins)):
            values = before.numpy().copy()
            values[self.contacts.bodies.numbers] = 0.0
            overwrite(now, values)

    def settle(self) -> bool:
        """Go to the equilibrium of the step under the efforts at hand, if that leads there."""
        self.robot.weigh()
        try:
            tried = self.newton.settle(self.robot.positions)
            return tried.done or tried.residual <= _ENOUGH * self.robot.model.load_scale
        except NoEquilibrium:
            return False

    def take(self, dt: float | None) -> bool:
        """Take a step of a time dt [s], or until all is at rest, under the efforts at hand; whether that leads there.

        If it does not, the robot has to be put back to where it was.
        """
        try:
            with self.rest() if dt is None else self.step(dt):
                if not self.settle():
                    raise _LostBalance
        except _LostBalance:
            return False
        return True

    def condensed(self, condenser: Condenser) -> Condensed:
        """The robot to first order where it stands, with contacts that stick and slide as they do there."""
        self.contacts.follow(self.robot.positions)
        condenser.assemble()
        return condenser.condense()

    @property
    def state(self) -> Touching:
        """What is between the robot and what it touches, as the last step has left it."""
        assert isinstance(self.robot.touch_state, Touching)
        return self.robot.touch_state
