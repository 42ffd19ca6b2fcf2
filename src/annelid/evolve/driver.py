"""`evolve`: an experiment from its beginning, or from its last checkpoint, to its end and its files."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.files import as_path
from annelid.core.options import require_callable, require_kind, require_truth
from annelid.core.ownership import owned
from annelid.evolve.executors import Executor, make_executor
from annelid.evolve.executors.local import Local
from annelid.evolve.experiment import Experiment
from annelid.evolve.outputs import write_results
from annelid.evolve.run import Run

CHECKPOINT = "checkpoint.npz"
_RESULTS_EVERY = 10.0  # seconds between two writings of results while a search runs

Watch = Callable[[Run], None]
"""Called after each generation, and once before the first one."""


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes:
        experiment: The experiment.
        history: Numbers by name ("best", "median", "evaluations", "invalid", and the searcher's own), shape
            [generations + 1, repetitions]; the first generation is the random one.
        champions: Best row of each repetition, shape [repetitions, p].
        fitness: Its fitness, shape [repetitions].
        evaluations: Individuals judged in all.
        seconds: Time that the generations took [s].
    """

    experiment: Experiment
    history: dict[str, np.ndarray]
    champions: np.ndarray
    fitness: np.ndarray
    evaluations: int
    seconds: float


def evolve(
    experiment: Experiment,
    *,
    executor: str | Executor = "local",
    device: str = "auto",
    threads: int | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Run an experiment.

    Args:
        experiment: The experiment.
        executor: Who evaluates: "local", "processes", "ray", or an executor, which is left open.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        folder: Where a checkpoint is written after every generation, and results; None writes nothing. No other process
            can write there meanwhile.
        resume: Go on from the checkpoint in the folder, if there is one.
        overwrite: Begin anew even if the folder holds another search.
        watch: Called once before the first generation and after each.
    """
    require_kind("what is evolved", experiment, Experiment, "an evolve.Experiment")
    require_truth("resume", resume)
    require_truth("overwrite", overwrite)
    if watch is not None:
        require_callable("watch", watch)
    place = None if folder is None else as_path(folder)
    with ExitStack() as stack:
        if place is not None:
            stack.enter_context(owned(place))
        if isinstance(executor, str):
            made = make_executor(executor, experiment.problem, device=device, threads=threads)
            executor = stack.enter_context(made)
        # What is evaluated here need not be built, and decoded, twice.
        shared = executor.problem if isinstance(executor, Local) else None
        run = Run(experiment, shared or experiment.problem.build(device=device, threads=threads), executor)
        if place is not None:
            _prepare(run, place, resume, overwrite)
        _drive(run, place, watch)
    return Outcome(experiment, run.history.arrays(), run.champions, run.champion_fitness, run.evaluations, run.seconds)


def _prepare(run: Run, folder: Path, resume: bool, overwrite: bool) -> None:
    """The run where the checkpoint in the folder left it, if that is wanted."""
    path = folder / CHECKPOINT
    if path.exists() and resume:
        run.load(path)
    elif path.exists() and not overwrite:
        raise InvalidValue(
            f"{folder} holds a search already: go on with it (--resume), choose another folder (--out), or begin anew "
            "(--overwrite)."
        )


def _drive(run: Run, folder: Path | None, watch: Watch | None) -> None:
    """All generations; whatever ends them, what was found is on disk."""
    wrote = time.perf_counter()
    if watch is not None:
        watch(run)
    try:
        while not run.finished:
            run.step()
            if folder is not None:
                run.save(folder / CHECKPOINT)
                if time.perf_counter() - wrote > _RESULTS_EVERY:
                    write_results(run, folder)
                    wrote = time.perf_counter()
            if watch is not None:
                watch(run)
    finally:
        if folder is not None and len(run.history):
            write_results(run, folder)
