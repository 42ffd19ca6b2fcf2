"""One world as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import gymnasium
import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.envs.picturing import Photographer, require_mode
from annelid.envs.spaces import action_space, host_observations, observation_space, packed
from annelid.envs.worlds import Worlds, require_open


class WorldEnv(gymnasium.Env[Any, np.ndarray]):
    """One world.

    Args:
        worlds: A batch of one.
        render_mode: "rgb_array" for pictures, or None.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(self, worlds: Worlds, *, render_mode: str | None = None) -> None:
        if worlds.count != 1:
            raise InvalidValue(f"an Env has one world, not {worlds.count}: use a VectorEnv.")
        self.render_mode = require_mode(render_mode)
        self.worlds = worlds
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1.0 / worlds.action_seconds))}
        self.observation_space, self.action_space = observation_space(worlds), action_space(worlds)
        self._photographer = Photographer(worlds)
        self._seeded = self._closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: the first of a seed, or the next one."""
        require_open(self._closed)
        super().reset(seed=seed)
        refuse_options(options, ())
        seeds = None
        if seed is not None or not self._seeded:
            seeds = [int(self.np_random.integers(2**31)) if seed is None else seed]
            self._seeded = True
        self.worlds.restart(seeds=seeds)
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Simulate one action."""
        require_open(self._closed)
        if not self._seeded:
            raise InvalidValue("call reset() before the first step.")
        self.worlds.step(np.asarray(action)[None])
        ends = bool(self.worlds.terminated.numpy()[0]), bool(self.worlds.truncated.numpy()[0])
        info = {name: values[0] for name, values in self.worlds.info().items()}
        return self._observation(), float(self.worlds.rewards.numpy()[0]), *ends, info

    def render(self) -> Any:
        """A picture, shape [height, width, 3], uint8."""
        require_open(self._closed)
        return None if self.render_mode is None else self._photographer.picture(0)

    def close(self) -> None:
        """End it: nothing can be done with it from now on, but to close it again."""
        self._closed = True

    def _observation(self) -> Any:
        return packed({name: rows[0] for name, rows in host_observations(self.worlds).items()})


def refuse_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> None:
    """Refuse options of a reset that mean nothing here."""
    require_kind("options of a reset", options, (Mapping, NoneType), "values by name, {name: value}")
    unknown = [name for name in options or {} if name not in known]
    if unknown:
        allowed = f"known: {', '.join(known)}" if known else "there are none"
        raise InvalidValue(f"reset has no option {unknown[0]!r}; {allowed}.")
