"""The whole batch in one simulation, in this process."""

from __future__ import annotations

import numpy as np

from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.executors.executor import Closing
from annelid.evolve.executors.worker import evaluated


class Local(Closing):
    """Evaluates here.

    Args:
        problem: The problem, built for the device to use.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows do, all at once."""
        return evaluated(self.problem, batch)

    def describe(self) -> str:
        """Who works, in words."""
        return "this process"
