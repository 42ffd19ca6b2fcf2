"""The gate of a simulation: turns in the order of asking, whatever happens to those who wait; the order of locks."""

from __future__ import annotations

import linecache
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import AnnelidError
from annelid.core.gate import Gate
from annelid.core.interrupts import KEEPER, held_back
from annelid.core.locks import LockOrder, RankedLock

from ..threads import Thread, bounded, forked, script, together, until


@contextmanager
def interrupted(after: float) -> Iterator[None]:
    """Ctrl-C comes to the main thread after some time [s], in this block or never."""
    main = threading.get_ident()
    timer = threading.Timer(after, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def holding(gate: Any, until: threading.Event) -> Thread:
    """A thread that has a lock until an event."""
    has = threading.Event()

    def hold() -> None:
        with gate:
            has.set()
            until.wait(60.0)

    thread = Thread(hold)
    assert has.wait(60.0)
    return thread


def test_an_interrupt_while_waiting_gives_the_turn_on() -> None:
    gate, done = Gate(), threading.Event()
    holder = holding(gate, done)
    with pytest.raises(KeyboardInterrupt), interrupted(0.05), gate:
        raise AssertionError("nobody has given it")
    done.set()
    holder.result()
    bounded(lambda: gate.__enter__().__exit__(None, None, None))
    with gate:
        assert gate.mine


def test_any_exception_in_a_wait_gives_the_turn_on() -> None:
    """A handler of any signal may raise."""
    gate, done = Gate(), threading.Event()

    def too_late(*_: object) -> None:
        raise RuntimeError("too late")

    previous = signal.signal(signal.SIGALRM, too_late)
    try:
        holder = holding(gate, done)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(RuntimeError, match="too late"), gate:
            raise AssertionError("nobody has given it")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    done.set()
    holder.result()
    bounded(lambda: gate.__enter__().__exit__(None, None, None))


def test_interrupts_at_random_moments_of_a_busy_gate() -> None:
    """Two threads and the main one pass the gate on; wherever Ctrl-C finds the main one, the others go on."""
    gate, stop, passed, random = Gate(), threading.Event(), [0, 0], np.random.default_rng(0)

    def work(rank: int) -> None:
        while not stop.is_set():
            with gate:
                passed[rank] += 1

    def pass_on() -> None:
        while True:
            with gate:
                sum(range(20))

    workers = [Thread(lambda: work(0)), Thread(lambda: work(1))]
    for delay in random.uniform(0.0, 3e-3, 150):
        with pytest.raises(KeyboardInterrupt), interrupted(float(delay)):
            pass_on()
        before = list(passed)
        until(lambda before=before: passed[0] > before[0] and passed[1] > before[1])
    stop.set()
    for worker in workers:
        worker.result()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_holds_the_gate_is_interrupted_afterwards() -> None:
    gate, done = Gate(), []

    def work() -> None:
        with gate:
            with gate:
                signal.raise_signal(signal.SIGINT)
                done.append("inside")
            done.append("still inside")
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside", "still inside"]
    assert not gate.mine


def test_a_second_interrupt_comes_at_once() -> None:
    def work() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("it waited")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_must_be_done_is_done_however_often_it_is_interrupted() -> None:
    done: list[str] = []

    def work() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            with held_back(firmly=True):
                for _ in range(3):
                    signal.raise_signal(signal.SIGINT)
                done.append("inside")
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("it waited")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_at_any_line_of_the_locks_leaves_nothing_held() -> None:
    """An `__exit__` that an exception ends before its first line has given nothing back."""
    count, wanted = 0, -1

    def press(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        code = frame.f_code
        if not code.co_filename.endswith(("gate.py", "locks.py", "interrupts.py")) or code.co_name == "__call__":
            return None
        line = linecache.getline(code.co_filename, frame.f_lineno).lstrip()
        if event in ("call", "line") and not line.startswith(("with ", "try:")):  # where no signal is looked for
            count += 1
            if count == wanted:
                signal.raise_signal(signal.SIGINT)
        return press

    def pressed_twice(gate: Gate) -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            sys.settrace(press)
            with gate, held_back(firmly=True), RankedLock("network"):
                pass

    total = 2
    while wanted < total:
        gate, count, wanted = Gate(), 0, wanted + 1
        with pytest.raises(KeyboardInterrupt):
            pressed_twice(gate)
        sys.settrace(None)
        total = max(total, count)
        assert not gate.mine, wanted
        assert (KEEPER._depth, KEEPER._firm) == (0, 0), wanted
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, wanted
    assert total > 50


def test_a_handler_of_the_user_hears_of_an_interrupt_once() -> None:
    heard: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            assert not heard
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, previous)


def test_turns_come_in_the_order_of_asking() -> None:
    gate, done, order = Gate(), threading.Event(), []
    holder = holding(gate, done)

    def take(rank: int) -> None:
        with gate:
            order.append(rank)

    waiting = []
    for rank in range(5):
        waiting.append(Thread(lambda rank=rank: take(rank)))
        until(lambda rank=rank: len(gate._queue) > rank)
    done.set()
    for thread in (holder, *waiting):
        thread.result()
    assert order == [0, 1, 2, 3, 4]


def test_threads_that_wait_in_a_circle_are_told() -> None:
    """Observers of two simulations that look at each other: one of them is refused, and both go on."""
    first, second, meeting = Gate(), Gate(), threading.Barrier(2)

    def cross(own: Gate, other: Gate) -> str:
        with own:
            meeting.wait(60.0)
            try:
                with other:
                    return "through"
            except AnnelidError as error:
                return str(error)

    outcomes = together(lambda: cross(first, second), lambda: cross(second, first))
    assert any("circle" in outcome for outcome in outcomes)
    assert not first.mine
    for gate in (first, second):
        bounded(lambda gate=gate: gate.__enter__().__exit__(None, None, None))


def test_a_turn_that_comes_at_once_is_no_circle() -> None:
    """Between asking for the gate and looking for circles it may have been given."""
    gate = Gate()

    def work() -> None:
        for _ in range(5000):
            with gate:
                pass

    together(work, work, work)


def test_locks_out_of_order_are_found() -> None:
    gate, network, recorder = Gate(), RankedLock("network"), RankedLock("recorder")
    with gate, network, recorder, network, gate:  # again what is held
        pass
    wrong: list[tuple[Any, Any]] = [(network, gate), (recorder, network), (recorder, gate)]
    for outer, inner in wrong:
        with pytest.raises(LockOrder, match="core.locks"), outer, inner:
            raise AssertionError("it was let through")
    with pytest.raises(LockOrder), network, RankedLock("network"):
        raise AssertionError("it was let through")
    with gate, Gate(), network:
        pass


def test_locks_are_checked_on_request_only() -> None:
    text = (
        "import os; os.environ.pop('ANNELID_CHECK_LOCKS', None)\n"
        "from annelid.core.gate import Gate\nfrom annelid.core.locks import RankedLock\n"
        "with RankedLock('network'), Gate():\n    print('through')\n"
    )
    assert script(text) == "through\n"


@pytest.mark.parametrize("make", [Gate, lambda: RankedLock("network")])
def test_a_forked_process_is_told_instead_of_hanging(make: Callable[[], Any]) -> None:
    lock, done = make(), threading.Event()
    holder = holding(lock, done)

    def told() -> bool:
        try:
            with lock:
                return False
        except AnnelidError as error:
            return "forked" in str(error)

    assert forked(told)
    done.set()
    holder.result()
    with lock:
        assert forked(lambda: lock.__enter__() or True)  # the thread that has it is in both
