"""Random search: every generation is drawn anew; the measure of what a search is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.chance import chance_state, set_chance
from annelid.evolve.contract import Evaluation, Problem, Searcher


@documented
@dataclass(frozen=True)
class RandomSearch(Checked):
    """Random search."""

    name: ClassVar[str] = "random"

    population: int = parameter(250, "Individuals of a generation.", least=1)

    def build(self, problem: Problem, rng: np.random.Generator) -> Draws:
        """The search at its beginning."""
        return Draws(self.population, problem, rng)


class Draws(Searcher):
    """Draws from the distribution that searches begin with.

    Args:
        population: Individuals of a generation.
        problem: What they are sampled from.
        rng: All its chance.
    """

    def __init__(self, population: int, problem: Problem, rng: np.random.Generator) -> None:
        self.population, self._problem, self._rng = population, problem, rng

    def ask(self) -> np.ndarray:
        """New draws."""
        return np.asarray(self._problem.sample(self._rng, self.population), float)

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Nothing is learnt."""

    def state(self) -> dict[str, Any]:
        """Its chance."""
        return {"chance": chance_state(self._rng)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        set_chance(self._rng, state["chance"])
