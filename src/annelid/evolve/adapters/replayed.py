"""What adapters have in common: a search of another package is put aside as what it was told, and replayed.

Those packages keep their state in objects that only pickle could write, and a checkpoint must be safe to read. But a
search is a function of its seed and of what it was told: telling it the same again brings it to the same place, and
costs little beside a single generation of simulations.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError
from annelid.evolve.contract import Evaluation, Problem, Searcher

_SPREAD_DRAWS = 1024


class Replayed(Searcher):
    """A searcher whose state is all that it was told."""

    def __init__(self) -> None:
        self._told: list[Evaluation] = []
        self._digest = ""

    @abstractmethod
    def _ask(self) -> np.ndarray:
        """The rows to try next."""

    @abstractmethod
    def _tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Learn how they did."""

    def ask(self) -> np.ndarray:
        """The rows to try next."""
        batch = np.ascontiguousarray(self._ask(), dtype=float)
        self._digest = hashlib.blake2b(batch.tobytes(), digest_size=16).hexdigest()
        return batch

    def tell(self, batch: np.ndarray, evaluation: Evaluation) -> None:
        """Learn how they did, and remember it."""
        self._told.append(evaluation)
        self._tell(batch, evaluation)

    def state(self) -> dict[str, Any]:
        """What it was told, and a hash of the last rows that it asked for."""
        if not self._told:
            return {"lengths": np.zeros(0, int)}
        told = Evaluation.joined(self._told)
        state: dict[str, Any] = {"lengths": np.array([len(part) for part in self._told]), "fitness": told.fitness}
        return {**state, "digest": self._digest, **({} if told.measures is None else {"measures": told.measures})}

    def restore(self, state: dict[str, Any]) -> None:
        """Tell it all again."""
        measures = state.get("measures")
        ends = np.cumsum(state["lengths"])
        for begin, end in zip(ends - state["lengths"], ends, strict=True):
            part = slice(int(begin), int(end))
            batch = self.ask()
            evaluation = Evaluation(state["fitness"][part], None if measures is None else measures[part])
            if len(batch) != len(evaluation):
                raise _other_package()
            self.tell(batch, evaluation)
        if len(ends) and self._digest != state["digest"]:
            raise _other_package()


def _other_package() -> FileFormatError:
    return FileFormatError(
        "the search cannot be replayed: the package behind its searcher now asks for other rows than it did when the "
        "checkpoint was written; install the version of then, or begin anew."
    )


def seed_from(rng: np.random.Generator) -> int:
    """A seed for a package that makes its own generators."""
    return int(rng.integers(2**31))


def losses(evaluation: Evaluation) -> np.ndarray:
    """What to minimise; trials that failed are a little worse than the worst, shape [n]."""
    valid = evaluation.valid
    worst = -evaluation.fitness[valid].min() + 1.0 if valid.any() else 0.0
    return np.where(valid, -evaluation.fitness, worst)


def spread(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest of each parameter among many initial draws, always the same ones, shape [p] each."""
    draws = problem.sample(np.random.Generator(np.random.PCG64(0)), _SPREAD_DRAWS)
    return draws.min(axis=0), draws.max(axis=0)
