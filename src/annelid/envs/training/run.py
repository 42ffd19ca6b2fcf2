"""One training: a folder with agent, history and logs, which a later run can go on from."""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import read_text, require_folder, write_json
from annelid.core.interrupts import held_back
from annelid.core.ownership import owned
from annelid.core.packages import optional
from annelid.envs.baselines.registry import has_script, scripted
from annelid.envs.registration import make_worlds
from annelid.envs.training.agents import load_agent, make_agent, save_agent
from annelid.envs.training.evaluation import constant, episode_outcomes, episode_returns, successes, uniform
from annelid.envs.training.history import History
from annelid.envs.training.recipes import Recipe, recipe
from annelid.envs.training.watch import Watch
from annelid.envs.worlds import Worlds, require

_PLAN = "training.json"


@dataclass(frozen=True)
class Plan:
    """What is trained; a resumed run must agree with it in all but the number of steps.

    Attributes:
        name: Name of the environment.
        algorithm: "ppo" or "td3".
        seed: Seed of worlds, weights and noise.
        worlds: Worlds side by side; `recipes` has the number that suits an environment, as for `repeat`.
        options: Options of the environment.
        rate: Learning rate; None takes that of the recipe.
        repeat: Actions of the environment for which the agent holds what it has chosen.
    """

    name: str
    algorithm: str = "ppo"
    seed: int = 0
    worlds: int = 16
    options: dict[str, Any] = field(default_factory=dict)
    rate: float | None = None
    repeat: int = 1

    def __post_init__(self) -> None:
        recipe(self.name, self.algorithm)  # refuses an unknown algorithm
        require("worlds", self.worlds, 1, 4096, whole=True)
        require("repeat", self.repeat, 1, 10_000, whole=True)
        require("seed", self.seed, 0, 2**31 - 1, whole=True)
        if self.rate is not None:
            require("rate", self.rate, 1e-7, 1.0)

    @property
    def settings(self) -> Recipe:
        """How the agent learns."""
        usual = recipe(self.name, self.algorithm)
        return usual if self.rate is None else replace(usual, rate=self.rate)


def holds_training(folder: Path) -> bool:
    """Whether there is a training in a folder that could go on."""
    return (folder / "agent.zip").is_file()


def require_place(folder: Path, *, resume: bool) -> None:
    """Refuse a folder in which no training can begin, or go on."""
    require_folder(folder)
    if holds_training(folder) and not resume:
        raise InvalidValue(f"{folder} holds a training already: go on with --resume, or name another folder.")
    if resume and not holds_training(folder):
        raise InvalidValue(
            f"there is no training in {folder} that could go on: leave out --resume to begin one, or name the "
            "folder of one."
        )


def read_plan(folder: Path) -> dict[str, Any]:
    """What was trained in a folder: the fields of a `Plan`."""
    path = folder / _PLAN
    try:
        before = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}.") from error
    if not isinstance(before, dict):
        raise FileFormatError(f"{path} is no plan of a training.")
    return asdict(Plan("")) | before  # files of earlier versions lack what was added since


