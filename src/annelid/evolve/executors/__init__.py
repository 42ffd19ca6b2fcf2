"""Who evaluates: this process, several processes, or machines of a Ray cluster; the results are the same to the bit."""

from annelid.evolve.executors.choice import make_executor as make_executor
from annelid.evolve.executors.executor import Executor as Executor
