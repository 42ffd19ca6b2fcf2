"""Many worlds as a `VecEnv` of Stable-Baselines3, which restarts a world within the step that ended its episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from annelid.core.errors import InvalidValue
from annelid.envs.picturing import Photographer, require_mode
from annelid.envs.spaces import action_space, host_observations, observation_space, packed
from annelid.envs.worlds import Worlds, require, require_open


class StableVecEnv(VecEnv):
    """Many worlds.

    Args:
        worlds: The batch.
        render_mode: "rgb_array" for pictures, or None.
        repeat: Actions of the worlds that a step holds its action for; its reward is their sum.

    Attributes:
        counted: Actions that the last step took in each world until its episode ended, shape [worlds].
    """

    def __init__(self, worlds: Worlds, *, render_mode: str | None = None, repeat: int = 1) -> None:
        require("repeat", repeat, 1, 10_000, whole=True)
        self.worlds, self.render_mode, self.repeat = worlds, require_mode(render_mode), repeat
        self.counted = np.zeros(worlds.count, int)
        self._photographer = Photographer(worlds)
        self._seeded = self._closed = False
        super().__init__(worlds.count, observation_space(worlds), action_space(worlds))

    def reset(self) -> Any:
        """Begin episodes, with the seeds that `seed` gave."""
        require_open(self._closed)
        given = [number for number in self._seeds if number is not None]
        if not self._seeded and not given:
            self.seed(None)  # draws one
        seeds = [-1 if number is None else number for number in self._seeds]
        self._seeded = True
        self.worlds.restart(seeds=seeds)
        self._reset_seeds()
        self._reset_options()
        return packed(host_observations(self.worlds))

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions."""
        require_open(self._closed)
        self._actions = actions

    def step_wait(self) -> Any:
        """Simulate them."""
        require_open(self._closed)
        worlds = self.worlds
        rewards, terminated, truncated = self._hold()
        done, extra = terminated | truncated, worlds.info()
        infos: list[dict[str, Any]] = [{n: v[w] for n, v in extra.items()} for w in range(self.num_envs)]
        if done.any():
            last = host_observations(worlds)
            for world in np.flatnonzero(done):
                infos[world]["terminal_observation"] = packed({n: rows[world] for n, rows in last.items()})
                infos[world]["TimeLimit.truncated"] = bool(truncated[world] and not terminated[world])
            worlds.restart(done, keep_results=True)
        return packed(host_observations(worlds)), rewards, done, infos

    def _hold(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards and ends of the action. All worlds move on together; what one does after its end counts no more."""
        worlds, going = self.worlds, np.ones(self.num_envs, bool)
        rewards = np.zeros(self.num_envs, np.float32)
        terminated, truncated = np.zeros((2, self.num_envs), bool)
        self.counted[:] = 0
        for _ in range(self.repeat):
            worlds.step(self._actions)
            rewards += np.where(going, worlds.rewards.numpy(), np.float32(0.0))
            terminated |= going & worlds.terminated.numpy()
            truncated |= going & worlds.truncated.numpy()
            self.counted += going
            going = ~(terminated | truncated)
            if not going.any():
                break
        return rewards, terminated, truncated

    def close(self) -> None:
        """End it: nothing can be done with it from now on, but to close it again."""
        self._closed = True

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each world."""
        require_open(self._closed)
        return [self._photographer.picture(world) for world in range(self.num_envs)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the batch, once for each world."""
        source = self.worlds if hasattr(self.worlds, attr_name) else self
        return [getattr(source, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: the worlds are one simulation."""
        raise InvalidValue(f"attribute {attr_name!r} of single worlds cannot be set: they are one simulation.")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Not possible: the worlds are one simulation."""
        raise InvalidValue(f"method {method_name!r} of single worlds cannot be called: they are one simulation.")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No world is wrapped."""
        return [False] * len(list(self._get_indices(indices)))
