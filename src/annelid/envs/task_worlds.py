"""The worlds of a task: any simulation that has controls and sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import Detachable, as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.packages import optional
from annelid.core.replay import Graphs
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Part, Snapshot
from annelid.core.solver import Accompanied, Controllable, Separable, Solver, Troubled, kickable
from annelid.core.state import addresses, take_world
from annelid.core.weakly import weakly
from annelid.envs.goals import Goals
from annelid.envs.hooks import Channel, Hooks
from annelid.envs.kernels import task as kernels
from annelid.envs.kernels.beginnings import stir_commands
from annelid.envs.kernels.noise import episode_keys
from annelid.envs.readings import Readings
from annelid.envs.task import Task
from annelid.envs.worlds import MOST_WORLDS, Worlds, require


class TaskWorlds(Worlds):
    """Worlds in which a task is to be done; see `annelid.envs.hooks.Batch` for what the task has of them.

    Args:
        count: Number of worlds.
        options: The task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    options: Task

    def __init__(
        self, count: int, options: Task, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        require("the number of worlds", count, 1, MOST_WORLDS, whole=True)
        count, task = int(count), options
        self.task, self.simulation = task, _built(task, count, device, threads)
        self.simulation.parameters.randomise(task.randomise)
        self._goals = Goals(task.goals(), count, self.simulation.solver.device)
        self._goals.join(self.simulation.sensors)
        self.goals = self._goals.values
        self.solver, self.state = self.simulation.solver, self.simulation.state
        self.substeps = task.steps_of_action(self.simulation.dt)
        self._channels, self._action_size = task.channels(self.simulation), task.action_size(self.simulation)
        super().__init__(count, options, device=self.solver.device)
        controls, sensors = self.simulation.controls, self.simulation.sensors
        self._every_column = tuple(range(len(controls)))
        self._values = self._zeros((count, len(controls)), wp.float64)
        self._lows, self._highs = (
            wp.array(side, dtype=wp.float64, device=self.device) for side in (controls.lows, controls.highs)
        )
        self._readings, self._readings_before = (self._zeros((count, sensors.size), wp.float32) for _ in range(2))
        self._noise_keys = self._zeros(count, wp.int32)
        self._views = self._columns(self._readings), self._columns(self._readings_before)
        self.now: Mapping[str, Any] = self._views[0]
        self._convert = _conversion(task)
        self._twin: Simulation[Any] | None = None
        self.told, self.followed, self.camera = task.told, task.followed, task.camera
        self.own = task.prepare(self)
        self.idle_reward = task.idle_reward(self)
        self._measured = {name: wp.clone(rows) for name, rows in task.measure(self).items()}
        replayed = task.replayed and task.arrays == "warp" and self.device.is_cuda and self.device.is_mempool_enabled
        self._graphs, self._addresses = Graphs(self.device, kept=1) if replayed else None, addresses(self.state)
        self._stepwise = _overridden(task, "before_step") or _overridden(task, "after_step")
        solver: Solver = self.simulation.solver
        assert isinstance(solver, Controllable)
        none = wp.full(count, -1, dtype=wp.int64, device=self.device)
        self._troubles = solver.troubles if isinstance(solver, Troubled) else none
        self._controlled, self._accompanied = solver, solver if isinstance(solver, Accompanied) else None
        if self._stepwise and self._accompanied is not None:
            self._accompanied.accompany(weakly(self.between_steps))

    # --- what the task says ---

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Parts of the observations."""
        return self._channels

    @property
    def action_size(self) -> int:
        """Numbers of an action, each in [-1, 1]."""
        return self._action_size

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.substeps * self.simulation.dt

    def info(self) -> dict[str, np.ndarray]:
        """Numbers of each world that are no observation, those of `told`, on the host, shapes [count]."""
        return self.task.info(self)

    def snapshot(self, world: int = 0) -> Snapshot:
        """One world by itself."""
        self._require_world(world)
        shot = self.task.picture(self, world) or self._pictured(world)
        parts = (*shot.parts, *self.marks(world))
        return Snapshot(float(self.steps.numpy()[world]) * self.action_seconds, 0, parts)

    def marks(self, world: int = 0) -> tuple[Part, ...]:
        """What pictures show of the goals of a world."""
        return tuple(self.task.marks(self._goals.of(world)))

    # --- what the task may do with them ---

    def obey(self, *, ramp: float) -> None:
        """Command the channels: an action of -1 stands for the least value of a channel, 1 for its largest."""
        inputs = [self.actions, self._lows, self._highs]
        wp.launch(kernels.span_actions, self._values.shape, inputs, [self._values], device=self.device)
        self.command(self._values, ramp=ramp)

    def command(self, values: wp.array[Any], *, ramp: float = 0.0, mask: wp.array[Any] | None = None) -> None:
        """Command the channels with their own values, shape [count, channels], in all worlds or in masked ones."""
        place = self._controlled.commanded(self.state)
        self.simulation.controls.take(place, values, self._every_column, ramp=ramp, mask=mask)

    def commanding(self) -> Any:
        """The channels, for kernels that command them: see `core.kernels.controls.command_channel`."""
        return self.simulation.controls.channels_at(self._controlled.commanded(self.state))

    def show(self, mask: wp.array[Any]) -> None:
        """Write the readings of all sensors into the observations of masked worlds."""
        for readings, seen in self._seen:
            wp.launch(kernels.copy_rows, seen.shape, [mask, readings], [seen], device=self.device)

    @cached_property
    def _seen(self) -> list[tuple[wp.array[Any], wp.array[Any]]]:
        """Columns of readings, and where they are observed."""
        sensors, found, first = self.simulation.sensors, [], 0
        if not self.task.apart:
            return [(self._readings, self.observations["observation"])]
        for name in sensors:
            readings = self._readings[:, sensors.columns(name)]
            if name in self.task.apart:
                seen = self.observations[name].reshape((self.count, -1))
            else:
                seen = self.observations["observation"][:, first : first + readings.shape[1]]
                first += readings.shape[1]
            found.append((readings, seen))
        return found

    def kick(self, velocities: wp.array[Any], mask: wp.array[Any]) -> None:
        """Add a velocity of each masked world to all that can move in it [m/s], shape [count, axes]."""
        kickable(self.solver).kick(self.state, velocities, mask)

    def uniform(self, size: int, low: float = 0.0, high: float = 1.0) -> wp.array[Any]:
        """Numbers from a range that seed and episode of each world determine, shape [count, size]."""
        return self._drawn(kernels.draw_uniform, size, low, high)

    def normal(self, size: int, spread: float = 1.0) -> wp.array[Any]:
        """Numbers about 0 with a standard deviation that seed and episode of each world determine."""
        return self._drawn(kernels.draw_normal, size, spread)

    def between_steps(self, grains: object = None) -> None:
        """What the task does between two steps."""
        self.task.after_step(self)
        self.task.before_step(self)
        if self._accompanied is not None:
            self._accompanied.expect()

    # --- episodes ---

    def _begin(self, mask: wp.array[Any]) -> None:
        self.simulation.parameters.redraw(mask, seeds=self.seeds, episodes=self.episodes)
        self.solver.reset(self.state, mask)
        self._goals.draw(mask, self.seeds, self.episodes)
        if self.task.stir > 0.0:
            self._stir(mask)
        self.task.reset(self, mask)
        self._sense(mask, acted=False)
        self._remember(mask)

    def _stir(self, mask: wp.array[Any]) -> None:
        inputs = [mask, self.seeds, self.episodes, self.task.stir, self._lows, self._highs]
        self._launch(stir_commands, [*inputs, self._controlled.commanded(self.state).commands])

    def _advance(self) -> None:
        self.task.act(self)
        if not self._stepwise:
            self.solver.advance(self.state, self.substeps)
            return
        self.task.before_step(self)
        if self._accompanied is not None:
            self.solver.advance(self.state, self.substeps)
            return
        for _ in range(self.substeps):
            self.solver.advance(self.state, 1)
            self.between_steps()

    def _conclude(self) -> None:
        if self._graphs is None or self.stopwatch is not None:
            super()._conclude()
            return
        key = *self._addresses(), self.simulation.sensors.size  # sensors that were added are refused out of graphs
        self._graphs.run(key, super()._conclude)

    def _judge(self) -> None:
        self._sense(self._every, acted=True)
        self._lap("sensors")
        task = self.task
        measured = {name: self.now[name] for name in self._measured}
        given = self._named(0, measured), self._named(1, self._measured), self._convert(self.actions)
        worth = self._per_world("reward", task.reward(*given), wp.float32)
        inputs = [worth, self._readings, self._troubles, self.steps]
        self._launch(kernels.judge, inputs, [self.rewards, self._bad_rewards])
        if task.arrays != "warp":  # there the next action looks: nothing waits in the middle of one
            self._refuse_rewards()
        for name, ends, out in (
            ("terminated", task.terminated(*given), self.terminated),
            ("truncated", task.truncated(*given), self.truncated),
        ):
            if ends is not None:
                wp.copy(out, self._per_world(name, ends, wp.bool))
        self._remember(self._every)

    def _observe(self, mask: wp.array[Any]) -> None:
        self.task.observe(self, mask)

    def _memory(self) -> dict[str, Any]:
        own = {f"own_{name}": part for name, part in self.task.memory(self).items()}
        measured = {f"measured_{name}": rows for name, rows in self._measured.items()}
        return {"state": self.state, "before": self._readings_before, "goals": self._goals.values, **measured, **own}

    def _after_load(self) -> None:
        self.solver.clear_divergence()
        wp.copy(self._readings, self._readings_before)  # between two actions they are the same
        self.now = {**self.now, **self.task.measure(self)}

    # --- parts ---

    def _sense(self, mask: wp.array[Any], *, acted: bool) -> None:
        """Read the sensors of masked worlds, at the beginning of an episode or after an action."""
        self._launch(episode_keys, [self.seeds, self.episodes, self.steps, int(acted)], [self._noise_keys])
        readings = self.simulation.sensors.read(self._noise_keys)
        if readings.shape != self._readings.shape:
            raise InvalidValue(f"the sensors of {type(self.task).__name__} have changed: make a new environment.")
        wp.launch(kernels.copy_rows, readings.shape, [mask, readings], [self._readings], device=self.device)
        self.now = {**self.now, **self.task.measure(self)}

    def _remember(self, mask: wp.array[Any]) -> None:
        """What is read and measured is that before the next action; worlds that stand still measure the same again."""
        inputs, size = [mask, self._readings], self._readings.shape
        wp.launch(kernels.copy_rows, size, inputs, [self._readings_before], device=self.device)
        for name, rows in self._measured.items():
            wp.copy(rows, self.now[name])

    def _named(self, when: int, measured: Mapping[str, wp.array[Any]]) -> Readings:
        """Readings after (0) or before the action (1) and what was measured, by name, as the task takes them."""
        if self.task.arrays == "warp":
            return Readings({**self._views[when], **measured})
        readings = self._columns(self._convert((self._readings, self._readings_before)[when]))
        return Readings({**readings, **{name: self._convert(rows) for name, rows in measured.items()}})

    def _columns(self, rows: Any) -> dict[str, Any]:
        """Readings by name of the sensor."""
        sensors = self.simulation.sensors
        return {name: rows[:, sensors.columns(name)] for name in sensors}

    def _drawn(self, kernel: wp.Kernel, size: int, *measures: float) -> wp.array[Any]:
        numbers: wp.array[Any] = wp.empty((self.count, size), dtype=wp.float32, device=self.device)
        self._launch(kernel, [self.seeds, self.episodes, *measures], [numbers])
        return numbers

    def _per_world(self, what: str, values: Any, dtype: Any) -> wp.array[Any]:
        """What a function of the task returned, as an array on the device."""
        what, arrays = f"{what} of {type(self.task).__name__}", self.task.arrays
        if arrays == "torch" and not isinstance(values, Detachable):
            raise InvalidValue(f"{what} must be a tensor of PyTorch, as `arrays` says, not {values!r:.60}.")
        if arrays == "warp" and not (isinstance(values, wp.array) and values.dtype is dtype):
            raise InvalidValue(
                f"{what} must be a Warp array of {dtype.__name__}, as `arrays` says, not {values!r:.60}."
            )
        found: Any = as_numbers(what, values) if arrays == "numpy" else values
        given_as = np.asarray(values).dtype if arrays == "numpy" else found.dtype
        if dtype is wp.bool and arrays != "warp" and str(given_as) not in ("bool", "torch.bool"):
            raise InvalidValue(f"{what} must be true or false for each world, not {given_as}: compare, as in x > 0.5.")
        if tuple(found.shape) != (self.count,):
            raise InvalidValue(f"{what} must be {self.count} values, one a world, not shape {list(found.shape)}.")
        if arrays == "warp":
            there: wp.array[Any] = found.to(self.device)
            return there
        if arrays == "torch":
            kind = {wp.float32: "float", wp.bool: "bool"}[dtype]
            given: Any = wp.from_torch(getattr(found.detach(), kind)().contiguous(), dtype=dtype)
            return given.to(self.device)
        with np.errstate(over="ignore"):  # a reward that is too large for float32 is refused with the infinite ones
            return wp.array(found.astype(wp.dtype_to_numpy(dtype)), dtype=dtype, device=self.device)

    def _pictured(self, world: int) -> Snapshot:
        """What the physics shows of one world, by a simulation of one that is brought to its state."""
        if self._twin is None:
            self._twin = _built(self.task, 1, self.device, 1)
            self._twin.parameters.randomise(self.task.randomise)  # it takes those of the world
        solver: Solver = self.solver
        if isinstance(solver, Separable):
            solver.take_world(self.state, self._twin.state, world)
        else:
            take_world(self.state, self._twin.state, world, self.count)
        return self._twin.solver.snapshot(self._twin.state, Look())


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
    if not len(made.sensors) and not _overridden(task, "observe"):
        raise InvalidValue(f"the simulation of {name} has no sensors to observe: add some to it.")
    return made


def _overridden(task: Task, name: str) -> bool:
    """Whether a task does something of its own here."""
    return vars(Hooks)[name] is not next(vars(kind)[name] for kind in type(task).__mro__ if name in vars(kind))


def _conversion(task: Task) -> Callable[[wp.array[Any]], Any]:
    """From an array of Warp to that which the functions of a task take."""
    if task.arrays == "torch":
        optional("torch", purpose="a task in PyTorch", extra="rl")
        return wp.to_torch
    if task.arrays == "warp":
        return lambda rows: rows
    return lambda rows: rows.numpy().copy()
