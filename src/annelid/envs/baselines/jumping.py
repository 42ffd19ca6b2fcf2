"""A scripted jump: all voxels together."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import times
from annelid.envs.worlds import Policy, Worlds

_PERIOD, _CROUCH = 0.9, 0.4  # of a jump, and the part of it in which the robot is small [s]


def jumping(worlds: Worlds) -> Policy:
    """Shrink, then grow at once, again and again: what the ground gives back adds up."""

    def act(_: Any) -> np.ndarray:
        small = times(worlds) % _PERIOD < _CROUCH - 1e-6
        return np.where(small, 1.0, -1.0)[:, None] * np.ones(worlds.action_size)

    return act
