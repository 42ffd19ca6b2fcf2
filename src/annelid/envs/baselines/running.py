"""A scripted run: all legs turn forwards, those on the outer side of a curve faster."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import readings
from annelid.envs.worlds import Policy, Worlds

_SPEED, _STEER = 0.6, 1.0  # of an action, and for each radian off the course
_LEFT = np.array([1.0, -1.0, 1.0, -1.0])  # legs on the left and on the right


def running(worlds: Worlds) -> Policy:
    """Run straight on, steering by the heading."""

    def act(observations: Any) -> np.ndarray:
        x, y, z, w = readings(worlds, observations)["turn"].T
        heading = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y**2 + z**2))
        return np.clip(_SPEED + _STEER * heading[:, None] * _LEFT, -1.0, 1.0)

    return act
