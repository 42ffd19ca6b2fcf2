"""Many worlds as skrl takes them: flat rows of PyTorch on the device, one row a world.

A world restarts within the step that ended its episode. What is handed out are copies on the device, as agents of skrl
still need an observation when the step after it is done. The values of a dictionary of channels stand side by side in
the order of their names, as skrl's models take them apart again.
"""

from __future__ import annotations

from typing import Any

import warp as wp
from skrl import config
from skrl.envs.wrappers.torch import Wrapper
from skrl.utils.spaces.torch import flatten_tensorized_space

from annelid.envs.picturing import Photographer, require_mode
from annelid.envs.spaces import action_space, observation_space, packed
from annelid.envs.tensors import Tensors
from annelid.envs.worlds import Worlds, require_open


class SkrlEnv(Wrapper):
    """Many worlds.

    Args:
        worlds: The batch.
        render_mode: "rgb_array" for pictures, or None.
    """

    def __init__(self, worlds: Worlds, *, render_mode: str | None = None) -> None:
        self.worlds, self.tensors, self.render_mode = worlds, Tensors(worlds), require_mode(render_mode)
        self._spaces = observation_space(worlds), action_space(worlds)
        self._photographer = Photographer(worlds)
        self._begun = self._closed = False
        super().__init__(worlds)
        self._device = config.torch.parse_device(wp.device_to_torch(worlds.device))

    @property
    def num_envs(self) -> int:
        """Number of worlds."""
        return self.worlds.count

    @property
    def observation_space(self) -> Any:
        """Of one world."""
        return self._spaces[0]

    @property
    def action_space(self) -> Any:
        """Of one world."""
        return self._spaces[1]

    @property
    def state_space(self) -> Any:
        """There is no state beside the observations."""
        return None

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, with the seed that `skrl.utils.set_seed` gave plus the number of the world.

        Called again it returns the observations as they are: worlds restart by themselves, and trainers of skrl call it
        after each episode of a single world.
        """
        require_open(self._closed)
        if not self._begun:
            self._begun = True
            self.worlds.restart(seeds=[int(config.torch.key) + world for world in range(self.num_envs)])
        return self._rows(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Simulate one action of each world; rewards and ends have the shape [num_envs, 1]."""
        require_open(self._closed)
        self.worlds.step(actions)
        tensors = self.tensors
        results = [each.clone().view(-1, 1) for each in (tensors.rewards, tensors.terminated, tensors.truncated)]
        if bool(tensors.done.any()):
            self.worlds.restart(self.worlds.done, keep_results=True)
        rewards, terminated, truncated = results
        return self._rows(), rewards, terminated, truncated, {}

    def state(self) -> None:
        """There is none beside the observations."""
        return

    def render(self, *args: Any, **kwargs: Any) -> Any:
        """A picture of the first world, shape [height, width, 3], uint8; None without a render mode."""
        require_open(self._closed)
        return None if self.render_mode is None else self._photographer.picture(0)

    def close(self) -> None:
        """End it: nothing can be done with it from now on, but to close it again."""
        self._closed = True

    def _rows(self) -> Any:
        return flatten_tensorized_space(packed(self.tensors.kept()))
