"""A user's own task as a scene: one world of it, which a slider, a controller or nobody commands, and what it earns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from annelid.control import Controller, connect, read_controller
from annelid.control.loop import Policy
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, parameter, values
from annelid.core.simulation import Simulation
from annelid.envs.task import Task
from annelid.envs.task_options import Member, task_options
from annelid.envs.task_worlds import TaskWorlds
from annelid.envs.training.run import holds_training
from annelid.envs.training.trained import Agent
from annelid.view.camera.camera import Camera

_SCORE = "score"
_BEST, _SEED = "best", "seed"
_NO_PARAMETERS = ("seconds", "arrays")
"""How long a command goes on is its own option, and in whose arrays a reward is written its author has decided."""


def task_scene(kind: type[Task]) -> type[Any]:
    """A class of scenes whose parameters are the options of a task.

    Its time is that of an episode; how long a command goes on is an option of the command.
    """
    options = [option for option in task_options(kind) if option[0] not in _NO_PARAMETERS]
    names = [name for name, _, _ in options]
    if _BEST in names:
        raise InvalidValue(
            f"`{_BEST}` names the controller that acts in a scene: rename that option of {kind.__name__}."
        )
    best = parameter("", "Folder of a search or a training whose controller acts; without one the action is 0")
    own: list[Member] = [(_BEST, str, best)]
    if _SEED not in names:  # else it is one of the task
        own.append((_SEED, int, parameter(0, "Seed of the episode", limits=SEEDS)))
    duration = next(each.default for each in fields(kind) if each.name == "seconds")
    members = {
        "build": _builder(kind, names), "measure": _measure, "status": _status, "viewpoint": _viewpoint,
        "duration": duration,
    }  # fmt: skip
    made = make_dataclass(kind.__name__, [*options, *own], frozen=True, kw_only=True, namespace=members)
    # Python writes a signature where a dataclass has no text of its own.
    told = not (kind.__doc__ or "").startswith(f"{kind.__name__}(")
    text = inspect.getdoc(kind) if told else None
    made.__doc__ = text.split("\n\n")[0] if text else f"The task {kind.__name__}."
    made.__module__ = kind.__module__
    return made


def _builder(kind: type[Task], names: Sequence[str]) -> Callable[..., Simulation[Any]]:
    def build(scene: Any, *, device: str | wp.Device = "auto", threads: int | None = None) -> Simulation[Any]:
        """One world at the beginning of the first episode of its seed."""
        given = values(scene)
        worlds = TaskWorlds(1, kind(**{name: given[name] for name in names}), device=device, threads=threads)
        worlds.restart(seeds=[given[_SEED]])
        simulation, every, task = worlds.simulation, worlds.action_seconds, worlds.task
        if given[_BEST]:
            connect(simulation, _best(given[_BEST], worlds), every=every, ramp=task.smooth)
        else:
            controls = simulation.controls
            controls.command(0.5 * (controls.lows + controls.highs), ramp=every if task.smooth else 0.0)
        score = Score(worlds)
        simulation.attachments[_SCORE] = score
        simulation.marks = worlds.marks()
        simulation.observe(score, every=every)
        return simulation

    return build


def _best(path: str, worlds: TaskWorlds) -> Controller | Policy:
    """Who acts: the best controller of a search, or the agent of a training."""
    if not holds_training(Path(path)):
        return read_controller(path)
    agent, every, controls = Agent(path), worlds.action_seconds, worlds.simulation.controls
    numbers = (worlds.simulation.sensors.size,)
    if len(worlds.channels) > 1 or worlds.channels[0].shape != numbers or worlds.action_size != len(controls):
        raise InvalidValue(
            f"the agent in {path} sees or does something else than sensors and controls: step the environment with it "
            "instead, as envs.Agent(...) does, or use the video that annelid train --video made."
        )
    if agent.sees.shape != numbers:
        raise InvalidValue(
            f"the agent in {path} sees {agent.sees.shape[0]} numbers, and this task tells {numbers[0]}: give the task "
            f"and the options that it was trained with, {agent.plan.name} {agent.plan.options or ''}."
        )
    chosen: np.ndarray | None = None

    def act(time: float, readings: np.ndarray) -> np.ndarray:
        nonlocal chosen
        if chosen is None or round(time / every) % agent.plan.repeat == 0:
            chosen = np.clip(agent(readings), -1.0, 1.0)
        return np.asarray(controls.lows + 0.5 * (1.0 + chosen) * (controls.highs - controls.lows))

    return act


class Score:
    """Adds up what the actions of an episode are worth.

    Args:
        worlds: One world at the beginning of an episode, whose simulation runs by itself.

    Attributes:
        worlds: That world.
        total: Return so far.
        actions: Actions so far.
        over: Whether the episode has ended.
    """

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds = worlds
        self.total, self.actions, self.over = 0.0, 0, False

    def __call__(self, simulation: Simulation[Any]) -> None:
        """An action has ended."""
        if self.over:
            return
        controls = simulation.controls
        share = (controls.targets() - controls.lows) / (controls.highs - controls.lows)
        self.worlds.actions.assign((2.0 * share - 1.0).astype(np.float32))
        self.worlds.conclude()
        self.total += float(self.worlds.rewards.numpy()[0])
        self.actions += 1
        self.over = bool(self.worlds.done.numpy()[0])


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


def _viewpoint(scene: Any, simulation: Simulation[Any]) -> tuple[Camera | None, bool]:
    """The camera of the task, and whether it moves along."""
    worlds = _score(simulation).worlds
    return worlds.camera, worlds.followed
