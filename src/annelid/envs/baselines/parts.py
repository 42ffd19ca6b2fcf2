"""What scripted policies know of the worlds they act in: their time, and observations by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from annelid.envs.task_worlds import TaskWorlds
from annelid.envs.worlds import Worlds


def times(worlds: Worlds) -> np.ndarray:
    """Time since the episode of each world began [s], shape [worlds]."""
    return np.asarray(worlds.steps.numpy() * worlds.action_seconds)


def readings(worlds: Worlds, observations: Any) -> Mapping[str, np.ndarray]:
    """Observations of a task by name of the sensor or goal, each of shape [worlds, ...]."""
    assert isinstance(worlds, TaskWorlds)
    sensors = worlds.simulation.sensors
    return {name: np.asarray(observations)[:, sensors.columns(name)] for name in sensors}
