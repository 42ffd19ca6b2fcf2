"""What a search and a problem owe each other: batches of parameters go in, fitnesses come out, larger is better.

A *problem* turns rows of parameters into robots and says how well they do. It is never sent anywhere: what travels to
other processes and machines are its *options*, a frozen dataclass with a registered name, from which it is built again.
A *searcher* asks for rows to try and is told how they did; it knows nothing of robots.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.evolve.film import Film, simulated


@dataclass(frozen=True)
class Evaluation:
    """How a batch did.

    Attributes:
        fitness: Larger is better, NaN where a trial failed, shape [n].
        measures: What else was measured, for quality-diversity and several objectives, shape [n, k]; None for nothing.
    """

    fitness: np.ndarray
    measures: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.fitness)

    def __getitem__(self, rows: Any) -> Evaluation:
        """The same for some of the rows."""
        return Evaluation(self.fitness[rows], None if self.measures is None else self.measures[rows])

    @property
    def valid(self) -> np.ndarray:
        """Which trials gave numbers to work with, shape [n]."""
        fine = np.isfinite(self.fitness)
        return fine if self.measures is None else fine & np.isfinite(self.measures).all(axis=1)

    @staticmethod
    def joined(parts: Sequence[Evaluation]) -> Evaluation:
        """Several evaluations, one after the other."""
        fitness = np.concatenate([part.fitness for part in parts])
        measures = [part.measures for part in parts if part.measures is not None]
        return Evaluation(fitness, np.concatenate(measures) if measures else None)


class Problem(ABC):
    """What is searched: robots described by rows of numbers.

    A row's result must not depend, not even in its last bit, on the rows beside it in the batch: executors cut batches
    as they like. Building a problem is cheap and touches no device; that waits for the first `evaluate`.

    Attributes:
        name: Its registered name.
        parameters: Numbers that describe one robot.
        parts: How many of them, one after the other, belong together and change together; empty: all do.
        measure_names: Names of the columns of `Evaluation.measures`.
        measure_bounds: Usual range of each measure, which quality-diversity divides into cells, shape [k, 2].
    """

    name: ClassVar[str]
    parameters: int
    parts: tuple[int, ...] = ()
    measure_names: tuple[str, ...] = ()
    measure_bounds: tuple[tuple[float, float], ...] = ()

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Initial rows, shape [count, parameters]."""

    @abstractmethod
    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows of a batch of shape [n, parameters] do, all in one simulation."""

    @abstractmethod
    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        """One robot in words and numbers that JSON can hold."""

    def files_of(self, parameters: np.ndarray) -> dict[str, str]:
        """Files of one robot: texts by the ends of their names, such as ".vxa"."""
        return {}

    def keys(self, batch: np.ndarray) -> list[bytes] | None:
        """A key for each row; rows of equal keys are equal robots and are tried once. None: try every row."""
        return None

    def traits(self, batch: np.ndarray) -> np.ndarray | None:
        """Whole numbers of robots, shape [n, k]: the more of them agree, the more alike two are; equal where all do.

        None: a problem knows none.
        """
        return None

    def film(self, parameters: np.ndarray) -> tuple[Simulation[Any], float]:
        """A simulation of one robot at its beginning, and how long to watch it [s].

        Args:
            parameters: A row, shape [parameters].
        """
        raise self._no_film()

    def shown(self, parameters: np.ndarray) -> Film:
        """What a video of one robot is made of: its `film`, unless a problem has pictures of its own."""
        return simulated(*self.film(parameters))

    def require_film(self) -> None:
        """Refuse a problem whose film cannot be shown, before a search and not after it: a random robot is tried."""
        if type(self).film is Problem.film:
            raise self._no_film()
        given = self.film(self.sample(np.random.default_rng(0), 1)[0])
        simulation, seconds = given if isinstance(given, tuple) and len(given) == 2 else (None, None)
        if not isinstance(simulation, Simulation) or not isinstance(seconds, (int, float)):
            raise InvalidValue(
                f"the film of problem {self.name!r} must be a simulation and the time to watch it [s], not "
                f"{given!r:.80}."
            )
        if simulation.step_count != 0 or not 0.0 < seconds < math.inf:
            raise InvalidValue(
                f"the film of problem {self.name!r} must begin at step 0 and last a positive time, not at step "
                f"{simulation.step_count} for {seconds} s."
            )
        simulation.snapshot()

    def _no_film(self) -> InvalidValue:
        return InvalidValue(f"problem {self.name!r} has no film to show: leave out the video.")

    def fingerprint(self) -> str:
        """A hash of what results depend on beside the options; raise it when the same options mean something else."""
        text = f"{self.name} {self.parameters} {self.measure_names} {self.measure_bounds}"
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@runtime_checkable
class ProblemOptions(Protocol):
    """A frozen dataclass that says all about a problem, in values that TOML and JSON can hold.

    Its fields may be numbers, truth values, strings, `Literal` types, tuples of these, and dataclasses of these.

    Attributes:
        name: The registered name.
    """

    name: ClassVar[str]

    def build(self, *, device: str = "auto", threads: int | None = None) -> Problem:
        """The problem, to be evaluated on a device ("auto", "cpu", "cuda", "cuda:N") by CPU threads (None: all)."""
        ...


@runtime_checkable
class Titled(Protocol):
    """Options of a problem that say more in a few letters than its name does."""

    @property
    def title(self) -> str:
        """What an experiment, and its folder, is called where nobody has named it."""
        ...


class Searcher(ABC):
    """Asks for rows to try and is told how they did; larger is better.

    Attributes:
        population: Rows of one generation.
    """

    population: int

    @abstractmethod
    def ask(self) -> np.ndarray:
        """The rows to try next, shape [population, parameters]."""

    @abstractmethod
    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """How the rows that were asked for did; where `evaluation.valid` is false a row is worse than all others."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that its future depends on: arrays, and values that JSON can hold."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that a searcher of the same settings and seed was in."""

    def fitnesses(self) -> np.ndarray | None:
        """Fitnesses of the individuals that it keeps, whose median is shown; None for those told last."""
        return None

    def statistics(self) -> dict[str, float]:
        """Numbers of its own for the history; the same names in every generation."""
        return {}

    def elites(self) -> np.ndarray | None:
        """Rows that it found to be the best trade-offs or the best of their kind, shape [m, parameters]."""
        return None


@runtime_checkable
class SearcherOptions(Protocol):
    """A frozen dataclass of settings of a searcher."""

    name: ClassVar[str]

    def build(self, problem: Problem, rng: np.random.Generator) -> Searcher:
        """The searcher at its beginning; all its chance comes from the generator."""
        ...
