"""What a task may do beyond a reward: each method is a place to step in, and by default does what most tasks need.

All of them run where the worlds are: they are given a `Batch`, whose arrays are on the device, and launch kernels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.options import require_word
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Snapshot
from annelid.view.camera.camera import Camera


@dataclass(frozen=True)
class Channel:
    """A part of the observations.

    Attributes:
        name: Name.
        shape: Shape for one world.
        low: Least value.
        high: Largest value.
        parts: What its numbers are, in order: a text and how many there are of it.
    """

    name: str
    shape: tuple[int, ...]
    low: float = -np.inf
    high: float = np.inf
    parts: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        require_word("the name of a channel", self.name)
        if not isinstance(self.shape, tuple) or not all(isinstance(n, int | np.integer) and n >= 0 for n in self.shape):
            raise InvalidValue(f"the shape of channel {self.name!r} must be a tuple of sizes, not {self.shape!r:.60}.")
        pairs = self.parts if isinstance(self.parts, Sequence) else (None,)
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise InvalidValue(
                f"the parts of channel {self.name!r} must be pairs of a text and a number, not {self.parts!r:.60}."
            )
        if self.parts and sum(count for _, count in self.parts) != math.prod(self.shape):
            raise InvalidValue(f"the parts of channel {self.name!r} do not add up to its shape {list(self.shape)}.")


class Batch(Protocol):
    """The worlds that a task is done in, as its methods see them.

    Attributes:
        count: Number of worlds.
        device: Where everything is.
        simulation: What `build` returned.
        state: The state of the simulation.
        own: What `prepare` returned.
        now: Readings of the sensors and what `measure` returned, by name, Warp arrays with a row a world.
        actions: The actions, from -1 to 1, shape [count, action size].
        seeds: Seed of each world, shape [count].
        episodes: Number of its episode of this seed, shape [count].
        steps: Actions of the episode, shape [count].
        goals: Goals of the episode, those of `goals()` one after the other, shape [count, size].
        observations: Observations by name of the channel, shapes [count, ...].
    """

    count: int
    device: wp.Device
    simulation: Simulation[Any]
    state: Any
    own: Any
    now: Mapping[str, Any]
    actions: wp.array[Any]
    seeds: wp.array[Any]
    episodes: wp.array[Any]
    steps: wp.array[Any]
    goals: wp.array[Any]
    observations: dict[str, wp.array[Any]]

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        ...

    def obey(self, *, ramp: float) -> None:
        """Command the channels: an action of -1 stands for the least value of a channel, 1 for its largest."""
        ...

    def command(self, values: wp.array[Any], *, ramp: float = 0.0, mask: wp.array[Any] | None = None) -> None:
        """Command the channels with their own values, shape [count, channels], in all worlds or in masked ones."""
        ...

    def commanding(self) -> Any:
        """The channels, for kernels that command them: see `core.kernels.controls.command_channel`."""
        ...

    def show(self, mask: wp.array[Any]) -> None:
        """Write the readings of all sensors into the observations of masked worlds."""
        ...

    def kick(self, velocities: wp.array[Any], mask: wp.array[Any]) -> None:
        """Add a velocity of each masked world to all that can move in it [m/s], shape [count, axes]."""
        ...

    def uniform(self, size: int, low: float = 0.0, high: float = 1.0) -> wp.array[Any]:
        """Numbers from a range that seed and episode of each world determine, shape [count, size]."""
        ...

    def normal(self, size: int, spread: float = 1.0) -> wp.array[Any]:
        """Numbers about 0 with a standard deviation that seed and episode of each world determine."""
        ...


class Hooks:
    """Where a task may step in; `Task` inherits all of it."""

    fixed: ClassVar[tuple[str, ...]] = ()
    """Fields that the task sets itself, and that are no options of it."""

    apart: ClassVar[tuple[str, ...]] = ()
    """Sensors that are channels of their own in the observation, with their shapes, such as height maps."""

    told: ClassVar[Mapping[str, str]] = {}
    """What `info` tells, in words, by name."""

    replayed: ClassVar[bool] = False
    """Whether judging and observing (`measure`, `reward`, `terminated`, `truncated`, `observe`) only launches kernels,
    each time with the same numbers and into arrays that stay: on CUDA that is captured once, and replayed."""

    followed: ClassVar[bool] = True
    """Whether the camera of pictures moves along."""

    # --- once for a batch of worlds ---

    def prepare(self, worlds: Batch) -> Any:
        """Things of one's own that belong to these worlds, such as arrays and cameras; they are `worlds.own` then."""
        return None

    def memory(self, worlds: Batch) -> Mapping[str, Any]:
        """Arrays and states of one's own, by name, that the future depends on: they are saved with the worlds."""
        return {}

    def idle_reward(self, worlds: Batch) -> float:
        """What an action is paid in a world that nobody has touched."""
        return 0.0

    # --- episodes ---

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Change how an episode of masked worlds begins, after the simulation has brought them back.

        `worlds.uniform` and `worlds.normal` draw from the seeds, so that an episode begins the same way again.
        """

    # --- acting ---

    def action_size(self, simulation: Simulation[Any]) -> int:
        """Numbers of an action: one a channel of the controls."""
        return len(simulation.controls)

    def before_step(self, worlds: Batch) -> None:
        """Act before every single step, for machines whose commands change that often; it may only launch kernels.

        On CUDA it is captured with the steps, after a first call outside of that, in which kernels are loaded.
        """

    def after_step(self, worlds: Batch) -> None:
        """Account for every single step; it may only launch kernels, of a module that an earlier hook has used."""

    # --- judging and observing ---

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """Arrays beside the sensors, by name, a row a world, of any type: `reward` has them before and after an action.

        Sensors read in single precision; a way that is the difference of two places is measured here in double.
        """
        return {}

    def truncated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Worlds whose episode is cut off here, though time is left, bool of shape [worlds]; None for none."""
        return None

    observed: ClassVar[Mapping[str, str]] = {}
    """What sensors and goals are, in words, by name, where the name is not enough."""

    def channels(self, simulation: Simulation[Any]) -> tuple[Channel, ...]:
        """Parts of the observation: the readings of sensors, one after the other, and those that are `apart`."""
        sensors = simulation.sensors
        together = [name for name in sensors if name not in self.apart]
        parts = tuple((self.observed.get(name, name), math.prod(sensors.shape(name))) for name in together)
        first = (Channel("observation", (sum(size for _, size in parts),), parts=parts),) if parts else ()
        return (*first, *(Channel(name, sensors.shape(name)) for name in self.apart))

    def observe(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Write `worlds.observations` of masked worlds."""
        worlds.show(mask)

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        """Numbers of each world that are no observation, those of `told`, on the host, shapes [count]."""
        return {}

    # --- pictures ---

    @property
    def camera(self) -> Camera | None:
        """Where pictures are taken from; None frames what there is."""
        return None

    def picture(self, worlds: Batch, world: int) -> Snapshot | None:
        """A picture of one world; None draws what the physics shows of it."""
        return None


def each_world(kernel: wp.Kernel, inputs: list[Any], dtype: Any = wp.float32) -> wp.array[Any]:
    """Launch a kernel with one thread a world, and return what it wrote: a number a world, its last argument.

    Args:
        kernel: The kernel.
        inputs: Its arguments before the last one; the first array among them says how many worlds there are, and where.
        dtype: Type of the numbers: `wp.bool` for `terminated` and `truncated`.
    """
    first = next((given for given in inputs if isinstance(given, wp.array)), None)
    if first is None:
        raise InvalidValue("a kernel that is launched for each world needs an array with a row a world.")
    out: wp.array[Any] = wp.empty(first.shape[0], dtype=dtype, device=first.device)
    wp.launch(kernel, len(out), inputs, [out], device=first.device)
    return out
