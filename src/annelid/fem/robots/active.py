"""Limits that stand in the way: numbered, so that states can hold them, and in words.

The limits of a robot are those of the efforts of its k actuators, then of the forces of its contacts, obstacle by
obstacle, then of the k strokes. For each there is a number: 0 where it does not stand in the way.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from annelid.fem.actuation.limits import Limits
from annelid.fem.robots.robot import Robot

_LEAST, _MOST, _RATE = 1, 2, 3
_SIDES = {"least": _LEAST, "most": _MOST}


def limit_count(robot: Robot) -> int:
    """Number of limits of a robot."""
    return 2 * len(robot.drives) + (0 if robot.contacts is None else robot.contacts.forces.size)


def contact_name(number: int) -> str:
    """What the force of a contact is called in the program of a step."""
    return f"force of contact {number}"


def active_limits(robot: Robot, found: Iterable[tuple[str, str]], pairs: np.ndarray, strokes: np.ndarray) -> np.ndarray:
    """Which limits stand in the way, shape [l]: 0, or 1 at the lower limit, 2 at the upper one, 3 at that of the rate.

    Args:
        robot: The robot, where the step has led.
        found: Names of limits that push, and the side of each: "least" or "most".
        pairs: Obstacle and outer node of each contact, shape [c, 2].
        strokes: Strokes of the actuators, shape [k].
    """
    numbers = np.zeros(limit_count(robot), np.int32)
    places = _places(robot, pairs)
    for name, side in found:
        if name not in places:  # gaps follow from forces
            continue
        place, limit, value = places[name], None, 0.0
        if place < len(robot.drives):
            limit, value = robot.limits[place][0], float(robot.efforts[place])
        elif place >= len(numbers) - len(robot.drives) and not name.startswith("gas law"):
            number = place - len(numbers) + len(robot.drives)
            limit, value = robot.limits[number][1], float(strokes[number])
        numbers[place] = _RATE if limit is not None and _hurried(limit, value, side) else _SIDES[side]
    return numbers


def in_words(robot: Robot, numbers: np.ndarray) -> tuple[str, ...]:
    """Limits that stand in the way, such as "pressure of left at most"; how fast, where that is what does."""
    words = []
    for place in np.flatnonzero(numbers).tolist():
        name, code = _name(robot, place), int(numbers[place])
        if code == _RATE:
            words.append(f"rate of {name} at most")
        else:
            words.append(f"{name} at {'least' if code == _LEAST else 'most'}")
    return tuple(words)


def _hurried(limit: Limits, value: float, side: str) -> bool:
    """Whether it is the rate that limits: the value is not at its limit."""
    bound = limit.low if side == "least" else limit.high
    return bool(np.isfinite(limit.rate) and not abs(value - bound) <= 1e-2 * abs(bound))


def _places(robot: Robot, pairs: np.ndarray) -> dict[str, int]:
    """Place of each limit by the name that it has in the program of a step."""
    actuators, count = robot.actuators, len(robot.drives)
    places = {f"{each.effort_name} of {each.name}": i for i, each in enumerate(actuators)}
    first = limit_count(robot) - count
    for i, each in enumerate(actuators):
        places[f"{each.stroke_name} of {each.name}"] = places[f"gas law of {each.name}"] = first + i
    if robot.contacts is not None:
        width = robot.contacts.forces.shape[1]
        for i, (obstacle, node) in enumerate(pairs.tolist()):
            places[contact_name(i)] = count + obstacle * width + node
    return places


def _name(robot: Robot, place: int) -> str:
    count, total = len(robot.drives), limit_count(robot)
    if place < count:
        actuator = robot.actuators[place]
        return f"{actuator.effort_name} of {actuator.name}"
    if place >= total - count:
        actuator = robot.actuators[place - total + count]
        closed = actuator.law(0.0) is not None
        return f"gas law of {actuator.name}" if closed else f"{actuator.stroke_name} of {actuator.name}"
    assert robot.contacts is not None
    obstacle, node = divmod(place - count, robot.contacts.forces.shape[1])
    return f"force of {robot.contacts.obstacles[obstacle].name} on node {robot.contacts.loads.outer[node]}"
