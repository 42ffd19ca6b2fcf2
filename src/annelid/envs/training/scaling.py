"""Worlds as learners see them: rewards count from those of doing nothing and are of the size that learners expect.

An environment may pay hundredths of a metre or hundreds of points, and less than nothing for waiting. Networks that
predict returns learn from neither quickly, and who is only ever fined learns to run away. So rewards are counted from
what idleness pays, leaving a world early is an end after which nothing more is paid, and all is divided by the running
spread of discounted returns. That spread is kept in a file beside the agent, as a resumed run must go on with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnvWrapper, VecNormalize

from annelid.core.errors import FileFormatError
from annelid.core.files import replaced
from annelid.envs.stable import StableVecEnv

_FILE = "scale.json"
_NAMES = ("mean", "var", "count")


class FromIdleness(VecEnvWrapper):
    """Worlds whose rewards count from those of doing nothing.

    Attributes:
        paid: Rewards of the last step as the environment paid them, shape [worlds].
        counted: Actions of the environment that it took, shape [worlds].
    """

    def __init__(self, env: StableVecEnv) -> None:
        super().__init__(env)
        self.worlds = env.worlds
        self.paid, self.counted = np.zeros(env.num_envs), env.counted
        self._lengths = np.zeros(env.num_envs, int)

    def reset(self) -> Any:
        """Begin episodes."""
        self._lengths[:] = 0
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Simulate the actions."""
        seen, self.paid, done, infos = self.venv.step_wait()
        self._lengths += self.counted
        for world in np.flatnonzero(done & (self._lengths < self.worlds.most_steps)):
            infos[world]["TimeLimit.truncated"] = False
        self._lengths[done] = 0
        idle = self.counted.astype(np.float32) * np.float32(self.worlds.idle_reward)
        return seen, self.paid - idle, done, infos


def scaled(env: FromIdleness, discount: float) -> VecNormalize:
    """The worlds with scaled rewards; observations stay as they are."""
    return VecNormalize(env, norm_obs=False, norm_reward=True, gamma=discount)


def save_scale(env: VecNormalize, folder: Path) -> None:
    """Write the spread of returns."""
    values = {name: float(getattr(env.ret_rms, name)) for name in _NAMES}
    with replaced(folder / _FILE) as temporary:
        temporary.write_text(json.dumps(values) + "\n", encoding="utf-8")


def load_scale(env: VecNormalize, folder: Path) -> None:
    """Go on with the spread of an earlier run."""
    path = folder / _FILE
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for name in _NAMES:
            setattr(env.ret_rms, name, float(values[name]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read as the scale of rewards: {error}.") from error
