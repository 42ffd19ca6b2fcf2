"""Robots that were tried before are not tried again."""

from __future__ import annotations

import numpy as np

from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.executors import Executor

_MOST = 200_000  # robots to remember


class Memory:
    """Asks an executor only for robots that it does not know yet; problems say by their keys which are equal.

    A trial's result does not depend on when it is made, so that remembering changes nothing but the time.

    Args:
        problem: The problem, whose keys are used.
        executor: Who evaluates.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        self._problem, self._executor = problem, executor
        self._known: dict[bytes, tuple[float, np.ndarray | None]] = {}

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows do."""
        keys = self._problem.keys(batch)
        if keys is None:
            return self._executor.evaluate(batch)
        if len(self._known) > _MOST:
            self._known.clear()
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        new = sorted(row for key, row in first.items() if key not in self._known)
        if new:
            found = self._executor.evaluate(batch[new])
            measures = [None] * len(new) if found.measures is None else list(found.measures)
            known = zip(found.fitness.tolist(), measures, strict=True)
            self._known.update(zip((keys[row] for row in new), known, strict=True))
        fitness, measures = zip(*(self._known[key] for key in keys), strict=True)
        return Evaluation(np.array(fitness), None if measures[0] is None else np.array(measures))
