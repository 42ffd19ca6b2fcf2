"""Gymnasium spaces of a batch of worlds."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.hooks import Channel
from annelid.envs.worlds import Worlds


def observation_space(worlds: Worlds) -> Any:
    """A box for one channel, a dictionary of boxes for several."""
    from gymnasium.spaces import Dict

    boxes = {channel.name: _box(channel) for channel in worlds.channels}
    return next(iter(boxes.values())) if len(boxes) == 1 else Dict(boxes)


def action_space(worlds: Worlds) -> Any:
    """Numbers in [-1, 1]."""
    return _box(Channel("action", (worlds.action_size,), -1.0, 1.0))


def host_observations(worlds: Worlds) -> dict[str, np.ndarray]:
    """Copies of the observations on the host."""
    return {name: np.array(array.numpy()) for name, array in worlds.observations.items()}


def packed(observations: dict[str, Any]) -> Any:
    """The value of the space: that of the one channel, or all by name."""
    return next(iter(observations.values())) if len(observations) == 1 else observations


def _box(channel: Channel) -> Any:
    from gymnasium.spaces import Box

    return Box(channel.low, channel.high, channel.shape, np.float32)
