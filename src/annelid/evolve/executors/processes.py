"""Batches cut into pieces for several processes of this machine, one for each core or GPU."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.device import thread_count
from annelid.core.errors import AnnelidError
from annelid.core.workers import begin_worker
from annelid.evolve.contract import Evaluation, ProblemOptions
from annelid.evolve.executors.executor import Closing, chunks
from annelid.evolve.executors.worker import Worker
from annelid.evolve.registry import problem_table

_PATIENCE = 3  # pools in a row that may break without a single finished piece

_worker = Worker()  # that of this process, if it is one of the pool's


class Processes(Closing):
    """Evaluates in processes of this machine.

    Args:
        problem: Options of the problem.
        device: "auto", "cpu", "cuda" (all GPUs) or "cuda:N".
        threads: CPU threads of all workers together; None takes all cores.
        workers: Number of processes; None takes one for each core or GPU.
    """

    def __init__(
        self,
        problem: ProblemOptions,
        *,
        device: str = "auto",
        threads: int | None = None,
        workers: int | None = None,
    ) -> None:
        self._table = problem_table(problem)
        names, total = _devices(device), thread_count(threads)
        count = workers or (len(names) if names[0] != "cpu" else total)
        self._devices = [names[i % len(names)] for i in range(count)]
        self._threads = max(1, total // count)
        self._pool: ProcessPoolExecutor | None = None

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows do; pieces that a dying process took with it are done again."""
        pieces = chunks(len(batch), len(self._devices))
        done: dict[int, Evaluation] = {}
        failures = 0
        while len(done) < len(pieces):
            before, jobs = len(done), dict[int, Future[Evaluation]]()
            try:
                for i in [i for i in range(len(pieces)) if i not in done]:
                    jobs[i] = self._submit(batch[pieces[i]])
                done.update({i: job.result() for i, job in jobs.items()})
            except BrokenProcessPool:
                done.update({i: job.result() for i, job in jobs.items() if _finished(job)})
                self.close()
                failures = failures + 1 if len(done) == before else 0
                if failures == _PATIENCE:
                    raise AnnelidError(
                        f"worker processes died {_PATIENCE} times in a row: try fewer --workers (memory may be short), "
                        "or --executor local to see why."
                    ) from None
        return Evaluation.joined([done[i] for i in range(len(pieces))])

    def describe(self) -> str:
        """Who works, in words."""
        return f"{len(self._devices)} processes on {', '.join(sorted(set(self._devices)))}"

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _submit(self, rows: np.ndarray) -> Future[Evaluation]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a fork would copy a CUDA context, which cannot work
            places = context.Queue()
            for name in self._devices:
                places.put(name)
            self._pool = ProcessPoolExecutor(
                len(self._devices),
                mp_context=context,
                initializer=_begin,
                initargs=(self._table, places, self._threads, list(sys.path)),
            )
        return self._pool.submit(_evaluate, rows)


def _devices(device: str) -> list[str]:
    """Names of the devices that workers take in turn."""
    chosen = choose_device(device)
    if not chosen.is_cuda:
        return ["cpu"]
    return [chosen.alias] if ":" in device else [f"cuda:{i}" for i in range(wp.get_cuda_device_count())]


def _finished(job: Future[Evaluation]) -> bool:
    return job.done() and not job.cancelled() and job.exception() is None


def _begin(table: dict[str, Any], places: Any, threads: int, paths: list[str]) -> None:
    """First thing in a worker: leave Ctrl-C to the driver, do not outlive it, and build the problem."""
    begin_worker()
    _worker.prepare(table, places.get(), threads, paths)


def _evaluate(rows: np.ndarray) -> Evaluation:
    return _worker.evaluate(rows)
