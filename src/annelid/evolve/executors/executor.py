"""What an executor is, and what executors share."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

import numpy as np

from annelid.evolve.contract import Evaluation


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


def chunks(count: int, workers: int, *, each: int = 1) -> list[slice]:
    """Rows cut into `each` nearly equal pieces a worker, none of them empty."""
    edges = np.linspace(0, count, min(max(workers, 1) * each, count) + 1).astype(int)
    return [slice(int(low), int(high)) for low, high in zip(edges[:-1], edges[1:], strict=True)]
