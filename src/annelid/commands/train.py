"""`annelid train ENV`: let an agent learn in an environment, and show what it learned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from annelid.commands.support.environment_options import chosen, options_of
from annelid.commands.support.options import Machine, combined, helped, parse, part, split_name
from annelid.commands.support.results import filmed, plotted
from annelid.commands.support.telling import tell
from annelid.commands.support.terminal import imports_that_can_be_interrupted
from annelid.core.device import device as choose_device
from annelid.core.device import device_title, thread_count
from annelid.core.errors import InvalidValue, SlowTask, UnknownName
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
from annelid.envs.training.pace import Pace, announced, prepared, too_slow
from annelid.envs.training.recipes import recipe
from annelid.envs.training.run import Plan, Training, holds_training, read_plan, require_place
from annelid.envs.worlds import require
from annelid.view.figures import line_plot
from annelid.view.video import require_mp4

MOST = {"episodes": 1_000_000, "rollout": 10_000_000, "epochs": 1000, "processes": 1024}
MOST_STEPS = 10**12


@dataclass(frozen=True)
class Train:
    """How an agent learns and where results go."""

    algo: Literal["ppo", "td3"] = "ppo"
    """Algorithm of Stable-Baselines3."""
    seed: int = 0
    """Seed of worlds, weights and noise."""
    steps: int | None = None
    """Actions of all worlds and all runs together; by the recipe of the environment or by --minutes, unless given."""
    minutes: float = math.inf
    """Wall time for learning and evaluation [min]; steps, rollout, epochs and worlds are chosen by it."""
    worlds: int | None = None
    """Worlds side by side; by the recipe unless given: 16 to 2,048."""
    processes: int | None = None
    """Processes of a CPU that share the worlds; one for each thread unless given."""
    rollout: int | None = None
    """Choices of all worlds that PPO learns from at once; by the recipe, at most 2,048, or the time unless given."""
    epochs: int | None = None
    """How often PPO goes through these; 8, or more of a short rollout, unless given."""
    rate: float | None = None
    """Learning rate; by the recipe unless given, 3e-4 for most with PPO and 5e-4 with TD3."""
    repeat: int | None = None
    """Actions of the environment in a choice of the agent; by the recipe unless given (mostly 1)."""
    out: Path | None = None
    """Folder for agent, history, logs and results; out/NAME-ALGO-SEED by default."""
    resume: bool = False
    """Go on from the training in that folder."""
    episodes: int | None = None
    """Evaluation episodes at the end; 20, or what a fifth of --minutes allows, unless given."""
    baselines: bool = False
    """Then evaluate doing nothing, the largest first action, a script, and random actions in five times the episodes,
    beside the time that was given."""
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
    name = full_name(name)
    environment = options_of(name, "train", Train, Machine)
    kind = combined("Options", helped(environment), Train, Machine, doc=f"Train an agent in {short(name)}.")
    options = parse(kind, rest, f"annelid train {short(name)}")
    choices = chosen(part(options, environment))
    report, written = train(name, choices, options.train, options.machine)
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


def train(name: str, choices: dict[str, Any], options: Train, machine: Machine) -> tuple[Report, list[Path]]:
    """Train, evaluate, and write what came of it; an interrupt says how to go on."""
    for option, most in MOST.items():
        number = getattr(options, option)
        require(f"--{option}", 1 if number is None else number, 1, most, whole=True)
    require("--minutes", options.minutes, 0.0, math.inf)
    require("--steps", options.steps or 0, 0, MOST_STEPS, whole=True)
    folder = options.out or Path("out") / f"{short(name).lower()}-{options.algo}-{options.seed}"
    try:
        return _train(name, folder, choices, options, machine)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or stopped(folder)) from None


def _train(
    name: str, folder: Path, choices: dict[str, Any], options: Train, machine: Machine
) -> tuple[Report, list[Path]]:
    if options.video:
        require_mp4()
    with owned(folder):
        with imports_that_can_be_interrupted(stopped(folder)):
            optional("stable_baselines3", purpose="training", extra="rl")
        display = TrainingDisplay(f"{short(name)} {options.algo}", quiet=machine.json)
        training, pace = _prepared(name, folder, choices, options, machine)
        display.say(f"{display.title}: {announced(pace, options.algo)}")
        if slow := too_slow(pace, 60.0 * options.minutes):
            warnings.warn(slow, SlowTask, stacklevel=2)
        try:
            return _train_inside(display, training, pace, options, machine)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(stopped(folder, training.steps, training.unlearnt)) from None


def _prepared(
    name: str, folder: Path, choices: dict[str, Any], options: Train, machine: Machine
) -> tuple[Training, Pace]:
    """A training whose settings fit the time, and what to expect of it."""
    require_place(folder, resume=options.resume)
    usual, told = recipe(name, options.algo), _told(options)
    if options.resume:  # it continues with the same settings
        if options.rollout or options.epochs:
            raise InvalidValue("what goes on keeps its rollout and its epochs: leave out --rollout and --epochs.")
        before = read_plan(folder)
        told = {"worlds": before["worlds"], "repeat": before["repeat"], **told}
    settings = replace(usual, **told)
    plan = Plan(name, options.algo, options.seed, settings.worlds, choices, options.rate, settings.repeat)
    cuda = choose_device(machine.device).is_cuda
    processes = options.processes or (1 if cuda else thread_count(machine.threads))
    worlds, pace = prepared(
        name, usual, told, seconds=60.0 * options.minutes, episodes=options.episodes, processes=processes,
        device=machine.device, threads=machine.threads, options=choices,
    )  # fmt: skip
    settings = replace(pace.settings, rate=plan.settings.rate)
    training = Training(
        replace(plan, worlds=settings.worlds), folder, resume=options.resume, device=machine.device,
        threads=machine.threads, processes=processes, worlds=worlds, settings=settings,
    )  # fmt: skip
    return training, replace(pace, settings=settings, rollout=training.rollout // settings.repeat)


def _told(options: Train) -> dict[str, Any]:
    """What of the recipe the user has chosen."""
    values = {
        "worlds": options.worlds, "steps": options.steps, "repeat": options.repeat, "choices": options.rollout,
        "epochs": options.epochs,
    }  # fmt: skip
    return {name: value for name, value in values.items() if value is not None}


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
    display: TrainingDisplay, training: Training, pace: Pace, options: Train, machine: Machine
) -> tuple[Report, list[Path]]:
    with display:
        if math.isinf(options.minutes):
            training.learn(pace.settings.steps, watch=display)
        else:
            seconds = max(60.0 * options.minutes - pace.evaluation, 0.0)
            training.learn_for(seconds, pace.settings.steps, most=options.steps or math.inf, watch=display)
        display.say(f"{display.title}: evaluating {pace.episodes} episodes")
        report = Report(
            f"train-{short(training.plan.name).lower()}",
            device_title(choose_device(machine.device)),
            training.history.seconds,
            _measurements(training, pace.episodes, options.baselines),
        )
    report.write(training.folder / "results.json")
    return report, _files(training, options, machine)


def _measurements(training: Training, episodes: int, baselines: bool) -> list[Measurement]:
    returns, success = training.judge(episodes)
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
    if baselines:
        others = training.baselines(episodes, 5 * episodes)
        found += [
            Measurement("zero-action-mean", float(others["zero"].mean())),
            Measurement("full-ahead-mean", float(others["ahead"].mean())),
            Measurement("random-mean", float(others["random"].mean())),
            Measurement("random-deviation", float(others["random"].std())),
            Measurement("random-best", float(others["random"].max())),
        ]
        if "scripted" in others:
            found.append(Measurement("scripted-mean", float(others["scripted"].mean())))
        if "random-held" in others:
            found.append(Measurement("random-held-best", float(others["random-held"].max())))
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
