"""A user's own task as a scene: one world of it, which a slider, a controller or nobody commands, and what it earns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.control import connect, read_controller
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.packages import optional
from annelid.core.scene import parameter, values
from annelid.core.simulation import Simulation
from annelid.envs.task import Task
from annelid.envs.task_options import task_options
from annelid.envs.task_worlds import TaskWorlds

_SCORE = "score"
_BEST = "best"


def task_scene(kind: type[Task]) -> type[Any]:
    """A class of scenes whose parameters are the options of a task.

    Its time is that of an episode; how long a command goes on is an option of the command.
    """
    options = [option for option in task_options(kind) if option[0] != "seconds"]
    if _BEST in [name for name, _, _ in options]:
        raise InvalidValue(
            f"`{_BEST}` names the controller that acts in a scene: rename that option of {kind.__name__}."
        )
    best = parameter("", "Folder of a search whose best controller acts; without one the action is 0")
    duration = next(each.default for each in fields(kind) if each.name == "seconds")
    members = {"build": _builder(kind), "measure": _measure, "status": _status, "duration": duration}
    made = make_dataclass(kind.__name__, [*options, (_BEST, str, best)], frozen=True, kw_only=True, namespace=members)
    # Python writes a signature where a dataclass has no text of its own.
    told = not (kind.__doc__ or "").startswith(f"{kind.__name__}(")
    made.__doc__ = kind.__doc__ if told else f"The task {kind.__name__}."
    made.__module__ = kind.__module__
    return made


def _builder(kind: type[Task]) -> Callable[..., Simulation[Any]]:
    def build(scene: Any, *, device: str | wp.Device = "auto", threads: int | None = None) -> Simulation[Any]:
        """One world at the beginning of its first episode."""
        chosen = values(scene)
        best = chosen.pop(_BEST)
        worlds = TaskWorlds(1, kind(**chosen), device=device, threads=threads)
        worlds.restart(seeds=[0])
        simulation, every, task = worlds.simulation, worlds.action_seconds, worlds.task
        if best:
            connect(simulation, read_controller(best), every=every, ramp=task.smooth)
        else:
            controls = simulation.controls
            controls.command(0.5 * (controls.lows + controls.highs), ramp=every if task.smooth else 0.0)
        score = Score(worlds)
        simulation.attachments[_SCORE] = score
        simulation.observe(score, every=every)
        return simulation

    return build


class Score:
    """Adds up what the actions of the first episode are worth.

    Args:
        worlds: One world at the beginning of an episode.

    Attributes:
        total: Return so far.
        actions: Actions so far.
        over: Whether the episode has ended.
    """

    def __init__(self, worlds: TaskWorlds) -> None:
        self._task, self._simulation, self._most = worlds.task, worlds.simulation, worlds.most_steps
        self._before = self._read()
        self.total, self.actions, self.over = 0.0, 0, False

    def __call__(self, simulation: Simulation[Any]) -> None:
        """An action has ended."""
        if self.over:
            return
        now, done = self._read(), self._converted(self._action())
        self.total += float(np.asarray(self._task.reward(now, self._before, done)).reshape(-1)[0])
        ends = self._task.terminated(now, self._before, done)
        self.actions += 1
        self.over = self.actions >= self._most or (ends is not None and bool(np.asarray(ends).reshape(-1)[0]))
        self._before = now

    def _read(self) -> dict[str, Any]:
        """Readings by name of the sensor, shape [1, n], as the task takes them."""
        sensors = self._simulation.sensors
        return {name: self._converted(sensors[name].reshape(1, -1)) for name in sensors}

    def _action(self) -> np.ndarray:
        """What channels were told to become, from -1 to 1, shape [1, channels]."""
        controls = self._simulation.controls
        share = (controls.targets() - controls.lows) / (controls.highs - controls.lows)
        return np.asarray(2.0 * share - 1.0, np.float32)

    def _converted(self, rows: np.ndarray) -> Any:
        if self._task.arrays == "numpy":
            return rows
        torch = optional("torch", purpose="a task in PyTorch", extra="rl")
        return torch.from_numpy(rows.copy()).to(wp.device_to_torch(self._simulation.solver.device))


def _score(simulation: Simulation[Any]) -> Score:
    score = simulation.attachments[_SCORE]
    assert isinstance(score, Score)
    return score


def _measure(scene: Any, simulation: Simulation[Any]) -> list[Measurement]:
    """What the actions of the first episode were worth."""
    score = _score(simulation)
    return [Measurement("return", score.total), Measurement("actions", float(score.actions))]


def _status(scene: Any, simulation: Simulation[Any]) -> str:
    """The return so far."""
    score = _score(simulation)
    over = " (the episode is over)" if score.over else ""
    return f"return {score.total:.4g} after {score.actions} action{'' if score.actions == 1 else 's'}{over}"
