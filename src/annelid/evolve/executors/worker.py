"""What runs in another process: it builds the problem from its options once, and then evaluates pieces of batches."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.experiment import problem_from_table


def evaluated(problem: Problem, batch: np.ndarray) -> Evaluation:
    """How the rows do, with the shapes that the contract promises."""
    found = problem.evaluate(batch)
    fitness = np.asarray(found.fitness, float)
    measures = None if found.measures is None else np.asarray(found.measures, float)
    width = len(problem.measure_names)
    if fitness.shape != (len(batch),) or (measures is not None and measures.shape != (len(batch), width)):
        shapes = (fitness.shape, None if measures is None else measures.shape)
        raise InvalidValue(
            f"problem {problem.name!r} returned fitness and measures of shapes {shapes[0]} and {shapes[1]} "
            f"for {len(batch)} rows and {width} measure names."
        )
    return Evaluation(fitness, measures)


class Worker:
    """A worker; it begins with nothing, so that what goes wrong in `prepare` is an error and not a death."""

    def __init__(self) -> None:
        self._problem: Problem | None = None

    def prepare(self, table: Mapping[str, Any], device: str, threads: int | None, paths: Sequence[str]) -> str:
        """Build the problem; the worker in words.

        Args:
            table: Name and options of the problem.
            device: Where to compute.
            threads: CPU threads to compute with.
            paths: Where the driver finds modules; those that this machine has too are searched last.
        """
        sys.path.extend(path for path in paths if path not in sys.path and os.path.isdir(path))
        self._problem = problem_from_table(table).build(device=device, threads=threads)
        return f"process {os.getpid()} on {socket.gethostname()}"

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows do."""
        assert self._problem is not None
        return evaluated(self._problem, batch)
