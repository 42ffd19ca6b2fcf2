"""A (μ + λ) search that tries no robot twice, and of many children only those of which trials so far promise most."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.forecast import forecast
from annelid.evolve.population import Population

_ROUNDS = 20  # of drawing children until enough of them are new


@documented
@dataclass(frozen=True)
class Informed(Checked):
    """The search."""

    name: ClassVar[str] = "informed"

    population: int = parameter(40, "Robots that are tried in a generation.", least=1)
    parents: int = parameter(20, "Robots that survive and have children.", least=1)
    tournament: int = parameter(2, "Parents of which the best has a child.", least=1)
    crossover: float = parameter(
        0.3, "Probability that a child has each parameter from either of two parents.", limits=(0.0, 1.0)
    )
    mutations: tuple[float, float] = parameter(
        (1.0, 20.0),
        "Parameters of a child that mutate in the mean: from, and to; any number between, by its logarithm. They "
        "are of one of the problem's parts.",
        above=0.0,
    )
    sigma: tuple[float, float] = parameter(
        (0.15, 1.5), "Standard deviation of the mutation of a parameter: from, and to, as for `mutations`.", above=0.0
    )
    candidates: int = parameter(
        10, "Children for each robot that is tried; a forecast chooses among them. 1: all are tried.", least=1
    )
    hope: float = parameter(
        0.5,
        "Standard deviations that the forecast adds to what it expects: robots unlike all others are tried too.",
        least=0.0,
    )
    memory: int = parameter(
        500, "Trials that forecasts are made from, half of them the best and half the latest.", least=2
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("mutations", "sigma"):
            low, high = getattr(self, name)
            if low > high:
                raise InvalidValue(f"{name} of informed must be two numbers, the lower first, not {low} and {high}.")

    def build(self, problem: Problem, rng: np.random.Generator) -> InformedSearch:
        """The search at its beginning."""
        return InformedSearch(self, problem, rng)


class InformedSearch(Population):
    """Parents, all robots that were tried (by short hashes), and the trials that forecasts are made from.

    Args:
        options: The settings.
        problem: What initial individuals are sampled from; its keys tell equal robots, its traits which are alike.
        rng: All its chance.
    """

    kept = (*Population.kept, "traits", "results")

    def __init__(self, options: Informed, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(options, problem, rng)
        self.options = options
        self._tried: set[int] = set()
        self._foresees = options.candidates > 1
        self._traits, self._results = np.zeros((0, 0), np.int16), np.zeros(0)  # remembered trials, the oldest first

    def ask(self) -> np.ndarray:
        """Random individuals at the beginning, promising children after."""
        if not len(self._rows):
            rows = self._drawn(self.population)
            self._tried.update(_digests(self._identities(rows)))
            return rows
        children, identities = self._children()
        best = self._promising(identities)
        self._tried.update(_digests([identities[k] for k in best]))
        return children[best]

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Of parents and children together the best survive, and of equal ones the older."""
        fitness = np.where(evaluation.valid, evaluation.fitness, -np.inf)
        rows, values = np.concatenate([self._rows, batch]), np.concatenate([self._fitness, fitness])
        best = np.argsort(-values, kind="stable")[: self.options.parents]
        self._rows, self._fitness = rows[best], values[best]
        if self._foresees:
            self._remember(batch[evaluation.valid], fitness[evaluation.valid])

    def state(self) -> dict[str, Any]:
        """Parents, remembered trials, what was tried, and chance."""
        return {**super().state(), "tried": np.array(sorted(self._tried), np.uint64)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        super().restore(state)
        self._tried = set(state["tried"].tolist())

    def _children(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """New robots, unlike each other and all that were tried, to choose from, and what they are.

        There are old ones among them only where hardly any others are left.
        """
        wanted = self.population * self.options.candidates
        rows, seen = np.zeros((0, self._problem.parameters)), set(self._tried)
        identities: list[np.ndarray] = []
        for last in [False] * (_ROUNDS - 1) + [True]:
            born = self._born(wanted - len(rows))
            own = self._identities(born)
            new = np.arange(len(born)) if last else _first_seen(_digests(own), seen)
            rows, identities = np.concatenate([rows, born[new]]), identities + [own[k] for k in new]
            if len(rows) >= min(wanted, 2 * self.population):
                break
        return rows, identities

    def _born(self, count: int) -> np.ndarray:
        """Children of parents that won tournaments, some of two, all mutated, shape [count, p]."""
        options, rng = self.options, self._rng
        rows = self._rows[self._winners(count)]
        crossed = rng.random((count, 1)) < options.crossover
        other = self._rows[self._winners(count)]
        rows = np.where(crossed & (rng.random(rows.shape) < 0.5), other, rows)
        mutations, sigma = self._between(options.mutations, count), self._between(options.sigma, count)
        mutates = self._mutating(mutations)
        return np.asarray(rows + np.where(mutates, sigma * rng.normal(size=rows.shape), 0.0))

    def _between(self, span: tuple[float, float], count: int) -> np.ndarray:
        """Numbers from one to another whose logarithms are uniform, shape [count, 1]."""
        low, high = np.log(span).tolist()
        return np.exp(self._rng.uniform(low, high, (count, 1)))

    def _mutating(self, mutations: np.ndarray) -> np.ndarray:
        """Which parameters mutate: so many in the mean, and at least one, of one part each, shape [n, p]."""
        rng, sizes = self._rng, np.array(self._problem.parts or (self._problem.parameters,))
        number = np.arange(sizes.sum())
        part = rng.integers(len(sizes), size=len(mutations))
        low, size = (np.cumsum(sizes) - sizes)[part], sizes[part]
        mutates = rng.random((len(mutations), len(number))) < mutations / size[:, None]
        mutates &= (number >= low[:, None]) & (number < (low + size)[:, None])
        mutates[np.arange(len(mutations)), low + rng.integers(size)] = True
        return np.asarray(mutates)

    def _winners(self, count: int) -> np.ndarray:
        """Winners of tournaments; parents are sorted, so that the best is the one of the lowest number."""
        return self._rng.integers(len(self._rows), size=(count, self.options.tournament)).min(axis=1)

    def _promising(self, identities: list[np.ndarray]) -> np.ndarray:
        """Numbers of those of which the forecast expects, and hopes, most; of the first where it knows too little."""
        if not self._foresees or len(self._results) < 2:
            return np.arange(self.population)
        expected, deviation = forecast(self._traits, self._results, np.stack(identities))
        return np.argsort(-(expected + self.options.hope * deviation), kind="stable")[: self.population]

    def _remember(self, rows: np.ndarray, fitness: np.ndarray) -> None:
        """Add trials to those that forecasts are made from, and forget some that are neither good nor late."""
        if not len(rows):
            return
        traits = self._traits_of(rows)
        self._traits = np.concatenate([self._traits, traits]) if len(self._traits) else traits
        self._results = np.concatenate([self._results, fitness])
        count, half = len(self._results), self.options.memory // 2
        if count > self.options.memory:
            best = np.argsort(-self._results, kind="stable")[:half]
            kept = np.union1d(best, np.arange(count - half, count))
            self._traits, self._results = self._traits[kept], self._results[kept]

    def _identities(self, rows: np.ndarray) -> list[np.ndarray]:
        """What robots of rows are, equal for equal ones: their traits, or where nothing is foreseen their keys."""
        if self._foresees:
            return list(self._traits_of(rows))
        keys = self._problem.keys(rows)
        return list(rows + 0.0) if keys is None else [np.frombuffer(key, np.uint8) for key in keys]  # no -0.0

    def _traits_of(self, rows: np.ndarray) -> np.ndarray:
        traits = self._problem.traits(rows)
        if traits is None:
            raise InvalidValue(
                f"problem {self._problem.name!r} tells no traits by which robots are alike: use searcher.candidates=1."
            )
        return traits


def _digests(identities: list[np.ndarray]) -> list[int]:
    """A number for each robot, equal for equal ones."""
    return [int.from_bytes(hashlib.blake2b(one.tobytes(), digest_size=8).digest(), "little") for one in identities]


def _first_seen(digests: list[int], seen: set[int]) -> np.ndarray:
    """Numbers of those that were not seen before, which are seen from now on."""
    new = []
    for number, digest in enumerate(digests):
        if digest not in seen:
            seen.add(digest)
            new.append(number)
    return np.array(new, int)
