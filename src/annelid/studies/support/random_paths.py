"""Targets for robots of chance: paths that forward solves have found, and places out of reach."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from annelid import fem
from annelid.fem.robots.forward import Posture

_SOLVED = fem.Settings(tolerance=1e-7, iterations=20, smallest_part=0.2)
_BEYOND = 1.3  # of the way to the end of what actuators can do
_APPROACH, _RESTING = 12, 4  # steps towards a place out of reach, and those in which efforts should not change


@dataclass(frozen=True)
class Stretched:
    """How a robot was led to a place out of its reach.

    Attributes:
        distance: Where it ended, from there [m].
        optimum: The same of the best efforts within limits that forward solves have found [m].
        wander: Largest change of an effort over the last steps, as a part of its limit [-].
    """

    distance: float
    optimum: float
    wander: float


def reachable(
    robot: fem.Robot, rng: np.random.Generator, count: int, stride: float, *, bounded: bool
) -> list[np.ndarray]:
    """Places of the effectors [m], shape [p, 3], that forward solves have reached; the robot is left at the first.

    Args:
        robot: The robot; it is moved.
        rng: Chance.
        count: How many places.
        stride: Most that an effector moves from one to the next [m].
        bounded: Whether efforts of chance are at their limits now and then.
    """
    forward, most = fem.Forward(robot, _SOLVED), _limits(robot)
    first = _gone_to(forward, rng.uniform(0.05, 0.3, len(most)) * most)
    start = stood = Posture.of(robot)
    here, goal, share = first, _drawn(rng, most, bounded), 0.05
    places = [robot.places().copy()]
    while len(places) <= count:
        moved = _moved_to(forward, here + share * (goal - here), places[-1])
        if moved > stride:
            if not np.isfinite(moved):  # a wall has given way: go elsewhere
                goal = _drawn(rng, most, bounded)
            share *= min(0.9, 0.9 * stride / moved) if np.isfinite(moved) else 0.5
            stood.restore(robot)
            continue
        here = here + share * (goal - here)
        places.append(robot.places().copy())
        stood = Posture.of(robot)
        share = min(share * min(max(0.8 * stride / max(moved, 1e-12), 1.0), 4.0), 1.0)
        if np.linalg.norm(goal - here) < 1e-2 * np.linalg.norm(most):
            goal, share = _drawn(rng, most, bounded), 0.02
    start.restore(robot)
    return places


def stretched(robot: fem.Robot, control: fem.Inverse) -> Stretched:
    """Lead a robot to where its actuators would bring it if they could do more, and compare with the optimum."""
    most, scale = _limits(robot), robot.effectors.scale
    forward = fem.Forward(robot, _SOLVED)
    stood = Posture.of(robot)
    goals = _out_of_reach(forward, most)
    stood.restore(robot)
    found = []
    for _ in range(_APPROACH):
        with suppress(fem.NoEquilibrium):  # a wall would give way further on: the robot stays where it is
            control.step_to(goals)
        found.append(robot.efforts.copy())
    distance = float(np.linalg.norm(scale * (robot.places() - goals), axis=1).max())

    def apart(parts: np.ndarray) -> np.ndarray:
        _gone_to(forward, parts * most)
        return np.asarray(1e3 * scale * (robot.places() - goals)).ravel()

    guess = np.clip(found[-1] / most, 1e-3, 1.0 - 1e-3)
    best = least_squares(apart, guess, bounds=(0.0, 1.0), diff_step=1e-3, xtol=1e-4, ftol=1e-5, max_nfev=12)
    missed = float(np.linalg.norm(apart(best.x).reshape(scale.shape), axis=1).max()) * 1e-3
    wander = float((np.ptp(found[-_RESTING:], axis=0) / most).max())
    return Stretched(distance, missed, wander)


def _out_of_reach(forward: fem.Forward, most: np.ndarray) -> np.ndarray:
    """Places beyond where all actuators lead that pull the effectors the way of the strongest [m], shape [p, 3]."""
    robot, moves = forward.robot, []
    _gone_to(forward, 0.0 * most)
    start, stood = robot.places().copy(), Posture.of(robot)
    for number in range(len(most)):
        stood.restore(robot)
        _gone_to(forward, np.where(np.arange(len(most)) == number, most, 0.0))
        moves.append((robot.effectors.scale * (robot.places() - start)).ravel())
    strongest = max(moves, key=np.linalg.norm)
    _gone_to(forward, np.where([move @ strongest > 0.0 for move in moves], most, 0.0))
    return np.asarray(start + _BEYOND * (robot.places() - start))


def _limits(robot: fem.Robot) -> np.ndarray:
    return np.array([limits.high for limits, _ in robot.limits])


def _drawn(rng: np.random.Generator, most: np.ndarray, bounded: bool) -> np.ndarray:
    """Efforts to go to."""
    if bounded:
        return np.clip(rng.uniform(-0.5, 1.2, len(most)), 0.0, 1.0) * most
    return rng.uniform(0.05, 0.8, len(most)) * most


def _gone_to(forward: fem.Forward, efforts: np.ndarray) -> np.ndarray:
    """Go to some efforts, or as far as there are equilibria on the way there; the efforts that were reached."""
    with suppress(fem.NoEquilibrium):  # a wall would give way: the robot stays in the last equilibrium
        forward.settle(efforts)
    return forward.robot.efforts.copy()


def _moved_to(forward: fem.Forward, efforts: np.ndarray, before: np.ndarray) -> float:
    """Go to some efforts; how far an effector has moved [m], infinite where there is no equilibrium."""
    try:
        forward.settle(efforts)
    except fem.NoEquilibrium:
        return float("inf")
    return float(np.linalg.norm(forward.robot.places() - before, axis=1).max())
