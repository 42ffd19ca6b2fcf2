"""Many worlds as a `VecEnv` of Stable-Baselines3, which restarts a world within the step that ended its episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from annelid.core.errors import InvalidValue
from annelid.envs.picturing import Photographer, require_mode
from annelid.envs.spaces import action_space, host_observations, observation_space, packed
from annelid.envs.worlds import Worlds


class StableVecEnv(VecEnv):
    """Many worlds.

    Args:
        worlds: The batch.
        render_mode: "rgb_array" for pictures, or None.
    """

    def __init__(self, worlds: Worlds, *, render_mode: str | None = None) -> None:
        self.worlds, self.render_mode = worlds, require_mode(render_mode)
        self._photographer = Photographer(worlds)
        self._seeded = False
        super().__init__(worlds.count, observation_space(worlds), action_space(worlds))

    def reset(self) -> Any:
        """Begin episodes, with the seeds that `seed` gave."""
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
        self._actions = actions

    def step_wait(self) -> Any:
        """Simulate them."""
        worlds = self.worlds
        worlds.step(self._actions)
        rewards = np.array(worlds.rewards.numpy())
        terminated, truncated = worlds.terminated.numpy(), worlds.truncated.numpy()
        done = np.array(worlds.done.numpy())
        extra = worlds.info()
        infos: list[dict[str, Any]] = [{n: v[w] for n, v in extra.items()} for w in range(self.num_envs)]
        if done.any():
            last = host_observations(worlds)
            for world in np.flatnonzero(done):
                infos[world]["terminal_observation"] = packed({n: rows[world] for n, rows in last.items()})
                infos[world]["TimeLimit.truncated"] = bool(truncated[world] and not terminated[world])
            worlds.restart(worlds.done, keep_results=True)
        return packed(host_observations(worlds)), rewards, done, infos

    def close(self) -> None:
        """Nothing is open."""

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each world."""
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
