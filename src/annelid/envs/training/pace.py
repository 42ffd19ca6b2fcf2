"""What a training can do in its time: the rate of its worlds is measured, and its settings follow from that."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annelid.core.device import device as choose_device
from annelid.envs.registration import make_worlds
from annelid.envs.training.agents import MANY_WORLDS, batch_size, rollout_rows
from annelid.envs.training.recipes import Recipe
from annelid.envs.worlds import Worlds

LEAST_CHOICES = 64
"""Choices that PPO learns from at once, at least: the fewer there are, the more an update follows chance."""
UPDATES = 50
"""How often PPO learns where the time allows it, if not less often by its recipe."""
_LEAST_ROWS = 8  # of these of each world
_GRADIENTS = 20  # steps of the optimiser in an update, at least: a rollout of 64 choices is one batch
_EVALUATION = 0.2  # of the time, at most
_FEWEST, _MOST_EPISODES = 2, 20
_MEASURED = 1.0  # seconds that the rate is measured for


@dataclass(frozen=True)
class Pace:
    """A training as it will go.

    Attributes:
        settings: The recipe with worlds, steps, rollout and epochs that fit the time.
        rollout: Choices of all worlds that PPO learns from at once.
        rate: Actions of all worlds a second.
        episodes: Episodes of the evaluation.
        evaluation: Time that these take [s].
        needed: Time in which PPO could learn often enough [s].
    """

    settings: Recipe
    rollout: int
    rate: float
    episodes: int
    evaluation: float
    needed: float

    @property
    def first(self) -> float:
        """Time to the first update [s]."""
        return self.rollout * self.settings.repeat / self.rate

    @property
    def learning(self) -> float:
        """Time of all actions [s]."""
        return self.settings.steps / self.rate

    @property
    def updates(self) -> int:
        """How often PPO learns."""
        return max(1, self.settings.steps // (self.rollout * self.settings.repeat))


def measured_rate(worlds: Worlds) -> float:
    """Actions a second of all worlds together, with random actions."""
    draw = np.random.default_rng(0)

    def act() -> None:
        worlds.step(draw.uniform(-1.0, 1.0, (worlds.count, worlds.action_size)))

    worlds.restart(seeds=np.arange(worlds.count))
    act()  # loads kernels
    done, begin = 0, time.perf_counter()
    while not done or time.perf_counter() - begin < _MEASURED:
        if worlds.done.numpy().any():
            worlds.restart(worlds.done)
        act()
        done += 1
    return worlds.count * done / (time.perf_counter() - begin)


def fewer_worlds(settings: Recipe, actions: float, least: int) -> int:
    """Worlds for so many actions: fewer than in the recipe where each would hardly move on between two updates.

    Args:
        settings: The recipe.
        actions: Actions that there is time for.
        least: Worlds that keep all cores busy.
    """
    rollout = _shortened(settings, actions)
    if rollout >= _rollout(settings):
        return settings.worlds
    return min(settings.worlds, max(least, rollout // _LEAST_ROWS))


def paced(
    usual: Recipe, told: Mapping[str, int], rate: float, seconds: float, length: int, *, episodes: int | None = None
) -> Pace:
    """The settings for a time: PPO learns often, from less at once where there is less time.

    Args:
        usual: The recipe.
        told: What the user has set: `worlds`, `steps`, `repeat`, `choices`, `epochs`.
        rate: Actions of all worlds a second.
        seconds: Time for learning and evaluation [s]; infinite for the recipe as it is.
        length: Actions of an episode.
        episodes: Episodes of the evaluation; None for 20, or as many as a fifth of the time allows.
    """
    given: dict[str, Any] = dict(told)
    settings = replace(usual, **given)
    if episodes is None:
        allowed = max(_FEWEST, int(min(_EVALUATION * seconds * rate / length, _MOST_EPISODES)))
        whole = allowed // settings.worlds * settings.worlds  # all worlds run to the end of their episodes
        episodes = allowed if allowed == _MOST_EPISODES else whole or allowed
    together = min(episodes, settings.worlds)
    evaluation = math.ceil(episodes / together) * together * length / rate
    learning = _updates(usual) * min(LEAST_CHOICES, usual.choices) * settings.repeat / rate
    needed = max(learning / (1.0 - _EVALUATION), learning + evaluation)
    if not math.isinf(seconds):
        steps = max(1, int(min(told.get("steps", math.inf), rate * (seconds - evaluation))))
        choices = told.get("choices", _choices(usual, _shortened(usual, steps), settings.worlds))
        batches = math.ceil(choices / batch_size(choices))
        epochs = told.get("epochs", max(usual.epochs, math.ceil(_GRADIENTS / batches)))
        settings = replace(settings, steps=steps, choices=choices, epochs=epochs)
    return Pace(settings, _rollout(settings), rate, episodes, evaluation, needed)


def prepared(
    name: str,
    usual: Recipe,
    told: Mapping[str, int],
    *,
    seconds: float,
    episodes: int | None,
    processes: int,
    device: str,
    threads: int | None,
    options: Mapping[str, Any],
) -> tuple[Worlds, Pace]:
    """Worlds and settings for a time.

    Args:
        name: The environment.
        usual: Its recipe; see `paced` for this and the next three.
        told: What the user has set.
        seconds: Time for learning and evaluation [s].
        episodes: Episodes of the evaluation.
        processes: Processes that share the worlds, at most.
        device: Where to compute.
        threads: CPU threads.
        options: Options of the environment.
    """
    count = told.get("worlds", usual.worlds)
    cuda = choose_device(device).is_cuda  # there many worlds take as long as few
    if "worlds" not in told and not math.isinf(seconds) and not cuda:
        few = make_worlds(name, min(2, count), device=device, threads=1, **options)
        count = fewer_worlds(usual, seconds * processes * measured_rate(few), processes)
    shared = min(count, processes)
    worlds = make_worlds(name, count, device=device, threads=threads, processes=shared, **options)
    told = {**told, "worlds": count}
    return worlds, paced(usual, told, measured_rate(worlds), seconds, worlds.most_steps, episodes=episodes)


def announced(pace: Pace, algorithm: str) -> str:
    """What a training will do, and when it first learns."""
    settings = pace.settings
    if algorithm == "ppo":
        often = f"{pace.updates:,} times" if pace.updates > 1 else "once"
        learns = f"it learns from {pace.rollout:,} choices at once, {often}, first in {told_time(pace.first)}"
    else:
        learns = "it learns all the time"
    return (
        f"{pace.rate:.3g} actions a second in {settings.worlds} worlds, so {settings.steps:,} take "
        f"{told_time(pace.learning)}; {learns}. An evaluation of {pace.episodes} episodes takes another "
        f"{told_time(pace.evaluation)}."
    )


def too_slow(pace: Pace, seconds: float) -> str:
    """What is to be done where the time is too short to learn; empty where it is not."""
    if seconds >= pace.needed:
        return ""
    return (
        f"{pace.rate:.3g} actions a second are too few to learn much in {told_time(seconds)}: give "
        f"--minutes {math.ceil(pace.needed / 60.0)}, or make the task faster (a longer time step, which "
        "print(simulation) explains, fewer masses or elements)."
    )


def told_time(seconds: float) -> str:
    """A time in words."""
    if seconds < 100.0:
        return f"{math.ceil(seconds)} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"


def _rollout(settings: Recipe) -> int:
    """Choices of all worlds that PPO learns from at once."""
    return settings.worlds * rollout_rows(settings, settings.worlds)


def _shortened(settings: Recipe, steps: float) -> int:
    """The rollout by which PPO learns often enough within so many actions."""
    few = int(steps / (settings.repeat * _updates(settings)))
    return min(max(LEAST_CHOICES, few), _rollout(settings))


def _choices(usual: Recipe, rollout: int, worlds: int) -> int:
    """The `choices` of a recipe that make such a rollout; where worlds are many it has some rows at least."""
    if worlds > MANY_WORLDS:
        rollout = max(rollout // worlds, _LEAST_ROWS) * MANY_WORLDS
    return min(rollout, usual.choices)


def _updates(settings: Recipe) -> float:
    return min(UPDATES, settings.steps / (_rollout(settings) * settings.repeat))
