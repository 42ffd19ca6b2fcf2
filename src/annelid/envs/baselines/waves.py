"""Scripted gaits: waves that travel along a body."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import times
from annelid.envs.worlds import Policy, Worlds

_STEPS = 5.0  # of the quadruped a second [Hz]
_AHEAD = np.array([0.81, 0.6, 0.6, 0.0, 0.0])  # of spine and fore legs before the hind legs, in cycles


def crawling(worlds: Worlds) -> Policy:
    """A worm of springs: two waves a second, one as long as the worm, from tail to head."""
    return wave(worlds, frequency=2.0, waves=1.0)


def burrowing(worlds: Worlds) -> Policy:
    """A worm in sand: two waves a second, each half as long as the worm, from tail to head."""
    return wave(worlds, frequency=2.0, waves=2.0)


def arching(worlds: Worlds) -> Policy:
    """A soft tube: three arches a second, each twice as long as the tube, from head to tail."""
    return wave(worlds, frequency=3.0, waves=-0.5)


def striding(worlds: Worlds) -> Policy:
    """A voxel robot: half a wave on the body, from its front to its back."""
    return wave(worlds, frequency=1.0, waves=-0.5)


def walking(worlds: Worlds) -> Policy:
    """The pneumatic quadruped: pressure comes and goes in spine, fore legs and hind legs in turn."""

    def act(_: Any) -> np.ndarray:
        cycles = _STEPS * (times(worlds) + worlds.action_seconds)[:, None] + _AHEAD
        return -np.cos(2.0 * np.pi * cycles)  # from no pressure to the largest and back

    return act


def wave(worlds: Worlds, *, frequency: float, waves: float) -> Policy:
    """A sine that travels from the first channel to the last.

    Args:
        worlds: The worlds to act in.
        frequency: Cycles a second [Hz].
        waves: How many waves are on the body at a time; below 0 they travel the other way.
    """
    along = waves * (np.arange(worlds.action_size) + 0.5) / worlds.action_size

    def act(_: Any) -> np.ndarray:
        ahead = times(worlds) + worlds.action_seconds  # where channels are at the end of the action
        return np.sin(2.0 * np.pi * (frequency * ahead[:, None] - along))

    return act
