"""Many worlds as a `gymnasium.vector.VectorEnv`; they run in one simulation.

By default a world that has ended begins anew at the next step (`AutoresetMode.NEXT_STEP`): that step ignores its action
and returns the first observation of the new episode, a reward of 0 and no end. With `autoreset="same-step"` the new
episode begins within the step that ended the old one, whose last observation is `info["final_obs"]`; with "disabled"
the caller restarts worlds by `reset(options={"reset_mask": mask})`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import warp as wp
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from annelid.core.arrays import shared_array
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import is_among
from annelid.envs.picturing import Photographer, require_mode
from annelid.envs.single import refuse_options
from annelid.envs.spaces import action_space, host_observations, observation_space, packed
from annelid.envs.tensors import LIBRARIES, Tensors
from annelid.envs.worlds import Worlds, require_open

MODES = {
    "next-step": AutoresetMode.NEXT_STEP,
    "same-step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class WorldVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many worlds.

    Args:
        worlds: The batch.
        autoreset: "next-step", "same-step" or "disabled"; see the module.
        output: "numpy" for copies on the host; "torch" or "jax" for tensors that share the memory of the device, and
            that the next step overwrites.
        render_mode: "rgb_array" for pictures, or None.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium has it)
        "render_modes": ["rgb_array"],
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, worlds: Worlds, *, autoreset: str = "next-step", output: str = "numpy", render_mode: str | None = None
    ) -> None:
        if not isinstance(autoreset, str) or autoreset not in MODES:
            raise UnknownName("autoreset mode", autoreset, MODES)
        if not is_among(output, ("numpy", *LIBRARIES)):
            raise UnknownName("output", output, ("numpy", *LIBRARIES))
        self.render_mode = require_mode(render_mode)
        self.worlds, self.num_envs = worlds, worlds.count
        self.autoreset_mode = MODES[autoreset]
        fps = max(1, round(1.0 / worlds.action_seconds))
        self.metadata = {**type(self).metadata, "render_fps": fps, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = observation_space(worlds), action_space(worlds)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._tensors = None if output == "numpy" else Tensors(worlds, output)
        self._photographer = Photographer(worlds)
        self._ended = wp.zeros(worlds.count, dtype=wp.bool, device=worlds.device)
        self._seeded = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes: world i gets the seed + i; `options={"reset_mask": mask}` restarts some worlds only."""
        require_open(self.closed)
        refuse_options(options, ("reset_mask",))
        mask = self._mask((options or {}).get("reset_mask"))
        if mask is not None and not self._seeded:
            raise InvalidValue("reset_mask chooses among worlds that have begun: call reset() without it first.")
        super().reset(seed=seed if isinstance(seed, int) else None)
        self.worlds.restart(mask, self._seeds(seed))
        self._seeded = True
        wp.copy(self._ended, self.worlds.done)
        return self._observation(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Simulate one action of each world."""
        require_open(self.closed)
        if not self._seeded:
            raise InvalidValue("call reset() before the first step.")
        worlds = self.worlds
        worlds.step(actions)
        info: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            if self._ended.numpy().any():
                worlds.restart(self._ended)
            wp.copy(self._ended, worlds.done)
        info |= self._info()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            info |= self._final(info)
            if worlds.done.numpy().any():
                worlds.restart(worlds.done, keep_results=True)
        return self._observation(), *self._results(), info

    def render(self) -> Any:
        """Pictures of all worlds, each of shape [height, width, 3], uint8."""
        require_open(self.closed)
        if self.render_mode is None:
            return None
        return tuple(self._photographer.picture(world) for world in range(self.num_envs))

    # --- parts ---

    def _results(self) -> tuple[Any, Any, Any]:
        if self._tensors is not None:
            return self._tensors.rewards, self._tensors.terminated, self._tensors.truncated
        worlds = self.worlds
        rewards = worlds.rewards.numpy().astype(np.float64)
        return rewards, np.array(worlds.terminated.numpy()), np.array(worlds.truncated.numpy())

    def _observation(self) -> Any:
        return packed(host_observations(self.worlds)) if self._tensors is None else self._tensors.observation

    def _info(self) -> dict[str, Any]:
        """Numbers that are no observation; copied only where results are."""
        if self._tensors is not None:
            return {}
        values = {name: np.array(rows) for name, rows in self.worlds.info().items()}
        return values | {f"_{name}": np.ones(self.num_envs, bool) for name in values}

    def _final(self, info: dict[str, Any]) -> dict[str, Any]:
        """Last observations of episodes that end here."""
        if self._tensors is not None:
            return {"final_obs": packed(self._tensors.kept())}
        done = self.worlds.done.numpy()
        if not done.any():
            return {}
        rows = host_observations(self.worlds)
        last = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(done):
            last[world] = packed({name: values[world] for name, values in rows.items()})
        seen = {name: rows.copy() for name, rows in info.items()}
        return {"final_obs": last, "_final_obs": done.copy(), "final_info": seen, "_final_info": done.copy()}

    def _seeds(self, seed: int | list[int | None] | None) -> list[int] | None:
        if seed is None and self._seeded:
            return None
        if seed is None or isinstance(seed, (int, np.integer)):
            first = int(self.np_random.integers(2**31)) if seed is None else int(seed)
            if first < 0:
                raise InvalidValue(f"a seed must be 0 or more, not {first}.")
            return [first + world for world in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InvalidValue(f"{self.num_envs} seeds are needed, one a world, not {len(seed)}.")
        return [-1 if number is None else int(number) for number in seed]

    def _mask(self, mask: Any) -> np.ndarray | None:
        if mask is None:
            return None
        shared = shared_array(mask, self.worlds.device)  # PyTorch, JAX
        values = np.asarray(mask) if shared is None else np.asarray(shared.numpy())
        if values.shape != (self.num_envs,) or values.dtype != np.bool_ or not values.any():
            raise InvalidValue(
                f"reset_mask must be {self.num_envs} truth values of which one at least is true, not {mask!r}."
            )
        return values
