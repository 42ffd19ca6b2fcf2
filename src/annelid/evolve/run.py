"""A search under way: the searchers of all repetitions side by side, one batch a generation for all of them."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.evolve import checkpoint
from annelid.evolve.chance import chance
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.executors import Executor
from annelid.evolve.experiment import Experiment
from annelid.evolve.history import History
from annelid.evolve.memory import Memory

_log = logging.getLogger("annelid.evolve")


class Run:
    """All repetitions of an experiment.

    Args:
        experiment: The experiment.
        problem: Its problem, as built here; it samples and describes, and need not be the one that evaluates.
        executor: Who evaluates.

    Attributes:
        history: Numbers of all generations so far.
        champions: Best row of each repetition so far, shape [repetitions, p].
        champion_fitness: Its fitness, -inf before there is one, shape [repetitions].
        champion_measures: Its measures, NaN where there are none, shape [repetitions, k].
        seconds: Time that generations took so far, those before a resumption included [s].
    """

    def __init__(self, experiment: Experiment, problem: Problem, executor: Executor) -> None:
        self.experiment, self.problem = experiment, problem
        self._evaluate = Memory(problem, executor).evaluate
        self.searchers = [experiment.searcher.build(problem, chance(seed)) for seed in experiment.seeds]
        self.history = History(experiment.seeds)
        count = len(self.searchers)
        self.champions = np.full((count, problem.parameters), np.nan)
        self.champion_fitness = np.full(count, -np.inf)
        self.champion_measures = np.full((count, len(problem.measure_names)), np.nan)
        self.seconds = 0.0

    @property
    def generation(self) -> int:
        """Number of the last generation, -1 before the first."""
        return len(self.history) - 1

    @property
    def finished(self) -> bool:
        """Whether all generations of the experiment are done."""
        return self.generation >= self.experiment.generations

    @property
    def evaluations(self) -> int:
        """Individuals that were judged so far, in all repetitions."""
        return int(self.history.last("evaluations").sum()) if len(self.history) else 0

    def step(self) -> None:
        """One generation of all repetitions."""
        begin = time.perf_counter()
        batches = [self._asked(searcher.ask()) for searcher in self.searchers]
        evaluation = self._evaluate(np.concatenate(batches))
        ends = np.cumsum([len(batch) for batch in batches])
        numbers = []
        for i, (batch, end) in enumerate(zip(batches, ends, strict=True)):
            own = evaluation[end - len(batch) : end]
            self._report_failures(i, own)
            self.searchers[i].tell(batch, own)
            self._crown(i, batch, own)
            numbers.append(self._numbers(i, own))
        self.history.append(numbers)
        self.seconds += time.perf_counter() - begin

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        arrays = {f"history/{name}": array for name, array in self.history.arrays().items()}
        arrays["champions"], arrays["champion_fitness"] = self.champions, self.champion_fitness
        arrays["champion_measures"] = self.champion_measures
        states = []
        for i, searcher in enumerate(self.searchers):
            plain, own = checkpoint.flatten(searcher.state(), f"searcher/{i}")
            states.append(plain)
            arrays.update(own)
        checkpoint.save(path, {**self._identity(), "searchers": states, "seconds": self.seconds}, arrays)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint of the same experiment, to the same result as without a break."""
        header, arrays = checkpoint.load(path)
        checkpoint.require_same(path, header.get("experiment", {}), self._identity()["experiment"])
        if header.get("problem") != self._identity()["problem"]:
            raise checkpoint.OtherExperiment(
                f"{path} was written when problem {self.problem.name!r} meant something else: begin anew elsewhere."
            )
        try:
            self.history.restore(checkpoint.unflatten({}, arrays, "history"))
            for i, (searcher, plain) in enumerate(zip(self.searchers, header["searchers"], strict=True)):
                searcher.restore(checkpoint.unflatten(plain, arrays, f"searcher/{i}"))
            shapes = [a.shape for a in (self.champions, self.champion_fitness, self.champion_measures)]
            found = [arrays[name] for name in ("champions", "champion_fitness", "champion_measures")]
            if [a.shape for a in found] != shapes:
                raise ValueError("champions of another shape")
            self.champions, self.champion_fitness, self.champion_measures = found
            self.seconds = float(header["seconds"])
        except (KeyError, ValueError, TypeError) as error:
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(f"{path} is damaged: {error}.") from error

    def _identity(self) -> dict[str, Any]:
        return {"experiment": self.experiment.to_table(), "problem": self.problem.fingerprint()}

    def _asked(self, batch: np.ndarray) -> np.ndarray:
        if batch.ndim != 2 or batch.shape[1] != self.problem.parameters:
            raise InvalidValue(
                f"problem {self.problem.name!r} has {self.problem.parameters} parameters, but rows of shape "
                f"{batch.shape} came."
            )
        return batch

    def _report_failures(self, repetition: int, evaluation: Evaluation) -> None:
        failed = np.flatnonzero(~evaluation.valid)
        if len(failed):
            _log.warning(
                "generation %d, seed %d: %d of %d trials gave no number and count as worst (first: individual %d).",
                self.generation + 1, self.experiment.seeds[repetition], len(failed), len(evaluation), failed[0],
            )  # fmt: skip

    def _crown(self, i: int, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Keep the best row of a repetition; of equal ones the older."""
        fitness = np.where(evaluation.valid, evaluation.fitness, -np.inf)
        best = int(np.argmax(fitness))
        if fitness[best] > self.champion_fitness[i]:
            self.champion_fitness[i], self.champions[i] = fitness[best], batch[best]
            if evaluation.measures is not None:
                self.champion_measures[i] = evaluation.measures[best]

    def _numbers(self, i: int, evaluation: Evaluation) -> dict[str, float]:
        """What the history tells of a repetition's generation."""
        before = self.history.last("evaluations")[i] if len(self.history) else 0
        kept = self.searchers[i].fitnesses()
        kept = np.where(evaluation.valid, evaluation.fitness, -np.inf) if kept is None else kept
        return {
            "evaluations": before + len(evaluation),
            "best": self.champion_fitness[i],
            "median": float(np.median(kept)),
            "invalid": int((~evaluation.valid).sum()),
            **self.searchers[i].statistics(),
        }
