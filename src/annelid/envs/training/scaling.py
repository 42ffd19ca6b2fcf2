"""Worlds as learners see them: rewards count from those of doing nothing and are of the size that learners expect.

An environment may pay hundredths of a metre or hundreds of points, and less than nothing for waiting. Networks that
predict returns learn from neither quickly, and who is only ever fined learns to run away. So rewards are counted from
what idleness pays, leaving a world early is an end after which nothing more is paid, and all is divided by the running
spread of discounted returns. Where the recipe says so, observations are brought to similar size by running means and
spreads as well: sensors read metres, newtons and shares side by side. All of that is kept in a file beside the agent,
as a resumed run must go on with it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnvWrapper, VecNormalize

from annelid.core.errors import FileFormatError
from annelid.core.files import read_text, write_json
from annelid.envs.stable import StableVecEnv

_FILE = "scale.json"
_NAMES = ("mean", "var", "count")


class FromIdleness(VecEnvWrapper):
    """Worlds whose rewards count from those of doing nothing.

    Args:
        env: The worlds.
        staggered: End the first episodes early, at times that are drawn from the seeds, so that worlds are at different
            moments of their episodes from then on.

    Attributes:
        paid: Rewards of the last step as the environment paid them, shape [worlds].
        counted: Actions of the environment that it took, shape [worlds].
        whole: Whether the episode that it belonged to has, or will have, its whole length, shape [worlds].
    """

    def __init__(self, env: StableVecEnv, *, staggered: bool = False) -> None:
        super().__init__(env)
        self.worlds = env.worlds
        self.paid, self.counted = np.zeros(env.num_envs), env.counted
        self.whole, self._staggered = np.ones(env.num_envs, bool), staggered
        self._lengths, self._ahead = np.zeros(env.num_envs, int), np.zeros(env.num_envs, bool)

    def reset(self) -> Any:
        """Begin episodes."""
        seen = self.venv.reset()
        self._lengths[:] = self._ages() if self._staggered else 0
        self._ahead = self._lengths > 0
        if self._staggered:
            self.worlds.steps.assign(self._lengths.astype(np.int32))
        return seen

    def _ages(self) -> np.ndarray:
        """Actions by which first episodes are shorter, shape [worlds]."""
        ages = np.random.default_rng(self.worlds.seeds.numpy()).integers(0, self.worlds.most_steps, self.num_envs)
        return np.asarray(ages)

    def step_wait(self) -> Any:
        """Simulate the actions."""
        seen, self.paid, done, infos = self.venv.step_wait()
        self._lengths += self.counted
        for world in np.flatnonzero(done & (self._lengths < self.worlds.most_steps)):
            infos[world]["TimeLimit.truncated"] = False
        self.whole = ~self._ahead
        self._lengths[done], self._ahead = 0, self._ahead & ~done
        idle = self.counted.astype(np.float32) * np.float32(self.worlds.idle_reward)
        return seen, self.paid - idle, done, infos


def scaled(env: FromIdleness, discount: float, *, observations: bool = False) -> VecNormalize:
    """The worlds with scaled rewards, and with scaled observations if these are one array and it is asked for."""
    one = isinstance(env.observation_space, spaces.Box)
    return VecNormalize(env, norm_obs=observations and one, norm_reward=True, gamma=discount)


def save_scale(env: VecNormalize, folder: Path) -> None:
    """Write the spread of returns, and means and spreads of observations where they are scaled."""
    values: dict[str, Any] = {name: float(getattr(env.ret_rms, name)) for name in _NAMES}
    if env.norm_obs and isinstance(env.obs_rms, RunningMeanStd):
        values["observations"] = {name: np.asarray(getattr(env.obs_rms, name)).tolist() for name in _NAMES}
    write_json(folder / _FILE, values, indent=None)


def read_observation_scale(folder: Path) -> Callable[[np.ndarray], np.ndarray] | None:
    """What brings observations to the size that an agent has learnt from; None where it has seen them as they are."""
    path = folder / _FILE
    try:
        values: dict[str, Any] = json.loads(read_text(path)).get("observations")
        if values is None:
            return None
        mean, var = (np.asarray(values[name], float) for name in ("mean", "var"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read as the scale of rewards: {error}.") from error
    usual = inspect.signature(VecNormalize).parameters  # as in training
    spread, most = np.sqrt(var + usual["epsilon"].default), usual["clip_obs"].default
    return lambda seen: np.clip((seen - mean) / spread, -most, most).astype(np.float32)


def load_scale(env: VecNormalize, folder: Path) -> None:
    """Go on with the means and spreads of an earlier run."""
    path = folder / _FILE
    try:
        values: dict[str, Any] = json.loads(read_text(path))
        for name in _NAMES:
            setattr(env.ret_rms, name, float(values[name]))
        if env.norm_obs and isinstance(env.obs_rms, RunningMeanStd):
            _load_observations(env.obs_rms, values["observations"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read as the scale of rewards: {error}.") from error


def _load_observations(scale: RunningMeanStd, values: dict[str, Any]) -> None:
    mean, var = (np.asarray(values[name], float) for name in ("mean", "var"))
    if mean.shape != scale.mean.shape or var.shape != scale.var.shape:
        raise ValueError(f"it is for {mean.size} numbers, not {scale.mean.size}")
    scale.mean, scale.var, scale.count = mean, var, float(values["count"])
