"""Who waits for whom: a thread that would close a circle of waiting threads is told so instead of hanging."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from annelid.core.errors import AnnelidError

_WAITING: dict[int, Callable[[], int | None]] = {}
"""By thread, what tells the thread that it waits for. Threads belong to the process, and so does this."""


@contextmanager
def waiting_for(thread: Callable[[], int | None]) -> Iterator[None]:
    """A block in which this thread waits for another one, refused if that one waits for this one in the end.

    Args:
        thread: Tells which thread that is now; None for none.
    """
    me = threading.get_ident()
    _WAITING[me] = thread  # before looking: of threads that close a circle at once, the last one at least sees it
    try:
        _refuse_circle(me)
        yield
    finally:
        del _WAITING[me]


def _refuse_circle(me: int) -> None:
    seen: set[int] = set()
    follow = _WAITING.get(me)
    while follow is not None:
        other = follow()
        if other is None or other in seen:
            return
        if other == me:
            raise AnnelidError(
                "threads wait for each other in a circle: an observer of one simulation looks at, edits or stops "
                "another whose observer does the same to the first. Let one thread step both, or hand over copies."
            )
        seen.add(other)
        follow = _WAITING.get(other)
