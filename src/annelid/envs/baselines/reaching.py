"""Scripted reaching: pull towards the target until the tip is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import readings
from annelid.envs.worlds import Policy, Worlds

_LIFT = 80.0  # of an action, for each metre that the finger's tip is too low [1/m]
_PULL = 35.0  # of an action, for each metre that the trunk's tip is away [1/m]


def lifting(worlds: Worlds) -> Policy:
    """More pressure while the tip is too low, less while it is too high."""

    def act(observations: Any) -> np.ndarray:
        seen = readings(worlds, observations)
        return np.clip(seen["commanded"] + _LIFT * (seen["target"] - seen["tip"][:, 2:]), -1.0, 1.0)

    return act


def pulling(worlds: Worlds) -> Policy:
    """Of the long cables, more pull of those on the side of the target; the short ones stay slack."""

    def act(observations: Any) -> np.ndarray:
        seen = readings(worlds, observations)
        right, back, left, front = seen["commanded"][:, :4].T
        pull = np.stack([right - left, back - front], axis=1) + _PULL * (seen["target"] - seen["tip"][:, :2])
        longs = np.concatenate([np.maximum(pull, 0.0), np.maximum(-pull, 0.0)], axis=1) - 1.0
        return np.clip(np.concatenate([longs, -np.ones_like(longs)], axis=1), -1.0, 1.0)

    return act
