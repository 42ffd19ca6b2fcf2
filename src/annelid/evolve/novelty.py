"""Novelty search (Lehman and Stanley 2011): what does something new survives, whether it is fitter or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.population import Population


@documented
@dataclass(frozen=True)
class Novelty(Checked):
    """The search. What an individual does are the measures of the problem, each over its usual range."""

    name: ClassVar[str] = "novelty"

    population: int = parameter(50, "Individuals, and new ones of a generation.", least=1)
    nearest: int = parameter(15, "Neighbours to which the mean distance is the novelty of an individual.", least=1)
    kept: int = parameter(5, "Individuals of a generation that the archive takes, the newest ones.", least=0)
    fitness: float = parameter(
        0.0,
        "Share of the fitness in what decides, beside novelty, both by rank: 0 is novelty alone.",
        limits=(0.0, 1.0),
    )
    sigma: float = parameter(0.5, "Standard deviation of the mutation of a parameter.", above=0.0)
    rate: float = parameter(0.05, "Probability that a parameter mutates; one always does.", limits=(0.0, 1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kept > self.population:
            raise InvalidValue(f"kept of novelty must be at most its population, {self.population}, not {self.kept}.")

    def build(self, problem: Problem, rng: np.random.Generator) -> NovelPopulation:
        """The search at its beginning."""
        return NovelPopulation(self, problem, rng)


class NovelPopulation(Population):
    """A population and an archive of what was new in its time.

    Args:
        options: The settings.
        problem: What initial individuals are sampled from.
        rng: All its chance.
    """

    kept = (*Population.kept, "done", "archive")

    def __init__(self, options: Novelty, problem: Problem, rng: np.random.Generator) -> None:
        if not problem.measure_names:
            raise InvalidValue(f"problem {problem.name!r} measures nothing that could be new: use another searcher.")
        super().__init__(options, problem, rng)
        self.options = options
        self._low, high = np.array(problem.measure_bounds, float).T
        self._span = high - self._low
        self._done, self._archive = np.zeros((0, len(self._low))), np.zeros((0, len(self._low)))

    def ask(self) -> np.ndarray:
        """Random individuals at the beginning, then mutated ones."""
        if not len(self._rows):
            return self._drawn(self.population)
        children = self._rows[self._rng.integers(len(self._rows), size=self.population)]
        return self._mutated(children, self.options.rate, self.options.sigma)

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """The newest, or newest and fittest, of parents and children survive; failed trials do not."""
        assert evaluation.measures is not None
        valid = evaluation.valid
        done = (evaluation.measures[valid] - self._low) / self._span
        rows = np.concatenate([self._rows, batch[valid]])
        values = np.concatenate([self._fitness, evaluation.fitness[valid]])
        all_done = np.concatenate([self._done, done])
        if not len(rows):
            return
        novelty = self._novelty(all_done)
        children = np.arange(len(self._rows), len(rows))
        newest = children[np.argsort(-novelty[children], kind="stable")[: self.options.kept]]
        self._archive = np.concatenate([self._archive, all_done[newest]])
        share = self.options.fitness
        score = (1.0 - share) * _ranks(novelty) + share * _ranks(values)
        order = np.argsort(-score, kind="stable")[: self.population]
        self._rows, self._fitness, self._done = rows[order], values[order], all_done[order]

    def _novelty(self, done: np.ndarray) -> np.ndarray:
        """Mean distance to the nearest of the others and of the archive."""
        known = np.concatenate([done, self._archive])
        count = min(self.options.nearest + 1, len(known))
        distances, _ = cKDTree(known).query(done, k=count)
        return np.asarray(distances.reshape(len(done), count)[:, 1:].sum(axis=1) / max(count - 1, 1))

    def statistics(self) -> dict[str, float]:
        """How many the archive holds."""
        return {"archive": float(len(self._archive))}


def _ranks(values: np.ndarray) -> np.ndarray:
    """Rank of each, the largest last; equal ones have one rank."""
    return np.searchsorted(np.sort(values), values).astype(float)
