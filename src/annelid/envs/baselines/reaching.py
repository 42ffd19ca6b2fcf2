"""Scripted reaching: pull towards the target until the tip is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from annelid.envs.baselines.parts import readings
from annelid.envs.worlds import Policy, Worlds

_LIFT = 80.0  # of an action, for each metre that the finger's tip is too low [1/m]
_PULL = 35.0  # of an action, for each metre that the trunk's tip is away [1/m]
_GENTLE = 12.0  # the same of a trunk in motion, which needs time to follow [1/m]
_BESIDE = 0.032  # how far from the post the tip passes it [m]
_CLOSE = 0.01  # how far before the post it turns to the target, and how far behind it is past it [m]


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
        return pulled(seen, seen["target"], _PULL)

    return act


def rounding(worlds: Worlds) -> Policy:
    """The same, but first to a place beside the post, on the side where it is less in the way."""

    def act(observations: Any) -> np.ndarray:
        seen = readings(worlds, observations)
        target, tip, post = seen["target"], seen["tip"][:, :2], seen["post"][:, :2]
        ahead = target / np.linalg.norm(target, axis=1, keepdims=True)
        across = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
        side = np.where((post * across).sum(axis=1) > 0.0, -1.0, 1.0)[:, None] * across
        further, aside = (((tip - post) * way).sum(axis=1) for way in (ahead, side))
        passed = (further > _CLOSE) | ((further > -_CLOSE) & (aside > 0.0))
        return pulled(seen, np.where(passed[:, None], target, post + _BESIDE * side), _GENTLE)

    return act


def pulled(seen: Mapping[str, np.ndarray], aims: np.ndarray, gain: float) -> np.ndarray:
    """An action that changes the pull of long cables towards places, x, y [m], by so much for each metre [1/m]."""
    right, back, left, front = seen["commanded"][:, :4].T
    pull = np.stack([right - left, back - front], axis=1) + gain * (aims - seen["tip"][:, :2])
    longs = np.concatenate([np.maximum(pull, 0.0), np.maximum(-pull, 0.0)], axis=1) - 1.0
    return np.clip(np.concatenate([longs, -np.ones_like(longs)], axis=1), -1.0, 1.0)