class Training:
    """A training in a folder.

    Args:
        plan: What is trained.
        folder: Where agent, history and logs are.
        resume: Go on from what is there, which must be a training then.
        device: Where worlds and networks compute.
        threads: CPU threads of the worlds; None takes all cores.
        processes: Processes that share the worlds; see `make_worlds`.
        worlds: The worlds, where they were made already.
        settings: How a new agent learns; None takes what the plan says.

    Attributes:
        unlearnt: Actions of this run that PPO has not learnt from: those of a rollout in which it was stopped.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        *,
        resume: bool = False,
        device: str = "auto",
        threads: int | None = None,
        processes: int = 1,
        worlds: Worlds | None = None,
        settings: Recipe | None = None,
    ) -> None:
        self.plan, self.folder = plan, folder
        self.device, self.threads, self.processes = device, threads, processes
        self.unlearnt = 0
        require_place(folder, resume=resume)
        if resume:
            self._require_same()
        optional("stable_baselines3", purpose="training", extra="rl")
        from annelid.envs.stable import StableVecEnv
        from annelid.envs.training.scaling import FromIdleness, load_scale, scaled

        worlds, settings = worlds or self._worlds(plan.worlds), settings or plan.settings
        self.source = FromIdleness(StableVecEnv(worlds, repeat=plan.repeat), staggered=settings.staggered)
        self.env = scaled(self.source, settings.discount, observations=settings.scaled)
        self.env.seed(plan.seed)
        self.history = History.read(folder / "history.csv") if resume else History()
        log, networks = folder / "logs", "cuda" if worlds.device.is_cuda else "cpu"
        if resume:
            load_scale(self.env, folder)
            self.agent = load_agent(plan.algorithm, self.env, folder, log=log, device=networks)
            self.env.seed(plan.seed + self.agent.num_timesteps)  # other episodes than those of the runs before
        else:
            self.agent = make_agent(plan.algorithm, self.env, settings, seed=plan.seed, log=log, device=networks)

    @property
    def steps(self) -> int:
        """Actions of the environment so far, by all worlds and runs."""
        return int(self.agent.num_timesteps) * self.plan.repeat

    @property
    def rollout(self) -> int:
        """Actions of the environment that PPO learns from at once; TD3 learns after each action of all worlds."""
        rows = self.agent.n_steps if self.plan.algorithm == "ppo" else 1
        return int(rows) * self.plan.worlds * self.plan.repeat

    def learn(
        self, steps: int, *, seconds: float = math.inf, watch: Watch | None = None, save_every: float = 120.0
    ) -> None:
        """Train until so many actions were taken in all, saving now and then, and when it is interrupted.

        Ctrl-C comes between two actions, so that an update that has begun is finished; pressed again it comes at once.
        In any case what was learnt is saved, but for the rollout that PPO has not learnt from yet.

        Args:
            steps: Actions of all worlds and runs together; PPO goes on to the end of the rollout that reaches them.
            seconds: Wall time of this run [s]; PPO finishes its rollout, takes one at least, and begins none that would
                end too late by more than its half.
            watch: Receives the progress.
            save_every: Wall time between two checkpoints [s].
        """
        require("steps", steps, 1, 10**12, whole=True)
        require("seconds", seconds, 0.0, math.inf)
        with owned(self.folder):
            self._learn(steps, seconds, watch, save_every)

    def learn_for(self, seconds: float, actions: int, *, most: float = math.inf, watch: Watch | None = None) -> None:
        """Train until a time is over, which is as long as some number of actions is expected to take.

        Args:
            seconds: Wall time [s].
            actions: That number; the learning rate of recipes in which it fades follows it.
            most: Actions of all worlds and runs together at which it ends in any case.
            watch: Receives the progress.
        """
        begin, before = time.perf_counter(), self.steps
        while True:
            left = seconds - (time.perf_counter() - begin)
            self.learn(int(min(most, self.steps + actions)), seconds=max(left, 0.0), watch=watch)
            passed = time.perf_counter() - begin
            actions = int((self.steps - before) * (seconds - passed) / passed)
            if actions < self.rollout or self.steps >= most:
                return

    def _learn(self, steps: int, seconds: float, watch: Watch | None, save_every: float) -> None:
        if steps > self.steps:
            from annelid.envs.training.callback import Noting

            noting = Noting(self, steps, watch, seconds=seconds, save_every=save_every)
            choices = math.ceil((steps - self.steps) / self.plan.repeat)
            try:
                with held_back():  # an update is finished; `Noting` lets Ctrl-C through between two actions
                    self.agent.learn(choices, callback=noting, reset_num_timesteps=False, tb_log_name="run")
            except KeyboardInterrupt:
                with suppress(KeyboardInterrupt):  # the one that is on its way will do
                    self.save()
                raise
        self.save()

    def save(self) -> None:
        """Write agent, history and plan; Ctrl-C comes when that is done."""
        from annelid.envs.training.scaling import save_scale

        with held_back(firmly=True), owned(self.folder):
            write_json(self.folder / _PLAN, asdict(self.plan))
            self.history.write(self.folder / "history.csv")
            save_scale(self.env, self.folder)
            save_agent(self.agent, self.folder)

    def evaluate(self, episodes: int) -> np.ndarray:
        """Returns of some episodes of the agent, which explores no more."""
        return self.judge(episodes)[0]

    def judge(self, episodes: int) -> tuple[np.ndarray, float | None]:
        """The same, and the share of episodes that ended well; None where the task does not say."""
        returns, ends = episode_outcomes(self._judges(episodes), self.act, episodes, repeat=self.plan.repeat)
        return returns, successes(ends)

    def baselines(self, episodes: int, randoms: int = 100) -> dict[str, np.ndarray]:
        """Returns of doing nothing, of the largest first action, of a script, and of random actions, also held."""
        few, many = self._judges(episodes), self._judges(randoms)
        found = {
            "zero": episode_returns(few, constant(few), episodes),
            "ahead": episode_returns(few, constant(few, 1.0), episodes),
            "random": episode_returns(many, uniform(many, self.plan.seed), randoms),
        }
        if has_script(self.plan.name):
            found["scripted"] = episode_returns(few, scripted(self.plan.name, few), episodes)
        if self.plan.repeat > 1:
            chance = uniform(many, self.plan.seed)
            found["random-held"] = episode_returns(many, chance, randoms, repeat=self.plan.repeat)
        return found

    def act(self, observations: Any) -> np.ndarray:
        """What the agent does, without exploring."""
        known = self.env.normalize_obs(observations)  # as it is, where only rewards are scaled
        return np.asarray(self.agent.predict(known, deterministic=True)[0])

    def _judges(self, episodes: int) -> Worlds:
        """Worlds for evaluation: those that train, or fewer; then training goes on with new episodes."""
        if episodes < self.plan.worlds:
            return self._worlds(episodes)
        self.agent.set_env(self.env)
        self.env.seed(self.plan.seed + self.agent.num_timesteps)
        return self.source.worlds

    def _worlds(self, count: int) -> Worlds:
        plan, shared = self.plan, min(count, self.processes)
        return make_worlds(plan.name, count, device=self.device, threads=self.threads, processes=shared, **plan.options)

    def _require_same(self) -> None:
        before = read_plan(self.folder)
        now = json.loads(json.dumps(asdict(self.plan)))
        for name, value in now.items():
            if before[name] != value:
                raise InvalidValue(f"the training in {self.folder} has {name} = {before[name]!r}, not {value!r}.")
