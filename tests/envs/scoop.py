"""A scoop by script: way-points of the bucket's edge, the joint angles for them, and the actions that follow them.

It shows what the arm can do and what it feels, and gives learners something to imitate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.envs.excavation import Excavation
from annelid.envs.machines import HOME
from annelid.envs.task_worlds import TaskWorlds
from annelid.shapes.values import Floats

_ENTRY, _EXIT, _LEAN = 0.55, 0.5, 0.3  # slopes of the cut where it begins and ends, and lean of the bucket [rad]
_DOWN = np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])  # the mouth looks at the arm's foot


@dataclass(frozen=True)
class Stop:
    """A way-point.

    Attributes:
        x: Place of the middle of the bucket's edge [m].
        y: The same.
        z: Its height [m].
        pitch: How far the mouth is turned up; at 0 it looks at the foot of the arm [rad].
        seconds: Time to get there [s].
    """

    x: float
    y: float
    z: float
    pitch: float
    seconds: float


def scoop_stops(depth: float = 0.035, surface: float = 0.1) -> list[Stop]:
    """Lead the edge along an arc that is `depth` below the surface of the soil at its lowest [m], turn up and lift.

    The edge cuts along the arc; the bucket leans forwards by a little more, so that its heel stays in the cut.
    """
    radius = depth / (1.0 - math.cos(_ENTRY))
    middle = 0.66 - radius * math.sin(_ENTRY), surface - depth + radius
    stops = [Stop(0.67, 0.0, surface + 0.05, -_ENTRY - _LEAN, 1.8)]
    for along in np.linspace(-_ENTRY, _EXIT, 8):
        x, z = middle[0] - radius * math.sin(along), middle[1] - radius * math.cos(along)
        stops.append(Stop(x, 0.0, z, float(along) - _LEAN, 0.5))
    last = stops[-1]
    return [*stops, Stop(last.x, 0.0, surface + 0.08, 0.9, 1.0), Stop(last.x + 0.02, 0.0, surface + 0.30, 1.2, 1.0)]


def edge_frame(worlds: TaskWorlds, stop: Stop) -> Floats:
    """Frame of the tool that puts the bucket's edge at a way-point, shape [4, 4]."""
    frame = np.eye(4)
    frame[:3, :3] = _DOWN @ Rotation.from_euler("y", stop.pitch).as_matrix()
    frame[:3, 3] = np.array([stop.x, stop.y, stop.z]) - frame[:3, :3] @ np.asarray(_task(worlds).bucket.lip)
    return frame


def follow(worlds: TaskWorlds, stops: Sequence[Stop]) -> Iterator[int]:
    """Step all worlds along the way-points; yields the number of the way-point that is approached, after each action.

    Between two of them the edge goes straight and the bucket turns evenly.
    """
    begin = np.asarray(worlds.observations["angles"].numpy()[0], float)
    angles, before = begin, None
    task = _task(worlds)
    most = task.speed * task.chain.speed * worlds.action_seconds
    for number, stop in enumerate(stops):
        count = max(1, round(stop.seconds / worlds.action_seconds))
        goals = _angles(worlds, before, stop, count, angles)
        before = stop
        for goal in goals:
            now = worlds.observations["angles"].numpy().astype(float)
            worlds.step(np.clip((goal - now) / most, -1.0, 1.0))
            yield number
        angles = goals[-1]


def _angles(worlds: TaskWorlds, before: Stop | None, stop: Stop, count: int, start: Floats) -> Floats:
    """Joint angles on the way, shape [count, joints]; the first way-point is reached by turning the joints evenly."""
    if before is None:
        goal = _reach(worlds, stop, HOME)
        return start + (goal - start) * (np.arange(1, count + 1) / count)[:, None]
    found, angles = [], start
    for part in np.arange(1, count + 1) / count:
        x, y, z, pitch = (a + part * (b - a) for a, b in zip(_numbers(before), _numbers(stop), strict=True))
        angles = _reach(worlds, Stop(x, y, z, pitch, stop.seconds), angles)
        found.append(angles)
    return np.array(found)


def _reach(worlds: TaskWorlds, stop: Stop, start: Floats) -> Floats:
    angles, error = _task(worlds).chain.reach(edge_frame(worlds, stop), start)
    if error[0] > 1e-3:
        raise InvalidValue(f"the arm does not reach {stop}: {error[0]:.2g} is left.")
    return np.asarray(angles[0])


def _numbers(stop: Stop) -> tuple[float, float, float, float]:
    return stop.x, stop.y, stop.z, stop.pitch


def _task(worlds: TaskWorlds) -> Excavation:
    if not isinstance(worlds.task, Excavation):
        raise InvalidValue(f"way-points are for worlds of Excavation, not of {type(worlds.task).__name__}.")
    return worlds.task
