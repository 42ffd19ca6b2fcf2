"""An agent that was trained, to be used: a function from observations to actions, out of the folder of its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.packages import optional
from annelid.envs.training.agents import load_agent
from annelid.envs.training.run import Plan, holds_training, read_plan


class Agent:
    """What `annelid train` has made: called with observations it chooses actions, without exploring.

    Args:
        folder: Folder of the training. Its file agent.zip is trusted: it must be one's own, it holds code.
        device: Where its network computes: "cpu" or "cuda".

    Attributes:
        plan: What was trained: name of the environment, options, and for how many actions a choice is held.
    """

    def __init__(self, folder: str | Path, *, device: str = "cpu") -> None:
        folder = Path(folder)
        if not holds_training(folder):
            raise InvalidValue(f"there is no agent in {folder}: name the folder that `annelid train` wrote.")
        optional("stable_baselines3", purpose="a trained agent", extra="rl")
        from annelid.envs.training.scaling import read_observation_scale

        self.plan: Plan = _plan(folder)
        self._agent = load_agent(self.plan.algorithm, None, folder, log=None, device=device)
        self._scale = read_observation_scale(folder)

    @property
    def sees(self) -> Any:
        """The space of Gymnasium that observations of one world are from."""
        return self._agent.observation_space

    def __call__(self, observations: Any) -> np.ndarray:
        """Actions from -1 to 1, shape [actions], or [worlds, actions] for observations of several worlds."""
        known = observations if self._scale is None else self._scale(np.asarray(observations))
        return np.asarray(self._agent.predict(known, deterministic=True)[0])


def _plan(folder: Path) -> Plan:
    try:
        return Plan(**read_plan(folder))
    except TypeError as error:
        raise FileFormatError(f"{folder} holds no plan of a training that could be read: {error}.") from error
