"""The forward problem: where a soft robot comes to rest under given efforts, with contacts and held actuators.

A robot on which only given efforts act is left to Newton's method with its line search. Contacts, cables of fixed
length and closed chambers find their own forces: each iteration condenses the robot and solves their small problem.
Efforts that are too far for one go are approached in parts; where even small parts find no equilibrium, the robot has
collapsed, and it stays in the last one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.described import Described
from annelid.core.distinct import distinct_rows
from annelid.core.errors import InvalidValue, Unsupported
from annelid.core.options import require_kind, spelled_out
from annelid.fem.actuation.chamber import Chamber
from annelid.fem.contact.contacts import Placed
from annelid.fem.linalg.unknowns import NotPositiveDefinite
from annelid.fem.newton import Newton, NoEquilibrium, Settings
from annelid.fem.robots.choice import Situation, response
from annelid.fem.robots.condense import Condenser
from annelid.fem.robots.qp import NoSolution
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.touching import TouchingRobot
from annelid.fem.robots.within import Within
from annelid.fem.strains import most_stretched

_STILL = 1e-9  # of the size: a move that counts as none
_FAR = 0.1  # of the size: most that one iteration may move a node
_STRIDE = 30.0  # iterations that are made in one where they creep
_WEIGHINGS = 30
_NOTHING = 1e-12  # of the largest force of a contact: what rounding leaves of one that has ended
_MARGIN = 1e-4  # of the size: nodes that may touch in this iteration


@dataclass(frozen=True, eq=False)
class Posture:
    """Where a robot stood, to go back to."""

    positions: wp.array[Any]
    efforts: np.ndarray
    forces: np.ndarray | None
    obstacles: Placed | None = None

    @classmethod
    def of(cls, robot: Robot) -> Posture:
        """A copy of where it stands."""
        forces = None if robot.contacts is None else robot.contacts.forces.copy()
        touched = None if robot.touched is None else robot.touched.placed()
        return cls(wp.clone(robot.positions), robot.efforts.copy(), forces, touched)

    def restore(self, robot: Robot) -> None:
        """Put a robot back."""
        wp.copy(robot.positions, self.positions)
        robot.exert(self.efforts)
        if robot.contacts is not None and self.forces is not None:
            robot.contacts.forces[:] = self.forces
            robot.touch()
        if robot.touched is not None and self.obstacles is not None:
            robot.touched.put_back(self.obstacles)
        robot.weigh()


class Forward(Described):
    """Finds equilibria of a robot.

    Args:
        robot: The robot; it is moved.
        settings: How Newton's method works.
        condenser: Condenses the robot; one of its own unless shared.
        touching: Takes a robot that touches with friction from step to step; one of its own unless shared.
        dt: Time that `settle` takes [s], for obstacles that are driven or free; None lets all come to rest.

    Attributes:
        dt: That time; it can be changed.
    """

    @spelled_out("forward control")
    def __init__(
        self,
        robot: Robot,
        settings: Settings | None = None,
        *,
        condenser: Condenser | None = None,
        touching: TouchingRobot | None = None,
        dt: float | None = None,
    ) -> None:
        require_kind("what is solved forward", robot, Robot, "a fem.Robot")
        require_kind("settings", settings, (Settings, NoneType), "fem.Settings or None")
        robot.require_as_made()
        self.robot = robot
        self.settings = settings or Settings()
        self.newton = Newton(robot.model, self.settings)
        self.condenser = condenser or Condenser(robot)
        self._touching = TouchingRobot(robot) if touching is None and robot.touched is not None else touching
        self.dt = dt
        self._pairs = np.zeros((0, 2), int)

    def facts(self) -> Mapping[str, str]:
        """The robot, and the time of an equilibrium."""
        return {"of": repr(self.robot), "dt": str(self.dt)}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Forward, dt=self.dt), (self.robot, self.settings)

    def settle(self, efforts: Mapping[str, float] | ArrayLike | None = None) -> int:
        """Bring the robot to rest; the number of parts in which efforts were applied.

        Args:
            efforts: Efforts to go to, all of them or some by name, as far as limits of efforts and strokes, and their
                rates where `dt` is given, let actuators go. By default those it has, and those at which actuators are
                held, whatever their limits.

        Raises:
            NoEquilibrium: The robot collapses; it then is in the last equilibrium on the way.
        """
        goal = self._goal(efforts)
        if efforts is None:
            return self._go(goal)
        within = Within(self.robot, goal, self.dt)
        if within.idle:
            return self._go(within.goal)
        if self._touching is not None:
            raise Unsupported(
                "a robot that touches with friction", "stop actuators at limits of their strokes",
                ("fem.inverse_simulation",), "Leave out limits of growth, pull and travel, and their rates.",
            )  # fmt: skip
        begin = Posture.of(self.robot)
        return within.follow(self._go, lambda: begin.restore(self.robot))

    def _go(self, goal: np.ndarray) -> int:
        """Go to the equilibrium under efforts, in as many parts as need be."""
        robot, begin = self.robot, self.robot.efforts.copy()
        if self._touching is not None:
            return self._go_touching(self._touching, begin, goal)
        last = Posture.of(robot)
        reached, part, parts, lost = 0.0, 1.0, 0, math.inf
        while True:
            aim = min(1.0, reached + part)
            if self._attempt(begin + aim * (goal - begin)):
                last, reached, parts = Posture.of(robot), aim, parts + 1
                lost = lost if lost > reached else math.inf
                if reached == 1.0:
                    robot.model.measured.look(robot.positions)
                    return parts
                part = min(2.0 * part, 1.0 - reached)
                if lost <= reached + part:  # from farther away it led nowhere: halfway, and there once more in the end
                    half = 0.5 * (lost - reached)
                    part = half if half >= self.settings.smallest_part else lost - reached
                continue
            lost = aim
            last.restore(robot)
            if parts == 0 and part == 1.0:  # where it stood need not have been an equilibrium
                if self._attempt(begin) or self._from_rest(begin):
                    last, parts = Posture.of(robot), 1
                else:
                    last.restore(robot)
            part *= 0.5
            if part < self.settings.smallest_part:
                last.restore(robot)
                raise self._collapse(reached)

    def _collapse(self, reached: float) -> NoEquilibrium:
        """What is said of a robot that stands in the last equilibrium on its way."""
        robot = self.robot
        acting = [
            f"{one.effort_name} of {one.name} {effort:.4g} {one.effort_unit}"
            for one, effort in zip(robot.actuators, robot.efforts, strict=True)
        ]
        full = [isinstance(one, Chamber) and e > 0.0 for one, e in zip(robot.actuators, robot.efforts, strict=True)]
        does = "bursts" if (np.array(full, bool) & (robot.aim() > 0.0)).any() else "collapses"
        stretch = most_stretched(robot.solid.nodes, robot.solid.elements, robot.positions.numpy())
        return NoEquilibrium(
            f"the robot finds no equilibrium beyond {100 * reached:.3g} % of the way to these efforts "
            f"({', '.join(acting)}): it {does}; it stays in the last equilibrium, {stretch}; exert less, or stiffen "
            "the solid there: a stiffer material of that region, thicker walls, threads or fabrics.",
            fraction=reached,
            residual=float("nan"),
        )

    def _go_touching(self, touching: TouchingRobot, begin: np.ndarray, goal: np.ndarray) -> int:
        """Go from efforts to others in as many parts as need be, each of them a step that friction remembers."""
        robot, reached, part, parts = self.robot, 0.0, 1.0, 0
        while reached < 1.0:
            aim, last = min(1.0, reached + part), Posture.of(robot)
            robot.exert(begin + aim * (goal - begin))
            if touching.take(None if self.dt is None else self.dt * (aim - reached)):
                reached, parts, part = aim, parts + 1, 2.0 * part
                continue
            last.restore(robot)
            part *= 0.5
            if part < self.settings.smallest_part:
                raise NoEquilibrium(
                    f"the robot finds no equilibrium among what it touches beyond {100 * reached:.3g} % of the way to "
                    "these efforts: it collapses, or a body that nothing holds runs away; it stays in the last "
                    "equilibrium; exert less, support the body, or give its surface more friction.",
                    fraction=reached,
                    residual=float("nan"),
                )
        robot.model.measured.look(robot.positions)
        return parts

    def iterate(self, stride: float = 1.0) -> float:
        """One iteration towards the equilibrium, at the efforts at hand; the largest move of a node [m].

        Args:
            stride: Part of the move that is made, above 1 where iterations are known to creep.
        """
        robot, condenser = self.robot, self.condenser
        condenser.assemble()
        pairs = self.touching()
        condensed = condenser.condense(pairs)
        situation = Situation(robot, condensed, self.forces(pairs), float("inf"))
        change = response(situation, np.zeros(len(robot.drives)))
        moved = condenser.apply(change)
        share = min(stride, _FAR * robot.size / moved) if moved > 0.0 else 1.0
        if share != 1.0:
            condenser.restore()
            condenser.apply(change, share)
        self.take(pairs, share * change)
        return moved

    def touching(self) -> np.ndarray:
        """Pairs of obstacle and outer node that may press in the next step, shape [c, 2]."""
        contacts = self.robot.contacts
        if contacts is None:
            return np.zeros((0, 2), int)
        near = contacts.near(_MARGIN * self.robot.size)
        return distinct_rows(np.concatenate([near, self._pairs]))

    def penetrating(self, pairs: np.ndarray) -> bool:
        """Whether nodes have entered obstacles that were not watched; they are from now on, until `forget`."""
        contacts = self.robot.contacts
        if contacts is None:
            return False
        contacts.look(self.robot.positions.numpy())
        found = np.argwhere(contacts.gaps < -_MARGIN * self.robot.size)
        known = {tuple(pair) for pair in pairs.tolist()}
        fresh = [pair for pair in found.tolist() if tuple(pair) not in known]
        if fresh:
            self._pairs = np.concatenate([self._pairs, np.array(fresh, int)])
        return bool(fresh)

    def forget(self) -> None:
        """Watch only what touches."""
        self._pairs = np.zeros((0, 2), int)

    def forces(self, pairs: np.ndarray) -> np.ndarray:
        """Forces of some contacts [N], shape [c]."""
        contacts = self.robot.contacts
        return np.zeros(0) if contacts is None else contacts.forces[pairs[:, 0], pairs[:, 1]]

    def take(self, pairs: np.ndarray, change: np.ndarray, *, clip: bool = False) -> None:
        """Change efforts, by rounding not beyond their limits where asked, and forces of contacts."""
        robot = self.robot
        efforts = robot.efforts + change[: len(robot.drives)]
        if clip:
            ends = np.array([(e.low, e.high) for e, _ in robot.limits]).reshape(-1, 2)
            efforts = np.clip(efforts, np.minimum(ends[:, 0], robot.efforts), np.maximum(ends[:, 1], robot.efforts))
        robot.exert(efforts)
        if robot.contacts is not None:
            forces = robot.contacts.forces[pairs[:, 0], pairs[:, 1]] + change[len(robot.drives) :]
            forces[forces < _NOTHING * np.abs(forces).max(initial=0.0)] = 0.0
            robot.contacts.forces[pairs[:, 0], pairs[:, 1]] = forces

    def _goal(self, efforts: Mapping[str, float] | ArrayLike | None) -> np.ndarray:
        robot = self.robot
        goal = np.array([e.low if e.held else v for (e, _), v in zip(robot.limits, robot.efforts, strict=True)])
        if efforts is None:
            return goal
        before = robot.efforts.copy()
        try:
            robot.efforts = goal
            robot.exert(efforts)
            given = [not isinstance(efforts, Mapping) or name in efforts for name in robot.names]
            self._require_possible(np.array(given) & self._free())
            return robot.efforts
        finally:
            robot.exert(before)

    def _require_possible(self, given: np.ndarray) -> None:
        """Refuse efforts that actuators cannot exert or must not."""
        robot = self.robot
        for number in np.flatnonzero(given):
            actuator, (limits, _), effort = robot.drives[number].actuator, robot.limits[number], robot.efforts[number]
            if actuator.one_sided and effort < 0.0:
                raise InvalidValue(f"a cable cannot push: {actuator.name} was given {effort:g} N; give 0 or more.")
            rounding = 1e-9 * abs(effort)
            if not limits.low - rounding <= effort <= limits.high + rounding:
                raise InvalidValue(
                    f"{actuator.effort_name} of {actuator.name} cannot be {effort:g} {actuator.effort_unit}: its "
                    f"limits are {limits.low:g} and {limits.high:g}; exert less, or give it other limits."
                )

    def _attempt(self, efforts: np.ndarray) -> bool:
        """Go to the equilibrium under these efforts in one go, if that leads there."""
        robot = self.robot
        if not self.robot.constrained:
            robot.exert(efforts)
            return self._newton()
        free = self._free()
        robot.exert(np.where(free, efforts, robot.efforts))
        return self._iterations()

    def _from_rest(self, efforts: np.ndarray) -> bool:
        """Go to the equilibrium under these efforts from rest, with all loads and pressures growing from nothing."""
        robot = self.robot
        if robot.constrained:
            return False
        robot.exert(efforts)
        wp.copy(robot.positions, robot.model.rest)
        robot.weigh()
        try:
            self.newton.equilibrium(robot.positions)
        except NoEquilibrium:
            return False
        return self._newton()

    def _free(self) -> np.ndarray:
        """Actuators whose efforts are given."""
        robot = self.robot
        laws = [drive.actuator.law(0.0) is not None for drive in robot.drives]
        return np.array(
            [not stroke.held and not law for (_, stroke), law in zip(robot.limits, laws, strict=True)], bool
        )

    def _newton(self) -> bool:
        """Newton's method; weights that columns find are found anew until they stay."""
        robot = self.robot
        by_columns = any(drive.columns == 2 for drive in robot.drives)
        for _ in range(_WEIGHINGS if by_columns else 1):
            before = robot.positions.numpy().copy()
            robot.weigh()
            if not self.newton.settle(robot.positions).done:
                return False
            if np.abs(robot.positions.numpy() - before).max() < 1e3 * _STILL * robot.size:
                return True
        return True

    def _iterations(self) -> bool:
        self.forget()
        last, slow, ratio, stride = np.inf, 0, 0.0, 1.0
        for _ in range(self.settings.iterations):
            try:
                moved = self.iterate(stride)
            except (NoSolution, NotPositiveDefinite):
                return False
            if not np.isfinite(moved):
                return False
            slow = slow + 1 if moved > 0.9 * last else 0
            if slow > 8:
                return False
            # A shifted stiffness makes iterations creep along its softest mode, by the same part of the last each.
            # Then the sum of all that would follow is made in one.
            before, ratio, last = ratio, moved / last, moved
            creeps = stride == 1.0 and 0.3 < ratio < 1.0 and abs(ratio - before) < 0.05 * ratio
            stride = min(1.0 / (1.0 - ratio), _STRIDE) if creeps else 1.0
            if moved < _STILL * self.robot.size and not self.penetrating(self.touching()):
                return True
        return False
