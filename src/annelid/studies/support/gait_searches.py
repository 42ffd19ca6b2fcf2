"""Searches for a gait of the lattice walker: by its gradient, by a sampled one, and by CMA-ES; each is a `Course`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError
from annelid.evolve.adapters.cma_es import CmaEs
from annelid.evolve.contract import Evaluation, Problem
from annelid.optimise import Adam, Sampled, minimise
from annelid.studies.support.lattice_walker import HIGH, LOW, Walk, Walked

_KIND = Kind("annelid-gait-course", 1, "a course of a search for a gait")
_RATE = 0.1  # length of a step of Adam, in standard deviations of random commands
_SAMPLES = 8  # pairs of walks of a sampled gradient


@dataclass(frozen=True, eq=False)
class Course:
    """How far the best gait so far carried the walker, as a search went on.

    Attributes:
        steps: Steps simulated until then, shape [k]; a step there and back counts for three.
        seconds: Wall time until then [s], shape [k].
        distances: Distance of the best gait so far over the whole walk [m], shape [k].
        gait: That gait, shape [intervals, controls]; empty where a policy walked, not a table.
    """

    steps: np.ndarray
    seconds: np.ndarray
    distances: np.ndarray
    gait: np.ndarray

    def at(self, steps: float) -> float:
        """Distance of the best gait after so many steps [m]; nothing before the first walk."""
        found = np.searchsorted(self.steps, steps, side="right")
        return float(self.distances[found - 1]) if found else float("nan")

    def reached(self, distance: float) -> float:
        """Steps after which a distance was reached; infinite where it was not."""
        far = np.flatnonzero(self.distances >= distance)
        return float(self.steps[far[0]]) if len(far) else float("inf")

    def save(self, path: Path, identity: dict[str, Any]) -> None:
        """Write it, whole or not at all."""
        parts = {"steps": self.steps, "seconds": self.seconds, "distances": self.distances, "gait": self.gait}
        write_archive(path, _KIND, {"search": identity}, parts)

    @staticmethod
    def load(path: Path, identity: dict[str, Any]) -> Course:
        """The course of the same search in a file."""
        header, parts = read_archive(path, _KIND)
        if header.get("search") != identity:
            raise FileFormatError(f"{path} belongs to other options of the study: leave out --resume, or give --out.")
        names = ("steps", "seconds", "distances", "gait")
        if any(name not in parts for name in names):
            raise FileFormatError(f"{path} is damaged: delete it, and its search is done again.")
        return Course(*(parts[name] for name in names))


class Diary:
    """Writes a course while a search goes on."""

    def __init__(self) -> None:
        self._begin, self._rows = time.perf_counter(), list[tuple[float, float, float]]()
        self._far, self._gait = -np.inf, np.zeros((0, 0))

    def note(self, steps: int, distance: float, gait: np.ndarray) -> None:
        """A gait was tried on the whole walk."""
        if distance > self._far:
            self._far, self._gait = distance, np.array(gait)
        self._rows.append((float(steps), time.perf_counter() - self._begin, self._far))

    def course(self) -> Course:
        """What was written."""
        steps, seconds, far = np.array(self._rows).reshape(-1, 3).T
        return Course(steps, seconds, far, self._gait)


def by_gradient(walk: Walk, seed: int, *, iterations: int, starts: int) -> Course:
    """Adam along exact gradients from random gaits, first over half the walk, then over the whole.

    Args:
        walk: The walk.
        seed: Seed of the gaits to begin with.
        iterations: Steps of Adam over each of both lengths.
        starts: Random gaits that descend side by side.
    """
    start = walk.random(np.random.default_rng(seed), 1)[0]
    lengths = sorted({max(1, walk.cycles // 2), walk.cycles})
    losses = [Walked(walk, starts, cycles) for cycles in lengths]
    diary, last = Diary(), losses[-1]

    def whole(parameters: Any) -> Any:
        value, rates = last(parameters)
        best = int(np.argmin(np.atleast_1d(value)))
        gait = np.reshape(parameters["gait"], (starts, *walk.shape))[best]
        diary.note(sum(loss.steps for loss in losses), -float(np.atleast_1d(value)[best]), gait)
        return value, rates

    minimise(
        [*losses[:-1], whole], walk.free(start), method=Adam(steps=iterations, rate=_RATE),
        starts=starts if starts > 1 else None, spread=1.0, seed=seed,
    )  # fmt: skip
    return diary.course()


def by_samples(walk: Walk, seed: int, *, steps: int) -> Course:
    """Adam along gradients from samples, over the whole walk, until about so many steps are simulated."""
    start = walk.random(np.random.default_rng(seed), 1)[0]
    loss = Walked(walk, 2 * _SAMPLES)
    diary = Diary()

    def value(parameters: Any) -> np.ndarray:
        losses = loss.value(parameters)
        best = int(np.argmin(losses))
        diary.note(loss.steps, -float(losses[best]), parameters["gait"][best])
        return losses

    free = walk.free(start)
    sampled = Sampled(value, free, width=0.3, samples=_SAMPLES, together=True, seed=seed)
    iterations = max(1, round(steps / (2 * _SAMPLES * walk.steps())) - 1)
    minimise(sampled, free, method=Adam(steps=iterations, rate=_RATE))
    return diary.course()


class _Gaits(Problem):
    """Gaits as rows of numbers, for searchers of `evolve`."""

    name: ClassVar[str] = "lattice-gait"

    def __init__(self, walk: Walk) -> None:
        self._walk, self.parameters = walk, int(np.prod(walk.shape))

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return self._walk.random(rng, count).reshape(count, -1)

    def gaits(self, batch: np.ndarray) -> np.ndarray:
        """Rows as gaits within limits, shape [n, intervals, controls]."""
        return np.clip(batch, LOW, HIGH).reshape(-1, *self._walk.shape)

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        return Evaluation(-Walked(self._walk, len(batch)).value({"gait": self.gaits(batch)}))

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        return {"gait": self.gaits(parameters)[0].tolist()}


def by_cma_es(walk: Walk, seed: int, *, steps: int) -> Course:
    """CMA-ES with its own choice of population, from the gait that the gradient begins with."""
    problem = _Gaits(walk)
    search = CmaEs().build(problem, np.random.default_rng(seed))
    loss = Walked(walk, search.population)
    diary = Diary()
    while loss.steps < steps:
        batch = search.ask()
        gaits = problem.gaits(batch)
        evaluation = Evaluation(-loss.value({"gait": gaits}))
        search.tell(batch, evaluation)
        best = int(np.argmax(evaluation.fitness))
        diary.note(loss.steps, float(evaluation.fitness[best]), gaits[best])
    return diary.course()
