"""CMA-ES, through the package `cma`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.packages import optional
from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.adapters.replayed import Replayed, losses, spread
from annelid.evolve.contract import Evaluation, Problem


@documented
@dataclass(frozen=True)
class CmaEs(Checked):
    """Covariance matrix adaptation, which begins at a random individual."""

    name: ClassVar[str] = "cma"

    population: int | None = parameter(None, "Individuals of a generation; 4 + 3 ln p if left out.", least=3)
    sigma: float = parameter(
        0.3, "Standard deviation at the beginning, in widths of the range of initial individuals.", above=0.0
    )

    def build(self, problem: Problem, rng: np.random.Generator) -> Adaptation:
        """The search at its beginning."""
        return Adaptation(self, problem, rng)


class Adaptation(Replayed):
    """A normal distribution that adapts.

    Args:
        options: The settings.
        problem: Where to begin.
        rng: All its chance.
    """

    def __init__(self, options: CmaEs, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__()
        if problem.parameters < 2:
            raise InvalidValue(
                f"cma needs 2 or more parameters to adapt, and {problem.name!r} has {problem.parameters}."
            )
        cma = optional("cma", purpose="searcher 'cma'", extra="evolve")
        low, high = spread(problem)
        settings = {
            "CMA_stds": np.maximum(high - low, 1e-9),
            "randn": lambda *shape: rng.standard_normal(shape),
            "seed": float("nan"),  # or it would seed NumPy's global generator
            "verbose": -9,
            **({} if options.population is None else {"popsize": options.population}),
        }
        self._strategy = cma.CMAEvolutionStrategy(problem.sample(rng, 1)[0], options.sigma, settings)
        self.population = int(self._strategy.popsize)

    def _ask(self) -> np.ndarray:
        return np.array(self._strategy.ask())

    def _tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        self._strategy.tell(list(batch), losses(evaluation).tolist())

    def statistics(self) -> dict[str, float]:
        """Its step size."""
        return {"sigma": float(self._strategy.sigma)}
