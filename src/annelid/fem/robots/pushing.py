"""Inverse control of a robot that touches with friction: how one step goes.

What sticks resists a thousand times as much as what slides, and which of both it does follows from how far things move.
So effectors are first held at their goals, by springs: then contacts press, stick and slide as they will in the end, no
matter with which efforts. How the robot would move from there, if it were let go, says which efforts make the springs
superfluous. Efforts are changed and effectors held anew until nothing pulls at the springs; then these are let go.

Where limits stand in the way, effectors are held where they are foreseen to end. What is then still missed is led
nearer without springs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from annelid.fem.newton import NoEquilibrium
from annelid.fem.robots.choice import Choice, Chooser, Situation
from annelid.fem.robots.condense import Condensed, Condenser
from annelid.fem.robots.forward import Posture
from annelid.fem.robots.passes import Found, foreseen, missed, near_enough, within_reach
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.touching import TouchingRobot

_HOLDS = 8  # at most: how often efforts are found while effectors are held
_PASSES = 4  # at most: how often they are found while nothing holds them
_ATTEMPTS = 4  # at most: changes of efforts that are tried, each smaller than the one before
_LESS = 0.8  # of the force that held effectors: less than that is progress
_LEAPS, _LEAP = 4, 4.0  # so often the force may grow, to so much of the largest
_LITTLE, _NOTHING = 0.02, 1e-3  # of the largest force that held effectors: enough to let them go, and as good as none
_PROGRESS = 0.1  # of the way that was foreseen: less than that is none
_SLACK = 2e-5  # of the size: error of what is foreseen
_NO_PAIRS = np.zeros((0, 2), int)


@dataclass(frozen=True, eq=False)
class _Task:
    """What a step is to do.

    Attributes:
        goals: Where the sums of the effectors are to be [m], shape [p, 3].
        dt: Time that passes [s].
        begun: Efforts and strokes when it began, shape [k] each.
        start: Where the robot stood.
    """

    goals: np.ndarray
    dt: float
    begun: tuple[np.ndarray, np.ndarray]
    start: Posture


class Pushing:
    """Takes a robot that touches nearer to its goals, a step at a time.

    Args:
        touching: The robot and what it touches.
        condenser: Condenses the robot.
        chooser: Chooses efforts.
        reach: Farthest that effectors are asked to go at once [m].
    """

    def __init__(self, touching: TouchingRobot, condenser: Condenser, chooser: Chooser, *, reach: float) -> None:
        self.robot: Robot = touching.robot
        self.touching, self.condenser, self.chooser, self._reach = touching, condenser, chooser, reach
        assert self.robot.pins is not None
        self._pins = self.robot.pins

    def nearer(self, goals: np.ndarray, dt: float) -> Found:
        """One step of a time dt [s] towards goals [m], shape [p, 3].

        Raises:
            NoEquilibrium: No change of efforts leads to an equilibrium; nothing has been kept of the step.
        """
        robot = self.robot
        with self.touching.step(dt):
            task = _Task(goals, dt, (robot.efforts.copy(), robot.aim()), Posture.of(robot))
            best = self._led_freely(task, self._led_by_hand(task)) or self._stayed(task)
            self.chooser.rest()
            best.posture.restore(robot)
            moves = best.posture.positions.numpy() - task.start.positions.numpy()
        return replace(best, moved=float(np.linalg.norm(moves, axis=1).max()))

    # --- effectors are held ---

    def _led_by_hand(self, task: _Task) -> Found | None:
        """Hold effectors at their goals and find efforts with which nothing has to; None where that leads nowhere."""
        robot = self.robot
        pull = most = self._held(within_reach(robot.places(), task.goals, robot, self._reach))
        choice, hoped, number, least = None, np.inf, 0, (np.inf, task.start)
        while np.isfinite(pull) and number < _HOLDS and (choice is None or pull > _LITTLE * most):
            number += 1
            here, condensed = Posture.of(robot), self.touching.condensed(self.condenser)
            self.chooser.rest()
            choice = self._chosen(task, condensed, here)
            hoped = self._hoped(task, condensed, here)
            aim = condensed.places + condensed.place_drift + condensed.effect @ choice.change
            most = max(most, pull)
            allowed = _LEAP * most if number <= _LEAPS else max(_LESS * pull, _NOTHING * most)
            less = self._held_with_less(task, condensed, here, choice, aim, allowed)
            if less is None:
                break
            pull = less
            if pull < least[0]:
                least = pull, Posture.of(robot)
        if np.isfinite(least[0]) and pull > least[0]:
            least[1].restore(robot)
        if choice is None or not self.touching.settle():
            task.start.restore(robot)
            return None
        there = missed(robot, task.goals)
        return Found(there, hoped, Posture.of(robot), choice, _NO_PAIRS, 1.0, 0.0, number)

    def _held_with_less(
        self,
        task: _Task,
        condensed: Condensed,
        here: Posture,
        choice: Choice,
        aim: np.ndarray,
        allowed: float,
    ) -> float | None:
        """Change efforts, less and less, until an allowed force holds effectors [N]; it, None where none does."""
        robot, trial = self.robot, choice
        for _ in range(_ATTEMPTS):
            robot.exert(here.efforts + trial.change)
            there = self._held(aim)
            if there < allowed:
                return there
            here.restore(robot)
            self.chooser.damp()
            trial = self._chosen(task, condensed, here)
        return None

    def _held(self, aim: np.ndarray) -> float:
        """Hold effectors at places [m], shape [p, 3]; the force that this takes [N], infinite where it cannot be."""
        self._pins.hold(aim)
        try:
            return self._pins.pull(self.robot.places()) if self.touching.settle() else np.inf
        finally:
            self._pins.release()

    # --- nothing holds them ---

    def _led_freely(self, task: _Task, best: Found | None) -> Found | None:
        """Lead effectors nearer to their goals, as long as they are not as near as was foreseen."""
        robot = self.robot
        enough, slack = near_enough(robot), _SLACK * robot.size
        for _ in range(_PASSES):
            if best is not None and best.missed <= max(enough, best.foreseen + slack):
                break
            nearer = self._nearer(task, enough)
            if nearer is None:
                break
            best = replace(nearer, passes=1 if best is None else best.passes + 1)
        return best

    def _nearer(self, task: _Task, enough: float) -> Found | None:
        """Change efforts, less and less, until effectors come nearer; None where they do not."""
        robot, chooser = self.robot, self.chooser
        here, now = Posture.of(robot), missed(robot, task.goals)
        condensed = self.touching.condensed(self.condenser)
        chooser.rest()
        for _ in range(_ATTEMPTS):
            choice = self._chosen(task, condensed, here)
            hoped = foreseen(robot, condensed, task.goals, choice.change)
            robot.exert(here.efforts + choice.change)
            there = missed(robot, task.goals) if self.touching.settle() else np.inf
            posture = Posture.of(robot)
            if there <= enough or there < now - _PROGRESS * max(now - hoped, 0.0):
                best = self._hoped(task, condensed, here)
                return Found(there, best, posture, choice, _NO_PAIRS, 1.0, 0.0)
            here.restore(robot)
            chooser.damp()
        return None

    def _stayed(self, task: _Task) -> Found:
        """Stay, while time passes: where no change of efforts leads anywhere, the next step may."""
        robot = self.robot
        task.start.restore(robot)
        condensed = self.touching.condensed(self.condenser)
        choice = replace(self._chosen(task, condensed, task.start), change=np.zeros(len(robot.drives)))
        if not self.touching.settle():
            raise _lost()
        return Found(missed(robot, task.goals), np.inf, Posture.of(robot), choice, _NO_PAIRS, 0.0, 0.0)

    def _hoped(self, task: _Task, condensed: Condensed, here: Posture) -> float:
        """Distance from the goals that efforts are foreseen to leave, if their changes cost nothing [m]."""
        exerted = self.robot.efforts.copy()
        with self.chooser.undamped():
            choice = self._chosen(task, condensed, here)
        self.robot.exert(exerted)
        return foreseen(self.robot, condensed, task.goals, choice.change)

    def _chosen(self, task: _Task, condensed: Condensed, here: Posture) -> Choice:
        """The best change of the efforts that a posture has."""
        robot = self.robot
        robot.exert(here.efforts)
        situation = Situation(robot, condensed, np.zeros(0), task.dt, task.begun)
        return self.chooser.choose(situation, within_reach(condensed.places, task.goals, robot, self._reach))


def _lost() -> NoEquilibrium:
    return NoEquilibrium(
        "no part of the step leads to an equilibrium: the robot, or a body that it touches, would run away; it stays "
        "in the last one; lower the limits of its actuators, take a smaller dt, or move the target away.",
        fraction=0.0,
        residual=float("nan"),
    )
