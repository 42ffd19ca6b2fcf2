"""A lock that is handed over in the order of asking, so that a busy loop cannot starve threads that need it briefly."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class Gate:
    """A fair, re-entrant lock.

    The thread that advances a simulation holds it meanwhile and releases it between two batches of steps; readers and
    editors take their turn then.
    """

    def __init__(self) -> None:
        self._inner = threading.Lock()
        self._queue: deque[threading.Event] = deque()
        self._owner: int | None = None
        self._depth = 0

    @property
    def wanted(self) -> bool:
        """Whether someone waits for a turn."""
        return bool(self._queue)

    def __enter__(self) -> Gate:
        me = threading.get_ident()
        with self._inner:
            if self._owner in (None, me) and (self._owner == me or not self._queue):
                self._owner, self._depth = me, self._depth + 1
                return self
            turn = threading.Event()
            self._queue.append(turn)
        turn.wait()
        self._owner = me
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._inner:
            self._depth -= 1
            if self._depth == 0:
                self._owner = None
                if self._queue:
                    self._owner, self._depth = -1, 1  # no other thread may take it before the next one wakes up
                    self._queue.popleft().set()
