"""The small problems of soft robots: how contacts and held actuators respond, and which efforts reach a target.

What acts are the k actuators, then the contacts. Of a contact, and of a cable that is held at a length, force and gap
are both 0 or more, and one of them is 0. A response without effectors is a convex program, whose optimality
conditions say just that. With effectors one must choose which contacts close: the choice begins with those of the
response and changes while that brings the effectors nearer (Coevoet et al., 2017, solve it alike).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from annelid.fem.robots.active import contact_name
from annelid.fem.robots.condense import Condensed
from annelid.fem.robots.qp import NoSolution, Program, Solution, solve
from annelid.fem.robots.robot import Robot

_CHOICES = 12  # of closed contacts that are tried
_TINY = 1e-12
_FIRST_DAMPING = 0.01


@dataclass(frozen=True, eq=False)
class Situation:
    """What a small problem is about.

    Attributes:
        robot: The robot, whose efforts, forces of contacts and limits count.
        condensed: The robot to first order.
        forces: Forces of the contacts that take part [N], shape [c].
        dt: Time that the change takes [s], for rates.
        begun: Efforts and strokes when that time began, shape [k] each; those of now unless told.
    """

    robot: Robot
    condensed: Condensed
    forces: np.ndarray
    dt: float
    begun: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the actuators, then forces of the contacts, shape [k + c]."""
        return np.concatenate([self.robot.efforts, self.forces])

    def effort_change(self, number: int) -> tuple[float, float]:
        """Smallest and largest change of the effort of an actuator."""
        limits, now = self.robot.limits[number][0], float(self.robot.efforts[number])
        return limits.change(now, self.dt, None if self.begun is None else float(self.begun[0][number]))

    def stroke_change(self, number: int) -> tuple[float, float]:
        """Smallest and largest change of the stroke of an actuator."""
        limits, now = self.robot.limits[number][1], float(self.condensed.strokes[number])
        return limits.change(now, self.dt, None if self.begun is None else float(self.begun[1][number]))

    @property
    def one_sided(self) -> np.ndarray:
        """Which of all that acts is either loose or at its gap, shape [k + c]."""
        held = [
            drive.actuator.one_sided and stroke.held
            for drive, (_, stroke) in zip(self.robot.drives, self.robot.limits, strict=True)
        ]
        return np.array([*held, *[True] * len(self.forces)], bool)

    def gaps(self) -> np.ndarray:
        """What must not become negative: gaps of contacts, and by how much a held cable is too short; shape [k + c]."""
        gaps = self.condensed.strokes.copy()
        for i in range(len(self.robot.limits)):
            gaps[i] = -self.stroke_change(i)[0]
        return gaps

    def laws(self) -> dict[int, tuple[float, float]]:
        """Effort and its slope of the actuators whose effort follows from their stroke."""
        found = {i: drive.actuator.law(float(self.condensed.strokes[i])) for i, drive in enumerate(self.robot.drives)}
        return {i: law for i, law in found.items() if law is not None}

    def held_strokes(self) -> list[int]:
        """Actuators that are held at a stroke and can both push and pull."""
        loose = self.one_sided
        return [i for i, (_, stroke) in enumerate(self.robot.limits) if stroke.held and not loose[i]]


def response(situation: Situation, change: np.ndarray) -> np.ndarray:
    """Changes of all that acts, shape [k + c], when the free actuators change by `change`, shape [k].

    Contacts, actuators that are held at a stroke and closed chambers find their own efforts.
    """
    condensed, laws = situation.condensed, situation.laws()
    loose, held = situation.one_sided, situation.held_strokes()
    own = np.flatnonzero(loose | np.isin(np.arange(len(loose)), [*held, *laws]))
    every = np.concatenate([change, np.zeros(len(loose) - len(change))])
    every[own] = 0.0
    if len(own) == 0:
        return every
    gaps, efforts = situation.gaps(), situation.efforts
    motion = condensed.drift + condensed.response @ every
    hessian = condensed.response[np.ix_(own, own)].copy()
    hessian = 0.5 * (hessian + hessian.T)
    gradient = gaps[own] + motion[own]
    for place, i in enumerate(own):
        if int(i) in laws:
            value, slope = laws[int(i)]
            gradient[place] = motion[i] + (efforts[i] - value) / -slope
            hessian[place, place] += 1.0 / -slope
    hessian += np.diag(_TINY * np.diag(hessian))
    low = np.where(loose[own], -efforts[own], -np.inf)
    names = tuple(_names(situation.robot, len(loose))[i] for i in own)
    nothing = np.zeros((0, len(own)))
    every[own] = solve(Program(hessian, gradient, nothing, low, np.full(len(own), np.inf), names)).z
    return every


