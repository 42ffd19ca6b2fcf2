"""The choice of an executor."""

from __future__ import annotations

from annelid.core.errors import InvalidValue, UnknownName
from annelid.evolve.contract import ProblemOptions
from annelid.evolve.executors.executor import Executor

EXECUTORS = ("local", "processes", "ray")


def make_executor(
    kind: str,
    problem: ProblemOptions,
    *,
    device: str = "auto",
    threads: int | None = None,
    workers: int | None = None,
    address: str | None = None,
) -> Executor:
    """An executor for a problem.

    Args:
        kind: "local", "processes" or "ray".
        problem: Options of the problem, from which every worker builds it.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads in all (local, processes); None takes all cores.
        workers: Processes or actors at most; None takes one for each core, or for each GPU.
        address: Address of a Ray cluster; None starts Ray on this machine.
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InvalidValue(f"workers must be 1 or more, not {workers!r:.60}.")
    if address is not None and kind != "ray":
        raise InvalidValue(f"a Ray address ({address}) goes with the executor 'ray', not with {kind!r}.")
    if kind == "local":
        from annelid.evolve.executors.local import Local

        return Local(problem.build(device=device, threads=threads))
    if kind == "processes":
        from annelid.evolve.executors.processes import Processes

        return Processes(problem, device=device, threads=threads, workers=workers)
    if kind == "ray":
        from annelid.evolve.executors.ray_cluster import RayCluster

        return RayCluster(problem, device=device, workers=workers, address=address)
    raise UnknownName("executor", kind, EXECUTORS)
