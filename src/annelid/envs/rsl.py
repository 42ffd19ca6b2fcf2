"""Many worlds as rsl_rl takes them: tensors on the device that are never copied to the host.

What is handed out is copied on the device, as rsl_rl keeps observations until the step after them is done.

The contract is that of `rsl_rl.env.VecEnv` (num_envs, num_actions, max_episode_length, episode_length_buf, device, cfg,
get_observations, step); worlds restart within the step that ended them, and `extras["time_outs"]` says which of them
were out of time. rsl_rl itself is not imported: observations are a TensorDict where `tensordict` is installed.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from annelid.core.packages import installed
from annelid.envs.tensors import Tensors
from annelid.envs.worlds import Worlds


class RslVecEnv:
    """Many worlds.

    Attributes:
        num_envs: Number of worlds.
        num_actions: Numbers of an action.
        max_episode_length: Actions in an episode.
        episode_length_buf: Actions of each world's episode so far, shape [num_envs].
        device: Where the tensors are.
        cfg: Options of the task.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds, self.tensors = worlds, Tensors(worlds)
        self.num_envs, self.num_actions = worlds.count, worlds.action_size
        self.max_episode_length = worlds.most_steps
        self.device, self.cfg = wp.device_to_torch(worlds.device), worlds.options
        self.reset(seed=0)

    @property
    def unwrapped(self) -> RslVecEnv:
        """Itself."""
        return self

    @property
    def episode_length_buf(self) -> Any:
        """Actions of each world's episode so far; assigning shifts where episodes stand."""
        return self.tensors.steps

    @episode_length_buf.setter
    def episode_length_buf(self, lengths: Any) -> None:
        self.tensors.steps.copy_(lengths)

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes in all worlds; world i gets the seed + i."""
        self.worlds.restart(seeds=None if seed is None else [seed + world for world in range(self.num_envs)])
        return self.get_observations(), {}

    def get_observations(self) -> Any:
        """What the worlds show, each channel as a group of flat rows; images become rows, too."""
        groups = {name: rows.view(self.num_envs, -1) for name, rows in self.tensors.kept().items()}
        groups = {"policy": next(iter(groups.values()))} if len(groups) == 1 else groups
        if installed("tensordict"):
            from tensordict import TensorDict

            return TensorDict(groups, batch_size=[self.num_envs], device=self.device)
        return groups

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Simulate one action of each world."""
        self.worlds.step(actions)
        if bool(self.tensors.done.any()):
            self.worlds.restart(self.worlds.done, keep_results=True)
        dones = self.tensors.done.long()
        time_outs = self.tensors.truncated & ~self.tensors.terminated
        return self.get_observations(), self.tensors.rewards.clone(), dones, {"time_outs": time_outs, "log": {}}
