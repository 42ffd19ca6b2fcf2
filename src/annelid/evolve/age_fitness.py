"""Age-fitness Pareto search (Schmidt and Lipson 2011): young individuals need not beat old ones at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.population import Population


@documented
@dataclass(frozen=True)
class AgeFitness(Checked):
    """The search."""

    name: ClassVar[str] = "age-fitness"

    population: int = parameter(50, "Individuals, and new ones of a generation.", least=1)
    fresh: int = parameter(1, "Those of the new ones that are drawn anew, of age 0.", least=0)
    sigma: float = parameter(0.5, "Standard deviation of the mutation of a parameter.", above=0.0)
    rate: float = parameter(0.05, "Probability that a parameter mutates; one always does.", limits=(0.0, 1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fresh > self.population:
            raise InvalidValue(
                f"fresh of age-fitness must be at most its population, {self.population}, not {self.fresh}."
            )

    def build(self, problem: Problem, rng: np.random.Generator) -> AgingPopulation:
        """The search at its beginning."""
        return AgingPopulation(self, problem, rng)


class AgingPopulation(Population):
    """A population in which ages count the generations since the first ancestor was drawn.

    Args:
        options: The settings.
        problem: What initial individuals are sampled from.
        rng: All its chance.
    """

    kept = (*Population.kept, "ages")

    def __init__(self, options: AgeFitness, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(options, problem, rng)
        self.options = options
        self._ages, self._new_ages = np.zeros(0), np.zeros(0)

    def ask(self) -> np.ndarray:
        """Random individuals at the beginning, then mutated ones and a few random ones."""
        options, rng = self.options, self._rng
        fresh = options.fresh if len(self._rows) else self.population
        drawn = self._drawn(fresh)
        parents = rng.integers(max(len(self._rows), 1), size=self.population - fresh)
        children = self._rows[parents]
        if len(children):
            children = self._mutated(children, options.rate, options.sigma)
        self._new_ages = np.concatenate([self._ages[parents], np.zeros(fresh)])
        return np.concatenate([children, drawn])

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """The best trade-offs between fitness and age survive, front by front; of the last front the fittest."""
        fitness = np.where(evaluation.valid, evaluation.fitness, -np.inf)
        rows = np.concatenate([self._rows, batch])
        values = np.concatenate([self._fitness, fitness])
        ages = np.concatenate([self._ages, self._new_ages])
        order = np.lexsort([np.arange(len(rows)), -values, fronts(values, ages)])[: self.population]
        self._rows, self._fitness, self._ages = rows[order], values[order], ages[order] + 1.0

    def statistics(self) -> dict[str, float]:
        """How old its individuals are in the mean."""
        return {"age": float(self._ages.mean())}


def fronts(fitness: np.ndarray, ages: np.ndarray) -> np.ndarray:
    """Front of each individual, 0 the best: nobody of a front or of later ones is both fitter and younger.

    One beats another if it is no worse in both and better in one; of equal ones the first.
    """
    count = len(fitness)
    order = np.arange(count)
    better = (fitness[:, None] > fitness) | (ages[:, None] < ages) | (order[:, None] < order)
    beats = (fitness[:, None] >= fitness) & (ages[:, None] <= ages) & better
    np.fill_diagonal(beats, False)
    found, left, front = np.full(count, -1), np.ones(count, bool), 0
    while left.any():
        first = left & ~beats[left].any(axis=0)
        found[first], left = front, left & ~first
        front += 1
    return found
