"""A lock that is handed over in the order of asking, so that a busy loop cannot starve threads that need it briefly."""

from __future__ import annotations

import os
import threading
from collections import deque
from types import TracebackType

from annelid.core.errors import AnnelidError
from annelid.core.interrupts import KEEPER
from annelid.core.locks import FORKED, leave_ranked, take_ranked
from annelid.core.waits import waiting_for


class _Turn:
    """A thread that holds the gate or waits for it."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.come = threading.Lock()  # released when the turn has come
        self.come.acquire()


class Gate:
    """A fair, re-entrant lock.

    The thread that advances a simulation holds it meanwhile and releases it between two batches of steps; readers and
    editors take their turn then. Whoever leaves the queue with an exception, Ctrl-C for one, gives the turn on. Who
    holds it in the main thread is not interrupted by Ctrl-C before it is released (see `interrupts`).

    Attributes:
        busy: Whether a thread comes back for it again and again, which a forked process would not have.
    """

    def __init__(self) -> None:
        self.busy = False
        self._inner = threading.Lock()
        self._queue: deque[_Turn] = deque()
        self._holder: _Turn | None = None
        self._depth = 0
        self._process = os.getpid()

    @property
    def mine(self) -> bool:
        """Whether the calling thread holds it."""
        holder = self._holder
        return holder is not None and holder.thread == threading.get_ident()

    def __enter__(self) -> Gate:
        take_ranked("gate", self, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._inner:
            self._depth -= 1
            if self._depth == 0:
                self._pass_on()
        leave_ranked(self)

    def require_process(self) -> None:
        """Refuse a process that was forked while the gate was in use: the threads that used it are not in it."""
        if self._process == os.getpid():
            return
        if self.busy or (self._holder is not None and not self.mine):
            raise AnnelidError(FORKED)
        self._inner, self._queue, self._process = threading.Lock(), deque(), os.getpid()

    def _take(self) -> None:
        self.require_process()
        if self.mine:
            self._depth += 1
            return
        turn = _Turn()
        try:
            with self._inner:
                if self._holder is None:
                    self._holder, self._depth = turn, 1
                else:
                    self._queue.append(turn)
            if self._holder is not turn:
                with waiting_for(lambda: self._holder_before(turn)):
                    KEEPER.wait(turn.come.acquire)
        except BaseException:
            self._give_up(turn)
            raise

    def _holder_before(self, turn: _Turn) -> int | None:
        """The thread that a turn waits for, None once it has come."""
        holder = self._holder
        return None if holder is None or holder is turn else holder.thread

    def _give_up(self, turn: _Turn) -> None:
        """Leave the queue, or give the turn on if it came just then."""
        with self._inner:
            if self._holder is turn:
                self._pass_on()
            elif turn in self._queue:
                self._queue.remove(turn)

    def _pass_on(self) -> None:
        """To the next one in the queue; no other thread may take it before that one wakes up."""
        if self._queue:
            self._holder, self._depth = self._queue.popleft(), 1
            self._holder.come.release()
        else:
            self._holder, self._depth = None, 0
