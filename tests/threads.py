"""Threads of tests, whose waits are bounded: what hangs fails, and the process can still end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0
"""Longest wait [s]; what is right takes a fraction of a second."""


class Thread(threading.Thread):
    """A thread whose result or error is asked for by `result`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work, self._result, self._error = work, None, None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "a thread hangs"
        if self._error is not None:
            raise self._error
        return self._result


def together(*works: Callable[[], Any]) -> list[Any]:
    """Results of works done at the same time, each in a thread."""
    threads = [Thread(work) for work in works]
    return [thread.result() for thread in threads]


def bounded(work: Callable[[], Any]) -> Any:
    """The result of work that might hang."""
    return Thread(work).result()


def until(true: Callable[[], Any]) -> None:
    """Wait until something is true."""
    end = time.perf_counter() + PATIENCE
    while not true():
        assert time.perf_counter() < end, "it has not happened"
        time.sleep(1e-3)


def forked(work: Callable[[], bool]) -> bool:
    """Whether work returned true in a forked process; one that hangs there is ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads are what this is about
        child = os.fork()
    if child == 0:  # nothing of pytest may run here
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def script(text: str, seconds: float = 120.0) -> str:
    """What a script prints; one that hangs ends with the stacks of its threads, and fails."""
    guard = f"import faulthandler; faulthandler.dump_traceback_later({seconds}, exit=True)\n"
    done = subprocess.run(
        [sys.executable, "-c", guard + text], capture_output=True, text=True, timeout=2 * seconds, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
