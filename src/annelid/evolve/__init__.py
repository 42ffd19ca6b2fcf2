"""Search for robots: problems, searchers, executors and experiments.

`evolve(Experiment(...))` runs one; `annelid evolve` does so from the command line.
"""

from annelid.evolve.contract import Evaluation, Problem, ProblemOptions, Searcher, SearcherOptions
from annelid.evolve.driver import Outcome, evolve
from annelid.evolve.ea import EA
from annelid.evolve.executors import Executor, make_executor
from annelid.evolve.experiment import Experiment, read_experiment
from annelid.evolve.experiments import experiment_names, named_experiment
from annelid.evolve.history import read_history
from annelid.evolve.random_search import RandomSearch
from annelid.evolve.run import Run

__all__ = [
    "EA",
    "Evaluation",
    "Executor",
    "Experiment",
    "Outcome",
    "Problem",
    "ProblemOptions",
    "RandomSearch",
    "Run",
    "Searcher",
    "SearcherOptions",
    "evolve",
    "experiment_names",
    "make_executor",
    "named_experiment",
    "read_experiment",
    "read_history",
]
