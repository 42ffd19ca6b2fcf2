"""The evolutionary algorithm of Medvet et al., sec. 3: μ+λ, tournaments, extended segment crossover, Gaussian mutation.

A generation's children are drawn side by side, round after round: a round draws again all those that were in the
population or among the children before. Their distribution is that of drawing one child after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.population import Population


@documented
@dataclass(frozen=True)
class EA(Checked):
    """The evolutionary algorithm of the paper."""

    name: ClassVar[str] = "ea"

    population: int = parameter(250, "Individuals μ, and children λ of a generation.", least=1)
    tournament: int = parameter(8, "Individuals of which the best becomes a parent.", least=1)
    crossover: float = parameter(
        0.8, "Probability that a child comes from crossover; the others come from mutation.", limits=(0.0, 1.0)
    )
    sigma: float = parameter(0.15, "Standard deviation of the mutation of each parameter.", least=0.0)
    reach: float = parameter(1.0, "The crossover's α is uniform from `-reach` to `1 + reach`.", least=0.0)
    retries: int = parameter(10, "How often a child that exists already is drawn again.", least=0)

    def build(self, problem: Problem, rng: np.random.Generator) -> Evolution:
        """The search at its beginning."""
        return Evolution(self, problem, rng)


class Evolution(Population):
    """A population that evolves, its parents sorted, the best first.

    Args:
        options: The settings.
        problem: What initial individuals are sampled from.
        rng: All its chance.
    """

    def __init__(self, options: EA, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(options, problem, rng)
        self.options = options

    def ask(self) -> np.ndarray:
        """Random individuals at the beginning, children after."""
        if not len(self._rows):
            return self._drawn(self.population)
        children = self._children(self.population)
        for _ in range(self.options.retries):
            again = known_before(self._rows, children)
            if not again.any():
                break
            children[again] = self._children(int(again.sum()))
        return children

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Parents and children together; the best survive, and of equal ones the older."""
        fitness = np.where(evaluation.valid, evaluation.fitness, -np.inf)
        rows, values = np.concatenate([self._rows, batch]), np.concatenate([self._fitness, fitness])
        best = np.argsort(-values, kind="stable")[: self.population]
        self._rows, self._fitness = rows[best], values[best]

    def _children(self, count: int) -> np.ndarray:
        """Children, each from an operator and parents of its own, shape [count, p]."""
        options, rng = self.options, self._rng
        crossed = rng.random(count) < options.crossover
        children = self._rows[self._winners(count)]
        first = children[crossed]
        second = self._rows[self._winners(len(first))]
        children[crossed] += rng.uniform(-options.reach, 1.0 + options.reach, first.shape) * (second - first)
        children[~crossed] += rng.normal(0.0, options.sigma, (count - len(first), children.shape[1]))
        return children

    def _winners(self, count: int) -> np.ndarray:
        """Winners of tournaments; the population is sorted, so that the best is the one of the lowest number."""
        drawn = self._rng.integers(len(self._rows), size=(count, self.options.tournament))
        return drawn.min(axis=1)


def known_before(parents: np.ndarray, children: np.ndarray) -> np.ndarray:
    """Which children are equal to a parent or to a child before them, shape [n]."""
    rows = np.ascontiguousarray(np.concatenate([parents, children]) + 0.0)  # -0.0 becomes 0.0: they are equal
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
    _, first = np.unique(keys, return_index=True)
    fresh = np.zeros(len(rows), bool)
    fresh[first] = True
    return ~fresh[len(parents) :]
