"""The worlds of a user's own task: any simulation that has controls and sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.arrays import Detachable, as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.packages import optional
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.core.solver import Controllable, Separable, Solver
from annelid.core.state import take_world
from annelid.envs.kernels import task as kernels
from annelid.envs.kernels.noise import episode_keys
from annelid.envs.task import Task, substeps_of
from annelid.envs.worlds import MOST_WORLDS, Channel, Worlds, require


class TaskWorlds(Worlds):
    """Worlds in which a task is to be done.

    Args:
        count: Number of worlds.
        options: The task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    title: ClassVar[str] = "Task"
    settings: ClassVar[type[Any]] = Task
    options: Task

    def __init__(
        self, count: int, options: Task, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        require("the number of worlds", count, 1, MOST_WORLDS, whole=True)
        task = options
        self.task, self.simulation = task, _built(task, count, device, threads)
        self.simulation.parameters.randomise(task.randomise)
        self.solver, self.state = self.simulation.solver, self.simulation.state
        self.substeps = substeps_of(task, self.simulation.dt)
        super().__init__(count, options, device=self.solver.device)
        self._every_column = tuple(range(self.action_size))
        self._values = self._zeros((count, self.action_size), wp.float64)
        self._lows, self._highs = (
            wp.array(side, dtype=wp.float64, device=self.device)
            for side in (self.simulation.controls.lows, self.simulation.controls.highs)
        )
        self._before = self._zeros((count, self.simulation.sensors.size), wp.float32)
        self._now = self._zeros((count, self.simulation.sensors.size), wp.float32)
        self._noise_keys = self._zeros(count, wp.int32)
        self._convert = _conversion(task)
        self._twin: Simulation[Any] | None = None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Readings of all sensors, one after the other."""
        sensors = self.simulation.sensors
        parts = tuple((name, sensors.columns(name).stop - sensors.columns(name).start) for name in sensors)
        return (Channel("observation", (sensors.size,), parts=parts),)

    @property
    def action_size(self) -> int:
        """One number a channel of the controls."""
        return len(self.simulation.controls)

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.substeps * self.simulation.dt

    def snapshot(self, world: int = 0) -> Snapshot:
        """One world by itself."""
        if self._twin is None:
            self._twin = _built(self.task, 1, self.device, 1)
        solver: Solver = self.solver
        if isinstance(solver, Separable):
            solver.take_world(self.state, self._twin.state, world)
        else:
            take_world(self.state, self._twin.state, world, self.count)
        shot = self._twin.solver.snapshot(self._twin.state, Look())
        return Snapshot(float(self.steps.numpy()[world]) * self.action_seconds, 0, shot.parts)

    def _memory(self) -> dict[str, Any]:
        return {"state": self.state, "before": self._before}

    def _named_settings(self) -> dict[str, str]:
        return {**super()._named_settings(), "environment": type(self.task).__name__}

    def _after_load(self) -> None:
        self.solver.clear_divergence()

    def _begin(self, mask: wp.array[Any]) -> None:
        self.simulation.parameters.redraw(mask, seeds=self.seeds, episodes=self.episodes)
        self.solver.reset(self.state, mask)
        self._sense(mask, acted=False)
        wp.launch(kernels.copy_rows, self._now.shape, [mask, self._now], [self._before], device=self.device)

    def _advance(self) -> None:
        inputs = [self.actions, self._lows, self._highs]
        wp.launch(kernels.span_actions, self._values.shape, inputs, [self._values], device=self.device)
        solver = self.solver
        assert isinstance(solver, Controllable)
        ramp = self.action_seconds if self.task.smooth else 0.0
        self.simulation.controls.take(solver.commanded(self.state), self._values, self._every_column, ramp=ramp)
        solver.advance(self.state, self.substeps)

    def _judge(self) -> None:
        self._sense(self._every, acted=True)
        now, before, actions = (self._named(self._now), self._named(self._before), self._convert(self.actions))
        worth = self._per_world("reward", self.task.reward(now, before, actions), wp.float32)
        self._launch(kernels.judge, [worth, self._now], [self.rewards, self._faults])
        self._refuse_rewards()
        ends = self.task.terminated(now, before, actions)
        if ends is not None:
            wp.copy(self.terminated, self._per_world("terminated", ends, wp.bool))
        wp.copy(self._before, self._now)

    def _observe(self, mask: wp.array[Any]) -> None:
        seen = self.observations["observation"]
        wp.launch(kernels.copy_rows, seen.shape, [mask, self._now], [seen], device=self.device)

    def _sense(self, mask: wp.array[Any], *, acted: bool) -> None:
        """Read the sensors of masked worlds, at the beginning of an episode or after an action."""
        self._launch(episode_keys, [self.seeds, self.episodes, self.steps, int(acted)], [self._noise_keys])
        readings = self.simulation.sensors.read(self._noise_keys)
        if readings.shape != self._now.shape:
            raise InvalidValue(f"the sensors of {type(self.task).__name__} have changed: make a new environment.")
        wp.launch(kernels.copy_rows, self._now.shape, [mask, readings], [self._now], device=self.device)

    def _named(self, rows: wp.array[Any]) -> Mapping[str, Any]:
        """Readings by name of the sensor."""
        values, sensors = self._convert(rows), self.simulation.sensors
        return {name: values[:, sensors.columns(name)] for name in sensors}

    def _per_world(self, what: str, values: Any, dtype: Any) -> wp.array[Any]:
        """What a function of the task returned, as an array on the device."""
        what, in_torch = f"{what} of {type(self.task).__name__}", self.task.arrays == "torch"
        if in_torch and not isinstance(values, Detachable):
            raise InvalidValue(f"{what} must be a tensor of PyTorch, as `arrays` says, not {values!r:.60}.")
        found: Any = values if in_torch else as_numbers(what, values)
        if tuple(found.shape) != (self.count,):
            raise InvalidValue(f"{what} must be {self.count} values, one a world, not shape {list(found.shape)}.")
        if in_torch:
            kind = {wp.float32: "float", wp.bool: "bool"}[dtype]
            given: Any = wp.from_torch(getattr(found.detach(), kind)().contiguous(), dtype=dtype)
            return given.to(self.device)
        with np.errstate(over="ignore"):  # a reward that is too large for float32 is refused with the infinite ones
            return wp.array(found.astype(wp.dtype_to_numpy(dtype)), dtype=dtype, device=self.device)

    def _refuse_rewards(self) -> None:
        """A reward that is no number where all readings are: a mistake of the task, not of the simulation."""
        bad = np.flatnonzero(self._faults.numpy())
        if len(bad):
            raise InvalidValue(
                f"the reward of {type(self.task).__name__} is not a finite number in world {bad[0]}, action "
                f"{int(self.steps.numpy()[bad[0]]) + 1} of its episode, though all its sensors are finite."
            )


def _built(task: Task, count: int, device: Any, threads: int | None) -> Simulation[Any]:
    """The simulation of a task, which must have as many worlds, controls and sensors."""
    name = type(task).__name__
    made = task.build(worlds=count, device=device, threads=threads)
    if not isinstance(made, Simulation):
        raise InvalidValue(f"build of {name} must return a simulation, not {type(made).__name__}.")
    if made.solver.worlds != count:
        raise InvalidValue(
            f"build of {name} made {made.solver.worlds} worlds, not {count}: pass its arguments on to the physics."
        )
    if not len(made.controls):
        raise InvalidValue(f"the simulation of {name} has no controls to act with: give its body some.")
    if not len(made.sensors):
        raise InvalidValue(f"the simulation of {name} has no sensors to observe: add some to it.")
    return made


def _conversion(task: Task) -> Callable[[wp.array[Any]], Any]:
    if task.arrays == "torch":
        optional("torch", purpose="a task in PyTorch", extra="rl")
        return wp.to_torch
    return lambda rows: rows.numpy().copy()
