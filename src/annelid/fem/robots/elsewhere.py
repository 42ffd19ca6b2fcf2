"""Efforts beyond those from which control finds no way: where a robot first responds the other way round.

Control knows how a robot responds where it stands. At a limit from which small changes lead away from the target, as in
a tube whose threads are still slack, larger ones may lead there; forward solves tell.
"""

from __future__ import annotations

import numpy as np

from annelid.fem.newton import NoEquilibrium
from annelid.fem.robots.forward import Forward, Posture
from annelid.fem.robots.passes import missed
from annelid.fem.robots.robot import Robot

_SHARES = 0.05, 0.2, 0.5  # of the range of an effort, away from the limit at which it is
_AT = 1e-3  # of the range: so near an effort is at its limit
_NEARER = 0.98  # of the distance from the targets: what is worth to go elsewhere


def go_elsewhere(forward: Forward, goals: np.ndarray) -> bool:
    """Go where efforts that leave their limits bring the effectors nearer to their goals; False if they do not.

    Args:
        forward: Solves for the robot, which is moved.
        goals: Where the sums of the effectors are to be [m], shape [p, 3].
    """
    robot = forward.robot
    begin = best = Posture.of(robot)
    least = _NEARER * missed(robot, goals)
    for efforts in _candidates(robot):
        begin.restore(robot)
        try:
            forward.settle(efforts)
        except NoEquilibrium:
            continue
        there = missed(robot, goals)
        if there < least:
            least, best = there, Posture.of(robot)
    best.restore(robot)
    return best is not begin


def _candidates(robot: Robot) -> list[np.ndarray]:
    """Efforts to try: one after the other, each that is at a limit farther and farther from there."""
    found = []
    for number, (limits, _) in enumerate(robot.limits):
        now, width = float(robot.efforts[number]), limits.high - limits.low
        if not np.isfinite(width) or np.isfinite(limits.rate) or width <= 0.0:
            continue
        ends = [(limits.low, 1.0), (limits.high, -1.0)]
        for end, way in (each for each in ends if abs(now - each[0]) <= _AT * width):
            for share in _SHARES:
                efforts = robot.efforts.copy()
                efforts[number] = end + way * share * width
                found.append(efforts)
    return found
