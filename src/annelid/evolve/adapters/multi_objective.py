"""Several objectives at once, through the package `pymoo`: the best trade-offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from annelid.core.errors import UnknownName
from annelid.core.packages import optional
from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.adapters.replayed import Replayed, seed_from, spread
from annelid.evolve.contract import Evaluation, Problem

_WORST = 1e30  # what failed trials cost, far above any real objective


@documented
@dataclass(frozen=True)
class Nsga2(Checked):
    """NSGA-II over the fitness and measures."""

    name: ClassVar[str] = "nsga2"

    population: int = parameter(100, "Individuals of a generation.", least=4)
    objectives: tuple[str, ...] = parameter(
        (),
        '"fitness" and names of measures; larger is better unless a minus stands before the name. All of them if '
        "left out.",
    )
    room: float = parameter(
        0.5, "How far parameters may leave the range of initial individuals, in its widths.", least=0.0
    )

    def build(self, problem: Problem, rng: np.random.Generator) -> Front:
        """The search at its beginning."""
        return Front(self, problem, rng)


class Front(Replayed):
    """A population on its way to the best trade-offs.

    Args:
        options: The settings.
        problem: Its measures are objectives beside the fitness.
        rng: All its chance.
    """

    def __init__(self, options: Nsga2, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__()
        self.population = options.population
        self._columns, self._signs = _objectives(options.objectives, problem)
        low, high = spread(problem)
        margin = options.room * np.maximum(high - low, 1e-9)
        core = _pymoo("pymoo.core.problem")
        self._search = _pymoo("pymoo.algorithms.moo.nsga2").NSGA2(
            pop_size=options.population, sampling=np.asarray(problem.sample(rng, options.population), float)
        )
        self._space: Any = core.Problem(
            n_var=problem.parameters, n_obj=len(self._columns), xl=low - margin, xu=high + margin
        )
        forever = _pymoo("pymoo.core.termination").NoTermination()
        self._search.setup(self._space, seed=seed_from(rng), termination=forever, verbose=False)
        self._asked: Any = None

    def _ask(self) -> np.ndarray:
        self._asked = self._search.ask()
        return np.asarray(self._asked.get("X"), float)

    def _tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        measures = np.zeros((len(batch), 0)) if evaluation.measures is None else evaluation.measures
        values = np.column_stack([evaluation.fitness, measures])[:, self._columns] * self._signs
        costs = np.where(evaluation.valid[:, None], -values, _WORST)
        static = _pymoo("pymoo.problems.static").StaticProblem(self._space, F=costs)
        self._search.evaluator.eval(static, self._asked)
        self._search.tell(infills=self._asked)

    def statistics(self) -> dict[str, float]:
        """Individuals that no other beats in everything."""
        return {"front": float(0 if self._search.opt is None else len(self._search.opt))}

    def fitnesses(self) -> np.ndarray | None:
        """Fitnesses of the population."""
        if 0 not in self._columns or self._search.pop is None:
            return None
        column = self._columns.index(0)
        costs = np.asarray(self._search.pop.get("F"), float)[:, column] * self._signs[column]
        return np.where(np.abs(costs) < _WORST, -costs, -np.inf)

    def elites(self) -> np.ndarray | None:
        """The best trade-offs."""
        return None if self._search.opt is None else np.asarray(self._search.opt.get("X"), float)


def _objectives(names: tuple[str, ...], problem: Problem) -> tuple[list[int], np.ndarray]:
    """Columns of fitness and measures, and their signs."""
    known = ("fitness", *problem.measure_names)
    names = names or known
    plain = [name.removeprefix("-") for name in names]
    for name in plain:
        if name not in known:
            raise UnknownName("objective", name, known)
    signs = np.array([-1.0 if name.startswith("-") else 1.0 for name in names])
    return [known.index(name) for name in plain], signs


def _pymoo(module: str) -> Any:
    return optional(module, purpose="searcher 'nsga2'", extra="evolve")
