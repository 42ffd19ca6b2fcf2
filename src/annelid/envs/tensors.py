"""What worlds show and earn as PyTorch tensors that share the memory of the Warp arrays: nothing is copied."""

from __future__ import annotations

from typing import Any

import warp as wp

from annelid.core.packages import optional
from annelid.envs.worlds import Worlds


class Tensors:
    """Views of the arrays of a batch of worlds; each step writes into the same memory.

    Attributes:
        observations: By name of the channel.
        rewards: Shape [count].
        terminated: Shape [count], bool.
        truncated: Shape [count], bool.
        done: Shape [count], bool.
        steps: Shape [count], int32.
    """

    def __init__(self, worlds: Worlds) -> None:
        optional("torch", purpose="sharing arrays with PyTorch", extra="rl")
        self.observations: dict[str, Any] = {name: wp.to_torch(array) for name, array in worlds.observations.items()}
        self.rewards, self.terminated = wp.to_torch(worlds.rewards), wp.to_torch(worlds.terminated)
        self.truncated, self.done = wp.to_torch(worlds.truncated), wp.to_torch(worlds.done)
        self.steps = wp.to_torch(worlds.steps)

    @property
    def observation(self) -> Any:
        """The one channel, or all of them by name."""
        if len(self.observations) == 1:
            return next(iter(self.observations.values()))
        return self.observations
