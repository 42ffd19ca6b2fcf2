"""What searchers of this package share: individuals that are kept, as arrays, and chance from one generator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from annelid.evolve.chance import chance_state, set_chance
from annelid.evolve.contract import Problem, Searcher


class Population(Searcher):
    """A searcher all of whose future depends on some arrays and its chance.

    Args:
        options: The settings, with the size of a generation.
        problem: What initial individuals are sampled from.
        rng: All its chance.
    """

    kept: ClassVar[tuple[str, ...]] = ("rows", "fitness")
    """Names of the arrays: individuals and their fitness, and what a searcher has besides."""

    def __init__(self, options: Any, problem: Problem, rng: np.random.Generator) -> None:
        self.population: int = options.population
        self._problem, self._rng = problem, rng
        self._rows, self._fitness = np.zeros((0, problem.parameters)), np.zeros(0)

    def fitnesses(self) -> np.ndarray | None:
        """Fitnesses of the individuals that are kept."""
        return self._fitness

    def state(self) -> dict[str, Any]:
        """Its arrays and its chance."""
        return {**{name: vars(self)[f"_{name}"] for name in self.kept}, "chance": chance_state(self._rng)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        set_chance(self._rng, state["chance"])
        vars(self).update({f"_{name}": state[name] for name in self.kept})

    def _drawn(self, count: int) -> np.ndarray:
        """Initial individuals, shape [count, p]."""
        return np.asarray(self._problem.sample(self._rng, count), float)

    def _mutated(self, rows: np.ndarray, rate: float, sigma: float) -> np.ndarray:
        """Individuals each parameter of which mutates with a probability; one of them always does."""
        mutates = self._rng.random(rows.shape) < rate
        mutates[np.arange(len(rows)), self._rng.integers(rows.shape[1], size=len(rows))] = True
        return np.asarray(rows + np.where(mutates, self._rng.normal(0.0, sigma, rows.shape), 0.0))
