"""What an executor is, and the choice of one."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.evolve.contract import Evaluation, ProblemOptions

EXECUTORS = ("local", "processes", "ray")


class Executor(Protocol):
    """Evaluates batches of one problem."""

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows do, in their order."""
        ...

    def describe(self) -> str:
        """Who works, in words."""
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...

    def __enter__(self) -> Executor: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Closing:
    """The `with` block that executors share."""

    def close(self) -> None:
        """Let the workers go."""

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
    if workers is not None and workers < 1:
        raise InvalidValue(f"workers must be 1 or more, not {workers}.")
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


def chunks(count: int, workers: int, *, each: int = 1) -> list[slice]:
    """Rows cut into `each` nearly equal pieces a worker, none of them empty."""
    edges = np.linspace(0, count, min(max(workers, 1) * each, count) + 1).astype(int)
    return [slice(int(low), int(high)) for low, high in zip(edges[:-1], edges[1:], strict=True)]
