"""The core of all environments: a batch of independent worlds that act, are judged and begin again on the device.

Nothing here knows Gymnasium. Arrays of observations, rewards and ends of episodes stay where they are: each step writes
into the same ones, and `tensors` hands them to PyTorch or JAX without a copy.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import Detachable, array_or_none, as_numbers, shared_array, whole_numbers
from annelid.core.checkpoint import load_checkpoint, save_checkpoint
from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.files import as_path
from annelid.core.interrupts import held_back
from annelid.core.options import require_truth
from annelid.core.snapshot import Snapshot
from annelid.core.solver import Solver
from annelid.core.state import State, bundle, fill_state
from annelid.core.stopwatch import Stopwatch
from annelid.core.world_parameters import require_parameters
from annelid.envs.hooks import Channel
from annelid.envs.kernels import episodes as kernels
from annelid.view.camera.camera import Camera

MOST_WORLDS = 65_536

Policy = Callable[[Any], np.ndarray]
"""From a batch of observations to actions, shape [worlds, action_size]."""


class ActionClipped(UserWarning):
    """Some action was outside [-1, 1] and was clipped."""


class Worlds(ABC):
    """A number of worlds, side by side in one simulation.

    Attributes:
        observations: Observations of each world by name of the channel, shapes [count, ...], float32.
        rewards: Rewards of the last action, shape [count].
        terminated: Worlds whose episode ended by what happened in it, shape [count].
        truncated: Worlds whose time was up, or that were left, shape [count].
        done: Either of the two.
        steps: Actions of the episode, shape [count].
        solver: What simulates them.
        stopwatch: Where the time of actions is added up, by "host" (actions are taken and looked at), "physics",
            "sensors", "rewards" and "observations"; None measures nothing, and lets the device run ahead.
    """

    solver: Solver

    def __init__(self, count: int, options: Any, *, device: str | wp.Device = "auto") -> None:
        require("the number of worlds", count, 1, MOST_WORLDS, whole=True)
        self.count, self.options, self.device = count, options, find_device(device)
        self.observations = {c.name: self._zeros((count, *c.shape), wp.float32) for c in self.channels}
        self.actions = self._zeros((count, self.action_size), wp.float32)
        self.rewards = self._zeros(count, wp.float32)
        self.terminated, self.truncated, self.done = (self._zeros(count, wp.bool) for _ in range(3))
        self.steps, self.seeds, self.episodes = (self._zeros(count, wp.int32) for _ in range(3))
        self._faults, self._given, self._bad_rewards = (self._zeros(count, wp.int32) for _ in range(3))
        self._every = wp.full(count, True, dtype=wp.bool, device=self.device)
        self._warned = self._begun = False
        self.stopwatch: Stopwatch | None = None

    # --- what a task is ---

    @property
    @abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """Parts of the observations."""

    @property
    @abstractmethod
    def action_size(self) -> int:
        """Numbers of an action, each in [-1, 1]."""

    @property
    @abstractmethod
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""

    @abstractmethod
    def _begin(self, mask: wp.array[Any]) -> None:
        """Bring the masked worlds to the beginning of the episode that `seeds` and `episodes` name."""

    @abstractmethod
    def _advance(self) -> None:
        """Simulate `actions`."""

    @abstractmethod
    def _judge(self) -> None:
        """Write rewards and ends."""

    @abstractmethod
    def _observe(self, mask: wp.array[Any]) -> None:
        """Write the observations of the masked worlds."""

    @abstractmethod
    def _memory(self) -> dict[str, Any]:
        """States and arrays by name that the future of the worlds depends on, besides those of this class."""

    @abstractmethod
    def snapshot(self, world: int = 0) -> Snapshot:
        """A picture of one world."""

    told: Mapping[str, str]
    """What `info` tells, in words, by name."""

    followed: bool
    """Whether the camera of pictures moves along."""

    camera: Camera | None
    """Where pictures are taken from; None frames what there is."""

    idle_reward: float
    """What an action is paid in a world that nobody has touched."""

    @abstractmethod
    def info(self) -> dict[str, np.ndarray]:
        """Numbers of each world that are no observation, those of `told`, on the host, shapes [count]."""

    # --- what can be done with it ---

    @property
    def most_steps(self) -> int:
        """Actions of an episode."""
        return max(1, round(self.options.seconds / self.action_seconds))

    def _require_world(self, world: int) -> None:
        if isinstance(world, bool) or not isinstance(world, int | np.integer) or not 0 <= world < self.count:
            raise InvalidValue(f"there are the worlds 0 to {self.count - 1}, not {world!r:.60}.")

    def restart(self, mask: Any = None, seeds: Any = None, *, keep_results: bool = False) -> None:
        """Begin new episodes.

        Args:
            mask: Worlds to restart, shape [count], on the host or on the device; None for all.
            seeds: Seed of each world; None, or -1 for one of them, goes on to the next episode of the seed that it has.
            keep_results: Leave rewards and ends of episodes as they are.
        """
        require_truth("keep_results", keep_results)
        if mask is not None and not self._begun:
            raise InvalidValue("a mask chooses among worlds that have begun: restart all of them first.")
        chosen = self._every if mask is None else self._as_mask(mask)
        if not keep_results and chosen.ptr in (self.terminated.ptr, self.truncated.ptr, self.done.ptr):
            chosen = wp.clone(chosen)  # the results of the episode, which are cleared
        given = np.full(self.count, -1) if seeds is None else whole_numbers("seeds", seeds)
        if given.shape != (self.count,):
            raise InvalidValue(f"{self.count} seeds are needed, one a world, not shape {list(given.shape)}.")
        if given.min() < -1:
            raise InvalidValue(f"a seed must be 0 or more, or -1 for the one that a world has, not {given.min()}.")
        given = np.where(given < 0, -1, given % 2**31)
        self._given.assign(given.astype(np.int32))
        outputs = [self.seeds, self.steps, self.actions]
        with held_back():
            self._launch(kernels.open_episodes, [chosen, self._given, self.episodes], outputs)
            if not keep_results:
                results = [self.rewards, self.terminated, self.truncated, self.done]
                self._launch(kernels.clear_results, [chosen], results)
            self._begin(chosen)
            self._observe(chosen)
            self._begun = True

    def step(self, actions: Any) -> None:
        """Simulate one action of each world; see the attributes for what it led to.

        Args:
            actions: Shape [count, action_size], NumPy, PyTorch, JAX or Warp, in [-1, 1]. What is outside is clipped
                with one warning; what is not a number is an error, before anything moves.
        """
        if not self._begun:
            raise InvalidValue("there is no episode to act in yet: call restart() before the first step.")
        with held_back():  # Ctrl-C comes between two actions
            self._take(actions)
            self._lap("host")
            self._advance()
            self._lap("physics")
            self.conclude()

    def conclude(self) -> None:
        """Judge and observe, as `step` does at its end, what something else has simulated for the time of an action."""
        with held_back():
            self._conclude()

    def _conclude(self) -> None:
        results = [self.rewards, self.terminated, self.truncated]
        self._launch(kernels.clear_results, [self._every], [*results, self.done])
        self._judge()
        self._launch(kernels.close_steps, [self.most_steps, self.steps, *results], [self.done])
        self._lap("rewards")
        self._observe(self._every)
        self._lap("observations")

    # --- checkpoints ---

    def save(self, path: str | PathLike[str]) -> None:
        """Write all worlds to a file, whole or not at all: loaded again, they go on to the bit as they would here."""
        step, names = int(self.steps.numpy().max()), self._named_settings()
        save_checkpoint(
            as_path(path), self._everything(), self.solver.fingerprint(), self.action_seconds, step, settings=names
        )

    def load(self, path: str | PathLike[str]) -> None:
        """Continue from a file that equal worlds have saved; on any error they are as they were before."""
        identity, names = self.solver.fingerprint(), self._named_settings()
        load_checkpoint(as_path(path), identity, self.action_seconds, self._fill, settings=names, finite=False)

    def _everything(self) -> State:
        """All that the future depends on."""
        episodes = ("actions", "rewards", "terminated", "truncated", "done", "steps", "seeds", "episodes")
        own = {name: getattr(self, name) for name in episodes}
        return bundle(**own, observations=bundle(**self.observations), **self._memory())

    def _fill(self, arrays: Mapping[str, np.ndarray], changes: Mapping[str, np.ndarray]) -> None:
        """Take over all arrays, or none; bodies of environments do not change."""
        require_parameters(self.solver, arrays)
        fill_state(self._everything(), arrays)
        self._after_load()
        self._begun = True

    @abstractmethod
    def _after_load(self) -> None:
        """Follow arrays of states that were replaced by longer or shorter ones."""

    def _named_settings(self) -> dict[str, str]:
        """What worlds that load a file must agree in; what has no short name is part of the model's fingerprint."""
        kind = "cuda" if self.device.is_cuda else "cpu"
        options = {f.name: getattr(self.options, f.name) for f in fields(self.options)}
        plain = {name: repr(value) for name, value in options.items() if _is_plain(value)}
        return {"environment": type(self.options).__name__, "worlds": str(self.count), "device": kind, **plain}

    # --- parts ---

    def _lap(self, part: str) -> None:
        if self.stopwatch is not None:
            self.stopwatch.lap(part)

    def _take(self, actions: Any) -> None:
        rows = self._as_rows(actions)
        self._launch(kernels.take_actions, [rows, self._bad_rewards], [self.actions, self._faults])
        faults = self._faults.numpy()
        if not faults.any():
            return
        if (faults & kernels.BADLY_PAID).any():
            self._refuse_rewards()
        if (faults & kernels.NOT_A_NUMBER).any():
            world = int(np.flatnonzero(faults & kernels.NOT_A_NUMBER)[0])
            raise InvalidValue(
                f"the action of world {world} is not a number; give {self.action_size} numbers in [-1, 1]."
            )
        if not self._warned:
            self._warned = True
            warnings.warn(
                "an action outside [-1, 1] was clipped; further ones are, silently.", ActionClipped, stacklevel=4
            )

    def _refuse_rewards(self) -> None:
        """A reward that is no number where all readings are: a mistake of the task, not of the simulation."""
        actions = self._bad_rewards.numpy()
        bad = np.flatnonzero(actions)
        if len(bad):
            raise InvalidValue(
                f"the reward of {type(self.options).__name__} is not a finite number in world {bad[0]}, action "
                f"{actions[bad[0]]} of its episode, though all its sensors are finite."
            )

    def _as_rows(self, actions: Any) -> wp.array[Any]:
        """Actions as a Warp array on the device; those of PyTorch, JAX and Warp on the same device are not copied."""
        shape = (self.count, self.action_size)
        rows: Any
        if isinstance(actions, Detachable):  # PyTorch
            rows = wp.from_torch(actions.detach().float().contiguous(), dtype=wp.float32)
        else:
            rows = shared_array(actions, self.device)  # Warp, JAX
            if rows is None or rows.dtype != wp.float32:
                host = actions if rows is None else rows.numpy()
                rows = wp.array(_as_floats(host), dtype=wp.float32, device="cpu")
        if tuple(rows.shape) != shape:
            raise InvalidValue(f"actions must have the shape {list(shape)}, not {list(rows.shape)}.")
        return rows.to(self.device)

    def _as_mask(self, mask: Any) -> wp.array[Any]:
        there = isinstance(mask, wp.array)
        values = mask if there else array_or_none(mask)
        kind = wp.dtype_to_numpy(mask.dtype) if there else values.dtype
        if tuple(values.shape) != (self.count,) or kind != np.bool_:
            found = f"{np.dtype(kind)}{list(values.shape)}"
            raise InvalidValue(f"a mask of worlds must be {self.count} truth values, not {found}.")
        if there:
            return mask.to(self.device)
        return wp.array(values, dtype=wp.bool, device=self.device)

    def _launch(self, kernel: wp.Kernel, inputs: list[Any], outputs: list[Any] | None = None) -> None:
        """One thread a world."""
        wp.launch(kernel, self.count, inputs, outputs or [], device=self.device)

    def _zeros(self, shape: Any, dtype: Any) -> wp.array[Any]:
        return wp.zeros(shape, dtype=dtype, device=self.device)


def _is_plain(value: Any) -> bool:
    """Whether an option is made of numbers and words, which are written the same way every time."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def read_options(kind: type[Any], given: dict[str, Any]) -> Any:
    """A task with options from keyword arguments; unknown ones are refused by name."""
    known = [f.name for f in fields(kind) if f.name not in kind.fixed]
    for name in given:
        if name not in known:
            raise UnknownName("option", name, known)
    return kind(**given)


def require(name: str, value: float, low: float, high: float, *, whole: bool = False) -> None:
    """Refuse a number outside its range."""
    number = isinstance(value, (int, np.integer)) if whole else isinstance(value, (int, float, np.number))
    if not number or isinstance(value, bool) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise InvalidValue(f"{name} must be {kind} from {low:g} to {high:g}, not {value!r}.")


def require_open(closed: bool) -> None:
    """Refuse to go on with an environment that was closed."""
    if closed:
        raise InvalidValue("this environment is closed: make a new one to go on.")


def _as_floats(actions: Any) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 is clipped with the rest
            return as_numbers("actions", actions, np.float32)
    except InvalidValue as error:
        raise InvalidValue(f"actions must be numbers in [-1, 1], not {actions!r:.60}.") from error
