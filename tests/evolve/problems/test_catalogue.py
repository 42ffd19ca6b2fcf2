"""Named experiments can be written to a file and read back."""

from __future__ import annotations

import pytest

from annelid.evolve import Experiment, experiment_names, named_experiment
from annelid.evolve.contract import Problem, ProblemOptions


@pytest.mark.parametrize("name", experiment_names())
def test_experiments(name: str) -> None:
    made = named_experiment(name)
    assert made.name == name
    assert made.summary
    assert isinstance(made.problem, ProblemOptions)
    assert Experiment.from_table(made.to_table()) == made
    problem = made.problem.build(device="cpu")
    assert isinstance(problem, Problem)
    assert problem.name == made.problem.name
    assert len(problem.measure_bounds) == len(problem.measure_names)
