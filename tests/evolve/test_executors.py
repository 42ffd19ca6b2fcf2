"""Executors in this process and in others: the same history to the bit, also when workers die."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest
from evolve_test_problems import BowlOptions, CrawlOptions
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import AnnelidError, InvalidValue, UnknownName
from annelid.evolve import EA, Experiment, evolve, make_executor
from annelid.evolve.executors.executor import chunks
from annelid.evolve.executors.processes import Processes

CRAWL = Experiment("crawl", CrawlOptions(seconds=0.3), EA(population=8), generations=2, repetitions=2)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 4))
def test_pieces_hold_every_row_once_and_none_is_empty(count: int, workers: int, each: int) -> None:
    pieces = chunks(count, workers, each=each)
    rows = [row for piece in pieces for row in range(count)[piece]]
    assert rows == list(range(count))
    sizes = [piece.stop - piece.start for piece in pieces]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


def test_processes_find_what_one_process_finds_also_after_a_death() -> None:
    expected = evolve(CRAWL, device="cpu").history
    killed: list[int] = []
    with Processes(CRAWL.problem, device="cpu", workers=2) as executor:

        def kill(run) -> None:
            if run.generation == 1:
                killed.append(_workers()[0])
                os.kill(killed[0], signal.SIGKILL)

        found = evolve(CRAWL, executor=executor, watch=kill, device="cpu").history
        survivors = _workers()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert survivors  # one or two: a second worker starts only where the first is busy
    assert killed[0] not in survivors
    deadline = time.monotonic() + 10.0
    while any(_alive(pid) for pid in survivors) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in survivors)


def test_a_worker_that_dies_over_its_piece_is_replaced(tmp_path: Path) -> None:
    with Processes(BowlOptions(suicidal=str(tmp_path / "died")), workers=1) as executor:
        found = executor.evaluate(np.zeros((3, 4)))
        assert (tmp_path / "died").exists()
        assert found.fitness == pytest.approx([-0.36] * 3)
        with pytest.raises(IndexError):  # an error of the problem is raised here, and is no death
            executor.evaluate(np.zeros((3, 0)))


def test_workers_that_always_die_are_given_up() -> None:
    with Processes(BowlOptions(suicidal=""), workers=1) as executor:
        executor._submit = lambda rows: _broken()
        with pytest.raises(AnnelidError, match="died 3 times in a row"):
            executor.evaluate(np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        ({"kind": "threads"}, UnknownName, "no executor named 'threads'.*local, processes, ray"),
        ({"kind": "local", "address": "x:1"}, InvalidValue, "goes with the executor 'ray'"),
        ({"kind": "processes", "workers": 0}, InvalidValue, "workers must be 1 or more"),
    ],
)
def test_an_executor_that_makes_no_sense_is_refused(arguments: dict, kind: type[AnnelidError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        make_executor(problem=BowlOptions(), **arguments)


def _broken() -> Future:
    future = Future()
    future.set_exception(BrokenProcessPool())
    return future


def _workers() -> list[int]:
    return [int(child.pid or 0) for child in multiprocessing.active_children()]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
