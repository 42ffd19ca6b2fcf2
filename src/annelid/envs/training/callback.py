"""What happens while an agent learns: episodes are noted, progress is reported, checkpoints are written."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from annelid.core.interrupts import raise_noted
from annelid.envs.training.history import History
from annelid.envs.training.scaling import FromIdleness
from annelid.envs.training.watch import Watch

_TELL = 1.0  # seconds between two reports


class Noted(Protocol):
    """What is asked of a training while it runs.

    Attributes:
        source: Its worlds, which know what was paid and counted at the last step.
        history: Its episodes.
        unlearnt: Actions of the rollout that PPO has not learnt from yet.
    """

    source: FromIdleness
    history: History
    unlearnt: int

    @property
    def steps(self) -> int:
        """Actions of the environment so far, by all worlds and runs."""
        ...

    def save(self) -> None:
        """Write a checkpoint."""
        ...


class Noting(BaseCallback):
    """Notes the episodes of a training.

    An agent that learns from whole rollouts (PPO) forgets one in which it is stopped, so it ends between two of them,
    where the time is over or where less than half of the next one would fit.
    Ctrl-C, which is held back meanwhile, is let through after an action.

    Args:
        training: The training.
        steps: Actions at which it ends.
        watch: Receives the progress.
        seconds: Wall time after which it ends [s].
        save_every: Wall time between two checkpoints [s].
    """

    def __init__(self, training: Noted, steps: int, watch: Watch | None, *, seconds: float, save_every: float) -> None:
        super().__init__()
        self._owner, self._goal, self._watch = training, steps, watch
        self._seconds, self._save_every = seconds, save_every
        count = training.source.num_envs
        self._returns, self._lengths = np.zeros(count), np.zeros(count, int)
        self._before, self._first = training.history.seconds, training.steps
        self._rollouts, self._learnt = 0, training.steps
        self._begin = self._told = self._saved = time.perf_counter()

    def _on_rollout_start(self) -> None:
        raise_noted()

    def _on_step(self) -> bool:
        dones = self.locals["dones"]
        self._returns += self._owner.source.paid
        self._lengths += self._owner.source.counted
        now, steps = time.perf_counter(), self._owner.steps
        if isinstance(self.model, OnPolicyAlgorithm):
            self._owner.unlearnt = steps - self._learnt
        for world in np.flatnonzero(dones & self._owner.source.whole):
            seconds = self._before + now - self._begin
            self._owner.history.add(seconds, steps, float(self._returns[world]), int(self._lengths[world]))
        if np.any(dones):
            self.logger.record("rollout/mean_of_last_100", self._owner.history.last_mean())
            self._returns[dones], self._lengths[dones] = 0.0, 0
        self._report(now)
        if now - self._saved > self._save_every:
            self._saved = now
            self._owner.save()
        raise_noted()
        return not self._is_over(now)

    def _is_over(self, now: float) -> bool:
        passed = now - self._begin
        if isinstance(self.model, OnPolicyAlgorithm):  # the goal of steps is kept by its own loop
            between = self._rollouts > 0 and self.locals["n_steps"] == 0
            return between and passed * (1.0 + 0.5 / self._rollouts) >= self._seconds
        return passed >= self._seconds or self._owner.steps >= self._goal

    def _on_rollout_end(self) -> None:
        self._rollouts += 1
        self._learnt, self._owner.unlearnt = self._owner.steps, 0

    def _report(self, now: float) -> None:
        if self._watch is None or now - self._told < _TELL:
            return
        self._told = now
        self._tell(self._watch, now)

    def _on_training_end(self) -> None:
        if self._watch is not None:
            self._tell(self._watch, time.perf_counter())

    def _tell(self, watch: Watch, now: float) -> None:
        steps = self._owner.steps
        rate = (steps - self._first) / max(now - self._begin, 1e-9)
        watch(steps, self._goal, self._owner.history.last_mean(), rate)
