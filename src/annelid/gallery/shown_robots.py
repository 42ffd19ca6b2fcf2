"""How robots are shown: by a scene or an environment that they act in, or by themselves while air fills them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from annelid import fem
from annelid.core.simulation import Simulation

SHOWN_BY = {
    "buried-worm": "scene/sandworm",
    "crawler": "scene/soft-crawler",
    "finger": "scene/finger",
    "gear-tower": "scene/gears",
    "gripper": "scene/soft-gripper",
    "pendulum": "scene/pendulum",
    "pneumatic-worm": "scene/pneumatic-worm",
    "pusher": "scene/push-block",
    "quadruped": "scene/walker",
    "runner": "scene/runner",
    "sandbox": "scene/wheel",
    "things": "scene/soft-gripper",
    "trunk": "scene/trunk",
    "tube": "environment/SoftCrawl",
    "tube-hand": "scene/soft-hand",
}
"""Entries that show a robot at work."""

SECONDS = 2.0
"""Time in which a robot by itself is filled and emptied [s]."""

_DT = 0.05


def breathing(make: Callable[..., fem.Robot], *, device: str, threads: int | None) -> Simulation[Any]:
    """A pneumatic robot whose air goes up to its highest pressure and back, from equilibrium to equilibrium."""
    robot = make(device=device, threads=threads)
    highest = {actuator.name: float(actuator.limits()[0].high) for actuator in robot.actuators}

    def script(time: float) -> dict[str, float]:
        part = 0.5 - 0.5 * math.cos(2.0 * math.pi * time / SECONDS)
        return {name: part * pressure for name, pressure in highest.items()}

    return fem.forward_simulation(robot, script, dt=_DT)
