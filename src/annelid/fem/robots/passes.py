"""What a pass of inverse control has led to, and when no further one follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.fem.robots.choice import Choice
from annelid.fem.robots.condense import Condensed
from annelid.fem.robots.forward import Posture
from annelid.fem.robots.robot import Robot

PASSES = 6
"""Passes in a step, at most."""
_NEAR, _NEAR_ENOUGH = 4e-4, 3e-5  # of the size, and [m]: a target as near as the smaller of them needs no further pass


@dataclass(frozen=True, eq=False)
class Found:
    """Where a pass has led.

    Attributes:
        missed: Weighted distance of all effectors from their goals [m].
        foreseen: What that would be to first order [m].
        posture: Where the robot stands.
        choice: How efforts were chosen.
        pairs: Obstacle and outer node of each contact that took part, shape [c, 2].
        share: Part of the change that was taken.
        moved: Largest move of a node [m].
        passes: Passes of the step.
    """

    missed: float
    foreseen: float
    posture: Posture
    choice: Choice
    pairs: np.ndarray
    share: float
    moved: float
    passes: int = 1


def near_enough(robot: Robot) -> float:
    """Distance from the goals at which no further pass follows [m]."""
    return min(_NEAR * robot.size, _NEAR_ENOUGH)


def missed(robot: Robot, goals: np.ndarray) -> float:
    """Weighted distance of all effectors from their goals [m], where the robot stands."""
    return float(np.linalg.norm(robot.effectors.scale * (robot.places() - goals)))


def foreseen(robot: Robot, condensed: Condensed, goals: np.ndarray, change: np.ndarray) -> float:
    """What `missed` would be to first order after a change of efforts [m]."""
    places = condensed.places + condensed.place_drift + condensed.effect @ change
    return float(np.linalg.norm(robot.effectors.scale * (places - goals)))


def stands(robot: Robot, condensed: Condensed, posture: Posture, drift: float) -> bool:
    """Whether a robot may stay in a posture: within its limits, and in balance.

    Contacts and actuators that are held find their own forces; what they are is found by moving.

    Args:
        robot: The robot.
        condensed: The robot to first order, where it stood or after it was balanced there.
        posture: Where it stood.
        drift: How far effectors may drift from there [m].
    """
    if robot.constrained:
        return False
    moved = condensed.places + condensed.place_drift - robot.effectors.places(posture.positions.numpy())
    if float(np.linalg.norm(robot.effectors.scale * moved)) > drift:
        return False
    pairs = zip(robot.limits, posture.efforts, condensed.strokes, strict=False)
    return all(effort.allows(now) and stroke.allows(at) for (effort, stroke), now, at in pairs)


def within_reach(places: np.ndarray, goals: np.ndarray, robot: Robot, most: float) -> np.ndarray:
    """Goals, or places on the way there that are no farther than `most` [m] from where effectors are, shape [p, 3]."""
    apart = goals - places
    counts = robot.effectors.scale > 0.0
    far = float(np.linalg.norm(np.where(counts, apart, 0.0), axis=1).max())
    return np.asarray(places + apart * min(1.0, most / max(far, 1e-300)))