@dataclass(frozen=True, eq=False)
class Choice:
    """Efforts that were chosen.

    Attributes:
        change: Changes of all that acts, shape [k + c].
        solution: The solution of the program that they come from.
        closed: Which contacts and held cables are at their gap, shape [k + c].
    """

    change: np.ndarray
    solution: Solution
    closed: np.ndarray


class Chooser:
    """Finds efforts that bring effectors to their targets.

    Args:
        robot: The robot.
        energy: Weight of the work of the actuators against the distance of the effectors [-].
        standing: Weight of the work of changes of efforts that is always there [-].

    Attributes:
        damping: Weight of the work of the changes of efforts [-]: large changes cost more.
        duals: How hard each limit pushed in the last program, which the next one begins with; empty before the first.
    """

    def __init__(self, robot: Robot, energy: float, *, standing: float = 0.0) -> None:
        self.robot, self.energy, self.standing, self.damping = robot, energy, standing, standing
        self.duals = np.zeros(0)

    def damp(self) -> None:
        """Make large changes of efforts more costly."""
        self.damping = max(_FIRST_DAMPING, 8.0 * self.damping)

    def relax(self) -> None:
        """Make them cheaper again."""
        self.damping = max(0.1 * self.damping if self.damping > _FIRST_DAMPING else 0.0, self.standing)

    def rest(self) -> None:
        """Let changes cost what they always do."""
        self.damping = self.standing

    @contextmanager
    def undamped(self) -> Iterator[None]:
        """While this lasts changes cost nothing."""
        kept, self.damping = self.damping, 0.0
        yield
        self.damping = kept

    def choose(self, situation: Situation, goals: np.ndarray) -> Choice:
        """The best change of efforts.

        Args:
            situation: What the problem is about.
            goals: Where effectors are to be [m], shape [p, 3].
        """
        loose = situation.one_sided
        closed = np.zeros(len(loose), bool)
        if loose.any():
            change = response(situation, np.zeros(len(self.robot.drives)))
            closed = loose & (situation.efforts + change > _TINY)
        best = self._solved(situation, goals, closed)
        for _ in range(_CHOICES if loose.any() else 0):
            other = self._opened(situation, best)
            if (other == best.closed).all():
                break
            try:
                trial = self._solved(situation, goals, other)
            except NoSolution:
                break
            if trial.solution.value >= best.solution.value - 1e-12 * abs(best.solution.value):
                break
            best = trial
        return best

    def _opened(self, situation: Situation, choice: Choice) -> np.ndarray:
        """Contacts after those have changed sides that their limit keeps from doing so."""
        loose, count = situation.one_sided, len(situation.one_sided)
        duals = choice.solution.duals
        rows = np.zeros(count)
        rows[loose] = duals[count + self._row_count(situation) :]
        scale = max(float(np.abs(duals[:count]).max(initial=0.0)), 1e-300)
        row_scale = max(float(np.abs(rows).max(initial=0.0)), 1e-300)
        leaves = choice.closed & (duals[:count] < -1e-6 * scale)
        joins = loose & ~choice.closed & (rows < -1e-6 * row_scale)
        return choice.closed ^ leaves ^ joins

    def _row_count(self, situation: Situation) -> int:
        return len(self._rows(situation)[0])

    def _solved(self, situation: Situation, goals: np.ndarray, closed: np.ndarray) -> Choice:
        program = self._program(situation, goals, closed)
        solution = solve(program, self.duals)
        self.duals = solution.duals
        return Choice(solution.z, solution, closed)

    def _program(self, situation: Situation, goals: np.ndarray, closed: np.ndarray) -> Program:
        condensed, count = situation.condensed, len(situation.one_sided)
        rows, low, high, names = self._rows(situation)
        loose = np.flatnonzero(situation.one_sided)
        gaps = situation.gaps() + condensed.drift
        hessian, gradient = self._objective(situation, goals)
        own_low, own_high = self._bounds(situation, closed)
        every = _names(self.robot, count)
        return Program(
            hessian,
            gradient,
            np.concatenate([rows, condensed.response[loose]]),
            np.concatenate([own_low, low, -gaps[loose]]),
            np.concatenate([own_high, high, np.where(closed[loose], -gaps[loose], np.inf)]),
            (*every, *names, *(f"gap of {every[i]}" for i in loose)),
        )

    def _objective(self, situation: Situation, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distance of the effectors, and a little of the work that the actuators do."""
        condensed, actuators = situation.condensed, len(self.robot.drives)
        scale = self.robot.effectors.scale
        effect = (scale[..., None] * condensed.effect).reshape(scale.size, -1)
        apart = (scale * (condensed.places + condensed.place_drift - goals)).ravel()
        hessian, gradient = effect.T @ effect, effect.T @ apart
        work = np.zeros_like(hessian)
        inner = condensed.response[:actuators, :actuators]
        work[:actuators, :actuators] = _convex(0.5 * (inner + inner.T))
        total = max(float(np.trace(work)), 1e-300)
        unit = float(np.trace(hessian[:actuators, :actuators])) / total
        factor = self.energy * unit
        hessian = hessian + (factor + self.damping * unit) * work
        gradient = gradient + factor * work @ situation.efforts
        # Contacts that the effectors do not feel have no curvature of their own.
        smallest = 1e-9 * factor * np.diag(condensed.response) + 1e-14 * np.diag(hessian).max(initial=0.0)
        return hessian + np.diag(np.maximum(smallest, 1e-300)), gradient

    def _bounds(self, situation: Situation, closed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the changes of efforts; a contact that is open has no force."""
        efforts, loose = situation.efforts, situation.one_sided
        low, high = np.full(len(efforts), -np.inf), np.full(len(efforts), np.inf)
        for i in range(len(self.robot.limits)):
            low[i], high[i] = situation.effort_change(i)
        low[loose] = np.maximum(low[loose], -efforts[loose])
        high[loose & ~closed] = -efforts[loose & ~closed]
        low[loose & ~closed] = -efforts[loose & ~closed]
        return low, high

    def _rows(self, situation: Situation) -> tuple[np.ndarray, list[float], list[float], list[str]]:
        """Limits of strokes and laws of closed chambers, as rows."""
        condensed, loose, laws = situation.condensed, situation.one_sided, situation.laws()
        rows, low, high, names = [], [], [], []
        for i, (_, stroke) in enumerate(self.robot.limits):
            actuator = self.robot.drives[i].actuator
            if i in laws:
                value, slope = laws[i]
                row = -slope * condensed.response[i]
                row[i] += 1.0
                right = value - situation.efforts[i] + slope * condensed.drift[i]
                rows, low, high = [*rows, row], [*low, right], [*high, right]
                names.append(f"gas law of {actuator.name}")
            elif stroke.bounded and not loose[i]:
                least, most = situation.stroke_change(i)
                rows.append(condensed.response[i])
                low.append(least - condensed.drift[i])
                high.append(most - condensed.drift[i])
                names.append(f"{actuator.stroke_name} of {actuator.name}")
        return np.array(rows).reshape(-1, len(loose)), low, high, names


def _convex(matrix: np.ndarray) -> np.ndarray:
    """A symmetric matrix without its negative eigenvalues, which friction can make of what actuators do."""
    values, axes = np.linalg.eigh(matrix)
    if values[0] >= -1e-9 * max(values[-1], 0.0):
        return matrix
    return np.asarray((axes * np.maximum(values, 1e-9 * values.max(initial=1e-300))) @ axes.T)


def _names(robot: Robot, count: int) -> tuple[str, ...]:
    actuators = [f"{drive.actuator.effort_name} of {drive.actuator.name}" for drive in robot.drives]
    return (*actuators, *(contact_name(i) for i in range(count - len(actuators))))
