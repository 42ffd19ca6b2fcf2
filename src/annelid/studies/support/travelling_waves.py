"""The open-loop controllers that a learnt one is held against: waves that run through a body from or to its light.

They know where the light is at the beginning, and nothing after that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.studies.support.light_seeking import Task
from annelid.voxels3d.codesign.batch import STEP, Ground

_LOW, _HIGH = np.array([3.0, -np.pi, -np.pi, 0.3]), np.array([35.0, np.pi, np.pi, 1.0])  # of the numbers of a wave
_NEAR = 0.08  # how far from the best wave others are tried, in parts of that range


@dataclass(frozen=True)
class Wave:
    """A wave through a body.

    Attributes:
        frequency: [rad/s].
        along: Phase for each cell towards the light [rad].
        up: Phase for each cell upwards [rad].
        size: Amplitude of commands, from 0 to 1.
    """

    frequency: float
    along: float
    up: float
    size: float

    def losses(self, task: Task, ground: Ground, grids: np.ndarray, lights: np.ndarray) -> np.ndarray:
        """Loss of each body with its light."""
        seekers = task.seekers(ground, grids, lights, keep=False)
        placed = ground.place(grids)
        world = np.repeat(np.arange(len(grids)), np.diff(placed.bodies.first))
        to_light = (lights / np.linalg.norm(lights, axis=1, keepdims=True))[world]
        shift = self.along * (placed.cells[:, :2] * to_light).sum(axis=1) + self.up * placed.cells[:, 2]
        times = STEP * task.every * np.arange(task.intervals)
        table = self.size * np.sin(self.frequency * times[:, None] - shift)
        return seekers.run(commands=wp.array(table, dtype=ground.real, device=task.device))


def best_wave(task: Task, grids: np.ndarray, lights: np.ndarray, *, tries: int, seed: int) -> tuple[Wave, float]:
    """The best of some waves on some bodies, and its mean loss there: random ones, then ones near the best of them.

    Where none comes nearer than standing still, that is the best.
    """
    rng, ground = np.random.default_rng(seed), task.ground
    best, least = np.zeros(4), 1.0
    for number in range(tries):
        given = _LOW + (_HIGH - _LOW) * rng.random(4)
        if number >= tries // 2:
            given = best + _NEAR * (_HIGH - _LOW) * rng.standard_normal(4)
        given = np.clip(given, _LOW, _HIGH)
        losses = Wave(*given.tolist()).losses(task, ground, grids, lights)
        if np.isfinite(losses).all() and losses.mean() < least:
            best, least = given, float(losses.mean())
    return Wave(*best.tolist()), least
