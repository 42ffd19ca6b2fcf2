"""Studies of evolution: several experiments (arms), each with repetitions, and what tells one arm from another.

Every arm keeps a checkpoint of its own, so that a study can stop after some minutes and go on later.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import warp as wp
from scipy import stats

from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.core.progress import Progress
from annelid.evolve.contract import SearcherOptions
from annelid.evolve.driver import evolve
from annelid.evolve.ea import EA
from annelid.evolve.experiment import Experiment
from annelid.evolve.run import Run
from annelid.studies.support.resumable import Resumable

PAPER = "2D-VSR-Sim, sec. 3"
_SPEAK_EVERY = 15.0  # seconds between two lines of progress


class _TimeIsUp(Exception):
    """The minutes of a study are spent."""


@dataclass(frozen=True)
class Arm:
    """What an arm found.

    Attributes:
        name: Its name.
        best: Best fitness so far in each generation and repetition, shape [generations done + 1, repetitions].
        generations: Generations that were asked for.
        evaluations: Individuals judged.
        seconds: Time that it took [s].
        size: Numbers that describe an individual.
    """

    name: str
    best: np.ndarray
    generations: int
    evaluations: int
    seconds: float
    size: int

    @property
    def finished(self) -> bool:
        """Whether all generations are done."""
        return len(self.best) > self.generations

    @property
    def final(self) -> np.ndarray:
        """Best fitness at the end, shape [repetitions]."""
        return self.best[-1]


@dataclass(frozen=True)
class Contest(Resumable):
    """A study of evolution: how long, how often, and with how many."""

    quick: bool = parameter(
        False, "A form that takes minutes on two cores: shorter walks, fewer and smaller generations, 5 repetitions."
    )
    generations: int | None = parameter(None, "Generations after the random one.", least=0)
    population: int | None = parameter(None, "Individuals of a generation.", least=1)
    repetitions: int | None = parameter(None, "Independent searches of each arm.", least=1)
    seconds: float | None = parameter(None, "Simulated time of a walk [s].", unit="s", above=0.0)
    seed: int = parameter(0, "Seed of the first repetition.", least=0)

    def arms(self) -> list[Experiment]:
        """The experiments, as the paper has them."""
        raise NotImplementedError

    def short(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds of the quick form of an arm."""
        raise NotImplementedError

    def full(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds of an arm as the paper has them."""
        return 250, 500, 60.0

    def problem(self, arm: Experiment, seconds: float) -> Any:
        """The problem of an arm with walks of some seconds."""
        walk: Any = arm.problem
        return replace(walk, seconds=seconds)

    def searcher(self, arm: Experiment, population: int) -> SearcherOptions:
        """The searcher of an arm with a population."""
        return EA(population=population)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> dict[str, Arm]:
        """Run all arms, one after the other, each with all its repetitions at once."""
        end = self.deadline()
        return {arm.name: self._run(self._sized(arm), device, threads, progress, end) for arm in self.arms()}

    def _sized(self, arm: Experiment) -> Experiment:
        """An arm with the sizes that were asked for."""
        population, generations, seconds = self.short(arm) if self.quick else self.full(arm)
        return replace(
            arm,
            problem=self.problem(arm, self.seconds or seconds),
            searcher=self.searcher(arm, self.population or population),
            generations=generations if self.generations is None else self.generations,
            repetitions=self.repetitions or (5 if self.quick else 10),
            seed=self.seed,
        )

    def _run(self, arm: Experiment, device: wp.Device, threads: int | None, progress: Progress, end: float) -> Arm:
        runs: list[Run] = []
        spoke = time.perf_counter()

        def watch(run: Run) -> None:
            nonlocal spoke
            runs[:] = [run]
            now = time.perf_counter()
            if now - spoke > _SPEAK_EVERY or run.finished:
                spoke = now
                progress.say(_line(run))
            if now > end and not run.finished:
                raise _TimeIsUp

        folder = None if self.folder is None else self.folder / arm.name
        try:
            evolve(
                arm, device=device.alias, threads=threads, folder=folder, resume=self.resume, overwrite=True,
                watch=watch,
            )  # fmt: skip
        except _TimeIsUp:
            progress.say(f"{_line(runs[0])}; time is up, --resume goes on from here")
        return _found(arm, runs[0])


@dataclass(frozen=True)
class PlaneContest(Contest):
    """A study of 2-D voxels.

    The defaults are those of the paper: 250 individuals, 500 generations, 60 s, 10 repetitions.
    """

    preset: Literal["paper", "v1"] = parameter(
        "paper", "Voxels as the paper describes them, or as its program made them."
    )

    def problem(self, arm: Experiment, seconds: float) -> Any:
        """The problem of an arm with these voxels."""
        return replace(super().problem(arm, seconds), preset=self.preset)


def _line(run: Run) -> str:
    best = run.history.last("best") if len(run.history) else np.array([np.nan])
    rate = run.evaluations / max(run.seconds, 1e-9)
    return (
        f"{run.experiment.name}: generation {max(run.generation, 0)} of {run.experiment.generations}, "
        f"median best {np.median(best):.4g}, {rate:.0f} evaluations/s"
    )


def _found(arm: Experiment, run: Run) -> Arm:
    best = run.history["best"] if len(run.history) else np.full((1, arm.repetitions), np.nan)
    return Arm(arm.name, best, arm.generations, run.evaluations, run.seconds, run.problem.parameters)


def p_value(larger: np.ndarray, smaller: np.ndarray) -> float:
    """Probability that values are as much larger by chance (Mann-Whitney, one-sided)."""
    if not (np.isfinite(larger).all() and np.isfinite(smaller).all()):
        return float("nan")
    return float(stats.mannwhitneyu(larger, smaller, alternative="greater").pvalue)


def superiority(larger: np.ndarray, smaller: np.ndarray) -> float:
    """Share of pairs in which the first is larger, ties counted half: the effect size A of Vargha and Delaney."""
    difference = larger[:, None] - smaller[None]
    if np.isnan(difference).any():
        return float("nan")
    return float(((difference > 0.0) + 0.5 * (difference == 0.0)).mean())


def comparison(
    name: str, larger: np.ndarray, smaller: np.ndarray, *, judged: bool, least: float = 1.0, source: str = PAPER
) -> list[Measurement]:
    """Is one arm ahead of another: ratio of medians, effect size, and p-value of Mann-Whitney's test.

    Args:
        name: Beginning of the names.
        larger: Fitness of the repetitions of the arm that should be ahead.
        smaller: Those of the other.
        judged: Whether the effect is held against the paper; else it is only told.
        least: Ratio that is expected at least.
        source: Where that comes from.
    """
    ratio = float(np.median(larger) / np.median(smaller)) if np.median(smaller) > 0.0 else float("nan")
    expected: dict[str, Any] = {"reference": least, "bound": "at-least", "source": source} if judged else {}
    significant: dict[str, Any] = {"reference": 0.05, "bound": "at-most", "source": "significance"} if judged else {}
    return [
        Measurement(f"{name}-ratio", ratio, **expected),
        Measurement(f"{name}-superiority", superiority(larger, smaller)),
        Measurement(f"{name}-p-value", p_value(larger, smaller), **significant),
    ]


def medians(arms: Mapping[str, Arm]) -> list[Measurement]:
    """Median and spread of the best at the end of each arm, and how it was reached."""
    rows = []
    for name, arm in arms.items():
        rows.append(Measurement(f"{name}-best", float(np.median(arm.final)), "1/s"))
        rows.append(Measurement(f"{name}-spread", float(np.std(arm.final)), "1/s"))
        if not arm.finished:
            rows.append(Measurement(f"{name}-generations-of-{arm.generations}", len(arm.best) - 1))
    total, seconds = (sum(getattr(arm, what) for arm in arms.values()) for what in ("evaluations", "seconds"))
    return [*rows, Measurement("evaluations", total), Measurement("evolution-time", seconds, "s")]


def finished(arms: Mapping[str, Arm]) -> bool:
    """Whether all arms are at their end."""
    return all(arm.finished for arm in arms.values())


def draw_curves(axis: Any, arms: Sequence[Arm], colors: Sequence[str], labels: Sequence[str], title: str) -> None:
    """Median of the best over the repetitions against the generation, with a band of one standard deviation."""
    for arm, color, label in zip(arms, colors, labels, strict=False):
        generation, middle = np.arange(len(arm.best)), np.median(arm.best, axis=1)
        spread = np.std(arm.best, axis=1)
        axis.fill_between(generation, middle - spread, middle + spread, color=color, alpha=0.18, linewidth=0)
        axis.plot(generation, middle, color=color, label=label)
    axis.set(title=title, xlabel="generation", ylabel="relative velocity [1/s]")
    axis.set_xlim(0, max(len(arm.best) for arm in arms) - 1 or 1)
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    axis.legend(loc="upper left")
