"""Runs of a simulation: which thread advances it, who wants it to stop, and how runs in its own thread have ended."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from annelid.core.errors import AnnelidError, copied_error
from annelid.core.events import Event
from annelid.core.interrupts import KEEPER
from annelid.core.waits import waiting_for

_KEPT = 256  # ends that are remembered for threads which are slow to wake up


@dataclass(frozen=True)
class _End:
    """How a run in its own thread ended."""

    number: int
    event: Event
    failure: BaseException | None


class Runs:
    """What threads know of each other that advance a simulation, stop it or wait for it.

    Attributes:
        wish: What someone wants of the present run: "paused", "stopped" or None.
        running: Whether the simulation advances in its own thread.
    """

    def __init__(self) -> None:
        self.wish: str | None = None
        self.running = False
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._driver: int | None = None
        self._thread: threading.Thread | None = None
        self._ends: deque[_End] = deque(maxlen=_KEPT)
        self._count = 0
        self._untold: BaseException | None = None

    # --- who advances it ---

    @property
    def inside(self) -> bool:
        """Whether the calling thread is the one that advances the simulation: in an observer, or in a condition."""
        return self._driver == threading.get_ident()

    @property
    def elsewhere(self) -> bool:
        """Whether a thread advances it by `run` or `step`."""
        return self._driver is not None and not self.running

    @contextmanager
    def driving(self) -> Iterator[None]:
        """A block in which the calling thread advances the simulation."""
        self._driver = threading.get_ident()
        try:
            yield
        finally:
            self._driver = None

    # --- runs in their own thread ---

    def begin(self, thread: threading.Thread) -> None:
        """The simulation runs in this thread from now on; the thread of the last run has nothing left to do."""
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self.running, self.wish, self._thread = True, None, thread
        try:
            thread.start()
        except BaseException:  # no thread is left on this machine
            self.running = False
            raise

    def end(self, event: Event, failure: BaseException | None = None) -> None:
        """The run has ended; all threads that wait are told."""
        with self._lock:
            self._count += 1
            self.running, self._untold = False, failure
            self._ends.append(_End(self._count, event, failure))
            self._changed.notify_all()

    def join(self, timeout: float) -> None:
        """Wait for the thread itself."""
        if self._thread is not None:
            self._thread.join(timeout)

    def wait(self, timeout: float | None) -> Event:
        """The end of the present run, or of the last one if nothing runs.

        An error that ended it is raised in every thread that was waiting, or else in the first that asks; who asks
        later gets it as the detail of an event.
        """
        with self._lock:
            waited = self.running
            seen = self._count if waited else self._count - 1
            if waited:
                self._wait_beyond(seen, timeout)
            end = next((end for end in self._ends if end.number > seen), None)
            if end is None:
                raise AnnelidError("the simulation has not been started: there is nothing to wait for.")
            if end.failure is not None and (waited or self._untold is end.failure):
                self._untold = None
                raise copied_error(end.failure)
            return end.event

    def _wait_beyond(self, seen: int, timeout: float | None) -> None:
        def ended() -> bool:
            return self._changed.wait_for(lambda: self._count > seen, timeout)

        if timeout is not None:
            if not KEEPER.wait(ended):
                raise TimeoutError(f"the simulation did not stop within {timeout} s.")
            return
        with waiting_for(lambda: self._thread.ident if self._thread is not None and self.running else None):
            KEEPER.wait(ended)

    def raise_untold(self) -> None:
        """Raise the error that ended the last run if nobody was told of it."""
        with self._lock:
            error, self._untold = self._untold, None
        if error is not None:
            raise copied_error(error)

    @property
    def untold(self) -> BaseException | None:
        """The error that ended the last run, if nobody was told of it."""
        return self._untold
