"""Copies of one robot that are tried again and again: nothing is built or compiled between two batches."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.core.state import clone_state, copy_state
from annelid.voxels.robot import Robot
from annelid.voxels.solver import Solver

Outcome = TypeVar("Outcome")
Judged = TypeVar("Judged", covariant=True)


class Judge(Protocol[Judged]):
    """What a trial asks of its task."""

    @property
    def steps(self) -> int:
        """Number of time steps of a run."""
        ...

    def judge(self, solver: Solver, state: Any, start: np.ndarray) -> Judged:
        """The outcome of a run that began with centres at `start` [m], shape [robots, 2]."""
        ...


class Trial(Generic[Outcome]):
    """Copies of one robot in a task; only the parameters of their controllers change from run to run.

    Args:
        task: The task.
        robot: The robot.
        simulation: The simulation of all copies, at its beginning.
    """

    def __init__(self, task: Judge[Outcome], robot: Robot, simulation: Simulation[Solver]) -> None:
        if robot.controller is None:
            raise InvalidValue("a robot without a controller has no parameters to try.")
        self.task, self.robot, self.simulation = task, robot, simulation
        self._beginning = clone_state(simulation.state)
        self._start = simulation.solver.readout.centers(simulation.state)
        self._worlds = simulation.solver.model.tables.worlds

    @property
    def count(self) -> int:
        """Rows of parameters that can be tried at once."""
        return len(self._start)

    def __call__(self, parameters: np.ndarray) -> Outcome:
        """Outcome for parameters of shape [n, p], where n is at most the number of copies."""
        rows = np.atleast_2d(np.asarray(parameters, float))
        if not 0 < len(rows) <= self.count:
            raise InvalidValue(f"this trial has {self.count} robots; give 1 to {self.count} rows, not {len(rows)}.")
        solver, state = self.simulation.solver, self.simulation.state
        copy_state(self._beginning, state)
        solver.clear_divergence()
        self._load(rows)
        solver.advance(state, self.task.steps)
        solver.diverged_at()  # waits, and refuses control values that are not numbers
        return _first(self.task.judge(solver, state, self._start), len(rows))

    def _load(self, rows: np.ndarray) -> None:
        """Give the first robots their parameters, and let the others rest."""
        model, controller = self.simulation.solver.model, self.robot.controller
        assert controller is not None
        model.bank.set_parameters(controller.packed(rows, self.robot.voxel_count).reshape(-1))
        model.tables.worlds = self._worlds[: len(rows)]


def _first(outcome: Any, count: int) -> Any:
    """The outcome of the first robots."""
    return replace(outcome, **{f.name: getattr(outcome, f.name)[:count] for f in fields(outcome)})
