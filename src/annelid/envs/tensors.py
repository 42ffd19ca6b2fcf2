"""What worlds show and earn as tensors of PyTorch or JAX that share the memory of the Warp arrays, without a copy."""

from __future__ import annotations

from typing import Any

import warp as wp

from annelid.core.arrays import views_in
from annelid.envs.spaces import packed
from annelid.envs.worlds import Worlds

LIBRARIES = ("torch", "jax")
"""Libraries that can share the memory of worlds."""


class Tensors:
    """Views of the arrays of a batch of worlds; each step writes into the same memory.

    A view is made whenever one is asked for, since JAX takes an array for constant and may remember what it was.

    Args:
        worlds: The batch.
        library: "torch" or "jax".
    """

    def __init__(self, worlds: Worlds, library: str = "torch") -> None:
        self._worlds, self._into = worlds, views_in(library, f"sharing arrays with {library}")

    @property
    def observations(self) -> dict[str, Any]:
        """By name of the channel."""
        return {name: self._into(array) for name, array in self._worlds.observations.items()}

    @property
    def observation(self) -> Any:
        """The one channel, or all of them by name."""
        return packed(self.observations)

    @property
    def rewards(self) -> Any:
        """Shape [count]."""
        return self._into(self._worlds.rewards)

    @property
    def terminated(self) -> Any:
        """Shape [count], bool."""
        return self._into(self._worlds.terminated)

    @property
    def truncated(self) -> Any:
        """Shape [count], bool."""
        return self._into(self._worlds.truncated)

    @property
    def done(self) -> Any:
        """Shape [count], bool."""
        return self._into(self._worlds.done)

    @property
    def steps(self) -> Any:
        """Shape [count], int32."""
        return self._into(self._worlds.steps)

    def kept(self) -> dict[str, Any]:
        """Copies of the observations on the device, which no step overwrites."""
        return {name: self._into(wp.clone(array)) for name, array in self._worlds.observations.items()}
