"""Who evaluates: this process, several processes, or machines of a Ray cluster; the results are the same to the bit."""

from annelid.evolve.executors.choice import EXECUTORS, make_executor
from annelid.evolve.executors.executor import Executor

__all__ = ["EXECUTORS", "Executor", "make_executor"]
