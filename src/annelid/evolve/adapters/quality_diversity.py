"""Quality-diversity, through the package `ribs`: the best robot of every kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.packages import optional
from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.adapters.replayed import Replayed, seed_from, spread
from annelid.evolve.contract import Evaluation, Problem


@documented
@dataclass(frozen=True)
class MapElites(Checked):
    """A grid over the problem's measures that keeps the best individual of each cell."""

    name: ClassVar[str] = "map-elites"

    population: int = parameter(100, "Individuals of a generation.", least=3)
    cells: int = parameter(20, "Cells along each measure.", least=1)
    emitter: Literal["iso-line", "cma"] = parameter(
        "iso-line",
        'Where new ones come from: "iso-line" varies elites along the line to another, "cma" adapts a normal '
        "distribution towards what improves the grid.",
    )
    sigma: float = parameter(
        0.05, "Standard deviation of the variation, in widths of the range of initial individuals.", above=0.0
    )
    line: float = parameter(0.2, "Standard deviation along the line to another elite, in its length.", least=0.0)

    def build(self, problem: Problem, rng: np.random.Generator) -> Grid:
        """The search at its beginning."""
        return Grid(self, problem, rng)


class Grid(Replayed):
    """An archive of elites and what varies them.

    Args:
        options: The settings.
        problem: Its measures make the grid.
        rng: All its chance.
    """

    def __init__(self, options: MapElites, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__()
        if not problem.measure_bounds:
            raise InvalidValue(f"map-elites needs measures with bounds, and problem {problem.name!r} has none.")
        self.population, self._problem, self._rng = options.population, problem, rng
        archives = optional("ribs.archives", purpose="searcher 'map-elites'", extra="evolve")
        self._archive: Any = archives.GridArchive(
            solution_dim=problem.parameters,
            dims=[options.cells] * len(problem.measure_bounds),
            ranges=list(problem.measure_bounds),
            seed=seed_from(rng),
        )
        self._emitter = self._make_emitter(options)
        self._sampled = True

    def _make_emitter(self, options: MapElites) -> Any:
        emitters = optional("ribs.emitters", purpose="searcher 'map-elites'", extra="evolve")
        low, high = spread(self._problem)
        width = np.maximum(high - low, 1e-9)
        common = {"x0": 0.5 * (low + high), "batch_size": self.population, "seed": seed_from(self._rng)}
        if options.emitter == "cma":
            sigma = options.sigma * float(width.mean())
            return emitters.EvolutionStrategyEmitter(self._archive, sigma0=sigma, **common)
        return emitters.IsoLineEmitter(
            self._archive, iso_sigma=options.sigma * width, line_sigma=options.line, **common
        )

    def _ask(self) -> np.ndarray:
        self._sampled = bool(self._archive.empty)
        if self._sampled:
            return np.asarray(self._problem.sample(self._rng, self.population), float)
        return np.asarray(self._emitter.ask(), float)

    def _tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Failed trials never enter the grid; to the emitter they are rows that did not."""
        if evaluation.measures is None:
            raise InvalidValue(f"problem {self._problem.name!r} returned no measures, which map-elites needs.")
        valid = evaluation.valid
        status, value = np.zeros(len(batch), np.int32), np.full(len(batch), -1.0)
        if valid.any():
            added = self._archive.add(batch[valid], evaluation.fitness[valid], evaluation.measures[valid])
            status[valid], value[valid] = added["status"], added["value"]
            value[~valid] = added["value"].min() - 1.0
        if self._sampled:
            return
        fitness = np.where(valid, evaluation.fitness, value)
        measures = np.where(valid[:, None], evaluation.measures, 0.0)
        self._emitter.tell(batch, fitness, measures, {"status": status, "value": value})

    def statistics(self) -> dict[str, float]:
        """Share of the cells that are filled, and the sum of their fitnesses."""
        stats = self._archive.stats
        return {"coverage": float(stats.coverage), "qd-score": float(stats.qd_score)}

    def fitnesses(self) -> np.ndarray | None:
        """Fitnesses of the elites."""
        return None if self._archive.empty else np.asarray(self._archive.data("objective"), float)

    def elites(self) -> np.ndarray:
        """The elites, in the order of their cells."""
        order = np.argsort(self._archive.data("index"))
        return np.asarray(self._archive.data("solution"), float)[order]
