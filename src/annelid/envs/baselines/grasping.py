"""Scripted grasping: down, close, lift, and hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import times
from annelid.envs.worlds import Policy, Worlds

_DOWN, _CLOSED = 0.35, 0.9  # when the hand is down, and when the fingers are closed [s]
_SQUEEZE = 0.4  # of the pressure, from -1 to 1


def grasping(worlds: Worlds) -> Policy:
    """The same in every episode: lower the hand, squeeze with a pressure that suits most balls, lift."""

    def act(_: Any) -> np.ndarray:
        time = times(worlds)
        actions = np.full((worlds.count, worlds.action_size), -1.0)
        actions[time >= _DOWN, :-1] = _SQUEEZE
        actions[time >= _CLOSED, -1] = 1.0
        return actions

    return act
