"""A task of one's own: a simulation with controls and sensors, a reward, and how long an episode lasts.

For example::

    class Crawl(envs.Task):
        seconds = 4.0

        def build(self, **machine):
            simulation = springs.simulation(body(), obstacles=[ground(0.8)], **machine)
            simulation.sensors.add("place", springs.position_of())
            return simulation

        def reward(self, now, before, actions):
            return now["place"][:, 0] - before["place"][:, 0]

Every channel of the controls is a number of an action, from -1 for its least value to 1 for its largest; every sensor
is part of the observation. What else a task may do is in `annelid.envs.hooks`.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.options import require_truth
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Part
from annelid.envs.goals import Limits
from annelid.envs.hooks import Batch, Hooks
from annelid.envs.worlds import require


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(Hooks, ABC):
    """A task; whoever inherits from it writes `build` and `reward`.

    Fields that a subclass adds are options of the task, as those of `seconds` and `every`.

    Attributes:
        seconds: Length of an episode [s].
        every: Simulated time of an action [s].
        smooth: Go to the values of an action smoothly, within its time, instead of at once.
        randomise: Parameters of worlds that are drawn at the beginning of each episode, as distributions by name:
            `{"stiffness": Uniform(0.8, 1.2)}`; see `simulation.parameters`.
        stir: How far from rest the channels begin an episode, at random: a share of their ranges, from 0 to 1.
        arrays: Whose arrays `reward`, `terminated` and `truncated` take and return: "numpy" on the host, or "torch" or
            "warp" on the device, without a copy.
    """

    seconds: float = 10.0
    every: float = 0.05
    smooth: bool = True
    randomise: ClassVar[Mapping[str, Any]] = {}
    stir: float = 0.0
    arrays: Literal["numpy", "torch", "warp"] = "numpy"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = {field.name: field.type for field in dataclasses.fields(Task)}
        own = inspect.get_annotations(cls)
        # `seconds = 4.0` without a type is another default of a field that is there.
        cls.__annotations__ = {**{name: kind for name, kind in known.items() if name in vars(cls)}, **own}
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        require("seconds", self.seconds, 1e-9, 1e9)
        require("every", self.every, 1e-9, 1e9)
        require("stir", self.stir, 0.0, 1.0)
        require_truth("smooth of a task", self.smooth)
        if not isinstance(self.arrays, str) or self.arrays not in ("numpy", "torch", "warp"):
            raise InvalidValue(f"arrays of a task must be 'numpy', 'torch' or 'warp', not {self.arrays!r}.")
        if self.every > self.seconds:
            raise InvalidValue(f"an action of {self.every:g} s is longer than an episode of {self.seconds:g} s.")

    @abstractmethod
    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[Any]:
        """The simulation with its controls and sensors; pass the arguments on to the physics."""

    @abstractmethod
    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """What an action is worth, shape [worlds].

        Args:
            now: Readings after the action by name of the sensor, shape [worlds, ...].
            before: Readings before it.
            actions: The action, from -1 to 1, shape [worlds, channels].
        """

    def goals(self) -> Limits:
        """Least and largest value of numbers that are drawn anew for each episode, by name.

        They are observed, and rewards find them among the readings: a place to reach, a line to cross.
        """
        return {}

    def marks(self, goals: Mapping[str, np.ndarray]) -> Sequence[Part]:
        """What pictures show of the goals of a world."""
        return ()

    def terminated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Worlds whose episode ends here by what happened in it, bool of shape [worlds]; None for none."""
        return None

    def act(self, worlds: Batch) -> None:
        """Turn `worlds.actions` into commands, before the steps of an action: each spans the limits of a channel."""
        worlds.obey(ramp=worlds.action_seconds if self.smooth else 0.0)

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        steps = round(self.every / dt)
        if steps < 1 or not math.isfinite(dt):
            raise InvalidValue(f"an action of {self.every:g} s is shorter than half a time step of {dt:g} s.")
        return steps
