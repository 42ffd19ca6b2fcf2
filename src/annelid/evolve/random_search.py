"""Random search: every generation is drawn anew; the measure of what a search is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.population import Population


@documented
@dataclass(frozen=True)
class RandomSearch(Checked):
    """Random search."""

    name: ClassVar[str] = "random"

    population: int = parameter(250, "Individuals of a generation.", least=1)

    def build(self, problem: Problem, rng: np.random.Generator) -> Draws:
        """The search at its beginning."""
        return Draws(self, problem, rng)


class Draws(Population):
    """Draws from the distribution that searches begin with.

    Args:
        options: The settings.
        problem: What they are sampled from.
        rng: All its chance.
    """

    kept = ()

    def ask(self) -> np.ndarray:
        """New draws."""
        return self._drawn(self.population)

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Nothing is learnt."""

    def fitnesses(self) -> None:
        """None are kept."""
