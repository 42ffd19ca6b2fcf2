"""`annelid train ENV`: let an agent learn in an environment, and show what it learned."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from annelid.commands.support.options import Machine, combined, parse, split_name
from annelid.commands.support.results import filmed, plotted
from annelid.commands.support.telling import tell
from annelid.commands.support.terminal import imports_that_can_be_interrupted
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.files import replaced
from annelid.core.interrupts import held_back
from annelid.core.measurement import Measurement, Report
from annelid.core.own_files import is_own
from annelid.core.ownership import owned
from annelid.core.packages import optional
from annelid.core.snapshot import Snapshot
from annelid.envs import TASKS, make_worlds
from annelid.envs.registration import environment_names, settings_of, short
from annelid.envs.spaces import host_observations, packed
from annelid.envs.training.display import TrainingDisplay
from annelid.envs.training.evaluation import FIRST_SEED, held
from annelid.envs.training.recipes import recipe
from annelid.envs.training.run import Plan, Training, holds_training
from annelid.envs.worlds import read_options, require
from annelid.view.figures import line_plot
from annelid.view.video import require_mp4

MOST_EPISODES, MOST_STEPS = 1_000_000, 10**12


@dataclass(frozen=True)
class Train:
    """How an agent learns and where results go."""

    algo: Literal["ppo", "td3"] = "ppo"
    """Algorithm of Stable-Baselines3."""
    seed: int = 0
    """Seed of worlds, weights and noise."""
    steps: int | None = None
    """Actions of all worlds and all runs together; by the recipe of the environment unless told."""
    minutes: float = math.inf
    """Wall time after which this run ends [min], PPO with the rollout it has begun; then it is evaluated."""
    worlds: int | None = None
    """Worlds side by side; by the recipe unless told: 16 to 2,048."""
    rate: float | None = None
    """Learning rate; by the recipe unless told, 3e-4 for most with PPO and 5e-4 with TD3."""
    repeat: int | None = None
    """Actions of the environment for which the agent holds what it has chosen; by the recipe unless told (mostly 1)."""
    option: Annotated[tuple[tuple[str, ...], ...], tyro.conf.UseAppendAction] = ()
    """Options of the environment, such as grains=1000; one or more each time."""
    out: Path | None = None
    """Folder for agent, history, logs and results; out/NAME-ALGO-SEED by default."""
    resume: bool = False
    """Go on from the training in that folder."""
    episodes: int = 20
    """Evaluation episodes at the end."""
    baselines: bool = False
    """Also evaluate doing nothing, the largest first action, a scripted policy, and 100 episodes of random actions."""
    no_plot: bool = False
    """Do not draw the learning curve."""
    video: bool = False
    """Make a video of an episode."""


def command(arguments: list[str]) -> int:
    """Train an agent."""
    name, rest = split_name(arguments, "environment", environment_names())
    if name is None:
        print("usage: annelid train ENV [OPTIONS]; annelid train ENV --help tells the options.")
        print("ENV is one of these, or a task of your own: FILE.py, or FILE.py:TASK where it has several.\n")
        for known in environment_names():
            print(f"  {known:17s} {(settings_of(known).__doc__ or '').strip().splitlines()[0]}")
        return 0
    kind = combined("Options", Train, Machine, doc=f"Train an agent in {name}.")
    options = parse(kind, rest, f"annelid train {name}")
    report, written = train(full_name(name), options.train, options.machine)
    tell(report, written, options.machine)
    return 0


def full_name(name: str) -> str:
    """The name of an environment as Gymnasium knows it."""
    if is_own(name):
        return name
    known = {short(task).lower(): task for task in TASKS} | {task.lower(): task for task in TASKS}
    if name.lower() not in known:
        raise UnknownName("environment", name, environment_names())
    return known[name.lower()]


def read_option(text: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE; a value is a number, a tuple, True, False, None, or else text."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InvalidValue(f"an option must be NAME=VALUE, such as grains=1000, not {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def read_choices(name: str, texts: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    """Options of an environment, which are refused here if it would not take them."""
    choices = dict(map(read_option, chain.from_iterable(texts)))
    for machine in ("device", "threads"):
        if machine in choices:
            raise InvalidValue(
                f"{machine} is no option of an environment: give --{machine} {choices[machine]} instead."
            )
    read_options(settings_of(name), choices)
    return choices


def train(name: str, options: Train, machine: Machine) -> tuple[Report, list[Path]]:
    """Train, evaluate, and write what came of it; an interrupt says how to go on."""
    require("--episodes", options.episodes, 1, MOST_EPISODES, whole=True)
    require("--minutes", options.minutes, 0.0, math.inf)
    require("--steps", options.steps or 0, 0, MOST_STEPS, whole=True)
    folder = options.out or Path("out") / f"{short(name).lower()}-{options.algo}-{options.seed}"
    try:
        return _train(name, folder, options, machine)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or stopped(folder)) from None


def _train(name: str, folder: Path, options: Train, machine: Machine) -> tuple[Report, list[Path]]:
    choices = read_choices(name, options.option)
    told = {key: getattr(options, key) for key in ("worlds", "steps", "repeat") if getattr(options, key) is not None}
    settings = replace(recipe(name, options.algo), **told)
    plan = Plan(name, options.algo, options.seed, settings.worlds, choices, options.rate, settings.repeat)
    if options.video:
        require_mp4()
    with owned(folder):
        with imports_that_can_be_interrupted(stopped(folder)):
            optional("stable_baselines3", purpose="training", extra="rl")
        training = Training(plan, folder, resume=options.resume, device=machine.device, threads=machine.threads)
        try:
            return _train_inside(folder, training, settings.steps, options, machine)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(stopped(folder, training.steps, training.unlearnt)) from None


def stopped(folder: Path, steps: int | None = None, unlearnt: int = 0) -> str:
    """What is said after Ctrl-C: what is kept, where, and how to go on.

    Args:
        folder: Folder of the training.
        steps: Actions so far; None where this run has not come to any.
        unlearnt: How many of them PPO has not learnt from; they stay counted.
    """
    if not holds_training(folder):
        return "stopped before anything was learnt; the same command begins again."
    kept = f"what was there in {folder} is" if steps is None else f"{steps:,} actions of training are"
    where = "" if steps is None else f" in {folder}"
    where += f" (PPO had not learnt from the last {unlearnt:,} yet)" if unlearnt else ""
    return f"stopped; {kept} kept{where}, and the same command with --resume goes on from there."


def _train_inside(
    folder: Path, training: Training, steps: int, options: Train, machine: Machine
) -> tuple[Report, list[Path]]:
    plan = training.plan
    with TrainingDisplay(f"{short(plan.name)} {options.algo}", quiet=machine.json) as display:
        training.learn(steps, seconds=60.0 * options.minutes, watch=display)
        display.say(f"{display.title}: evaluating {options.episodes} episodes")
        report = Report(
            f"train-{short(plan.name).lower()}", device_title(choose_device(machine.device)), training.history.seconds,
            _measurements(training, options),
        )  # fmt: skip
    with replaced(folder / "results.json") as temporary:
        temporary.write_text(report.to_json() + "\n", encoding="utf-8")
    return report, _files(training, options, machine)


def _measurements(training: Training, options: Train) -> list[Measurement]:
    returns, success = training.judge(options.episodes)
    found = [] if success is None else [Measurement("evaluation-success", success)]
    found += [
        Measurement("evaluation-mean", float(returns.mean())),
        Measurement("evaluation-deviation", float(returns.std())),
        Measurement("evaluation-low", float(returns.min())),
        Measurement("evaluation-high", float(returns.max())),
        Measurement("training-mean-of-last-100", training.history.last_mean()),
        Measurement("actions", float(training.steps)),
        Measurement("episodes", float(len(training.history.rows))),
    ]
    if options.baselines:
        others = training.baselines(options.episodes)
        found += [
            Measurement("zero-action-mean", float(others["zero"].mean())),
            Measurement("full-ahead-mean", float(others["ahead"].mean())),
            Measurement("random-mean", float(others["random"].mean())),
            Measurement("random-best-of-100", float(others["random"].max())),
        ]
        if "scripted" in others:
            found.append(Measurement("scripted-mean", float(others["scripted"].mean())))
        if "random-held" in others:
            found.append(Measurement("random-held-best-of-100", float(others["random-held"].max())))
    return found


def _files(training: Training, options: Train, machine: Machine) -> list[Path]:
    folder = training.folder
    files = [folder / name for name in ("agent.zip", "history.csv", "training.json", "results.json")]
    minutes, means = training.history.curve()
    if not options.no_plot and len(minutes) > 1:
        label = "return, mean of the last 100 episodes"
        with held_back():  # what draws is imported there, and an import that is torn apart says something else
            files += plotted(
                lambda: line_plot(
                    folder / "curve.png", minutes, {label: means}, x_label="wall clock [min]", y_label=label
                )
            )
    if options.video:
        files.append(_film(training, folder / "episode.mp4", machine))
    return files


def _film(training: Training, path: Path, machine: Machine) -> Path:
    """A video of one episode of the agent."""
    plan = training.plan
    worlds = make_worlds(plan.name, 1, device=machine.device, threads=machine.threads, **plan.options)
    fps = float(np.clip(1.0 / worlds.action_seconds, 5.0, 30.0))

    def moments() -> Iterator[list[Snapshot]]:
        act = held(training.act, plan.repeat)
        worlds.restart(seeds=[FIRST_SEED])
        yield [worlds.snapshot()]
        while not worlds.done.numpy()[0]:
            worlds.step(act(packed(host_observations(worlds))))
            yield [worlds.snapshot()]

    caption = f"{short(plan.name)}, {plan.algorithm}"
    return filmed(moments(), path, name=caption, fps=fps, machine=machine, camera=worlds.camera, follow=worlds.followed)
