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
import functools
import inspect
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, get_type_hints

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import documented, parameter, require_parameters
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Part
from annelid.envs.goals import Limits
from annelid.envs.hooks import Batch, Hooks


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(Hooks, ABC):
    """A task; whoever inherits from it writes `build` and `reward`.

    Fields that a subclass adds are options of the task, as those of `seconds` and `every`.
    """

    seconds: float = parameter(10.0, "Length of an episode [s].", unit="s", limits=(1e-9, 1e9))
    every: float = parameter(0.05, "Simulated time of an action [s].", unit="s", limits=(1e-9, 1e9))
    smooth: bool = parameter(True, "Go to the values of an action smoothly, within its time, instead of at once.")
    randomise: ClassVar[Mapping[str, Any]] = {}
    """Parameters of worlds that are drawn at the beginning of each episode, as distributions by name:
    `{"stiffness": Uniform(0.8, 1.2)}`; see `simulation.parameters`."""

    stir: float = parameter(
        0.0,
        "How far from rest the channels begin an episode, at random: a share of their ranges, from 0 to 1.",
        limits=(0.0, 1.0),
    )
    arrays: Literal["numpy", "torch", "warp"] = parameter(
        "numpy",
        'Whose arrays `reward`, `terminated` and `truncated` take and return: "numpy" on the host, or "torch" or '
        '"warp" on the device, without a copy.',
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = inspect.get_annotations(cls)
        for known in dataclasses.fields(Task):  # `seconds = 4.0` without a type is another default of what is there
            if known.name in vars(cls) and known.name not in own:
                cls.__annotations__ = {known.name: known.type, **inspect.get_annotations(cls)}
                setattr(cls, known.name, dataclasses.field(default=vars(cls)[known.name], metadata=known.metadata))
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        require_parameters(self, _declared(type(self)))
        if self.every > self.seconds and "every" not in self.fixed:
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


@functools.cache
def _declared(kind: type[Task]) -> dict[str, Any]:
    """Types of the options that say what they may be, each as the file that declares it knows them."""
    found, said = get_type_hints(Task), {each.name for each in dataclasses.fields(kind) if "help" in each.metadata}
    for base in kind.__mro__:
        own = {name: hint for name, hint in inspect.get_annotations(base).items() if name in said - {*found}}
        found |= get_type_hints(SimpleNamespace(__annotations__=own), globalns=vars(sys.modules[base.__module__]))
    return found
