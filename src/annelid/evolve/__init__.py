"""Search for robots: problems, searchers, executors and experiments.

`evolve(Experiment(...))` runs one; `annelid evolve` does so from the command line.
"""

from typing import TYPE_CHECKING

from annelid.core.lazy import offered, public

if TYPE_CHECKING:
    from annelid.evolve.age_fitness import AgeFitness
    from annelid.evolve.chance import chance_state, set_chance
    from annelid.evolve.contract import Evaluation, Problem, ProblemOptions, Searcher, SearcherOptions
    from annelid.evolve.driver import Outcome, evolve
    from annelid.evolve.ea import EA
    from annelid.evolve.executors import Executor, make_executor
    from annelid.evolve.experiment import Experiment, read_experiment
    from annelid.evolve.experiments import experiment_names, named_experiment
    from annelid.evolve.history import read_history
    from annelid.evolve.novelty import Novelty
    from annelid.evolve.random_search import RandomSearch
    from annelid.evolve.run import Run
else:  # the help of the command line names the experiments, and does not wait for Warp
    _HOMES = {
        "age_fitness": ("AgeFitness",),
        "chance": ("chance_state", "set_chance"),
        "novelty": ("Novelty",),
        "contract": ("Evaluation", "Problem", "ProblemOptions", "Searcher", "SearcherOptions"),
        "driver": ("Outcome", "evolve"),
        "ea": ("EA",),
        "executors": ("Executor", "make_executor"),
        "experiment": ("Experiment", "read_experiment"),
        "experiments": ("experiment_names", "named_experiment"),
        "history": ("read_history",),
        "random_search": ("RandomSearch",),
        "run": ("Run",),
    }
    __getattr__ = offered(__name__, _HOMES)

__all__ = [
    "EA",
    "AgeFitness",
    "Evaluation",
    "Executor",
    "Experiment",
    "Novelty",
    "Outcome",
    "Problem",
    "ProblemOptions",
    "RandomSearch",
    "Run",
    "Searcher",
    "SearcherOptions",
    "chance_state",
    "evolve",
    "experiment_names",
    "make_executor",
    "named_experiment",
    "read_experiment",
    "read_history",
    "set_chance",
]

__dir__ = public(__name__)
