"""The locks of the library and the one order in which a thread may take them.

A thread that holds a lock takes only locks that come later in this list, or again one that it holds:

1. `gate`: of a simulation (`core.gate`). Who holds it has the state, between two steps.
2. `network`: of a body of springs (`springs.network`). Edits are prepared under it while the simulation runs; nobody
   waits for the gate with it: what is prepared lies in a queue, and whoever next has gate and network installs it.
3. `recorder`: of a recording that is written (`core.recording`).
4. The lock of `core.device.undisturbed`: of CUDA, whose one stream all threads share.
5. That of `core.kernels.loading`: of who makes or loads kernels.
6. Locks inside of `Gate` and `core.runs`, which are held for a few instructions that take no other lock.

Gates of several simulations have one rank. Threads that would wait in a circle, because observers of two simulations
look at each other, are found when they begin to wait (`core.waits`), and one of them is told so.

With `ANNELID_CHECK_LOCKS=1` in the environment, as in the tests, every lock that is taken out of order raises
`LockOrder`, whether or not it would have hung this time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Literal

from annelid.core.errors import AnnelidError
from annelid.core.interrupts import KEEPER

Rank = Literal["gate", "network", "recorder"]

FORKED = (
    "this process was forked while the simulation was in use in its parent, and has only half of it: "
    "stop() it before the fork, start processes by 'spawn', or build the simulation anew here."
)
"""What a forked process is told that finds a lock taken by a thread which it does not have."""

_ORDER: tuple[Rank, ...] = ("gate", "network", "recorder")
_CHECKED = os.environ.get("ANNELID_CHECK_LOCKS", "0") not in ("", "0")


class LockOrder(AssertionError):
    """A lock was taken out of order: another thread that takes both in order could hang with this one."""


class _Held(threading.local):
    """The locks of a thread, in the order in which it took them."""

    def __init__(self) -> None:
        self.locks: list[tuple[Rank, object]] = []


_HELD = _Held()


def note_taking(rank: Rank, lock: object) -> None:
    """A thread is about to take a lock; out of order it is stopped, where locks are checked."""
    if not _CHECKED:
        return
    held = _HELD.locks
    if not any(other is lock for _, other in held):
        for other, _ in held:
            if _ORDER.index(other) > _ORDER.index(rank) or (other == rank != "gate"):
                raise LockOrder(f"the lock {rank!r} was taken while {other!r} was held; see annelid.core.locks.")
    held.append((rank, lock))


def note_leaving(lock: object) -> None:
    """A thread has given a lock back, or did not get it."""
    if _CHECKED:
        held = _HELD.locks
        held.pop(max(place for place, (_, other) in enumerate(held) if other is lock))


def take_ranked(rank: Rank, lock: object, take: Callable[[], None]) -> None:
    """Take a lock by its own means, in order and with Ctrl-C held back; what fails leaves nothing taken."""
    KEEPER.hold()
    try:
        note_taking(rank, lock)
        try:
            take()
        except BaseException:
            note_leaving(lock)
            raise
    except BaseException:
        KEEPER.let_go()
        raise


def leave_ranked(lock: object) -> None:
    """A lock was given back: its place in the order is free, and Ctrl-C may come."""
    note_leaving(lock)
    KEEPER.let_go()


class RankedLock:
    """A re-entrant lock with a place in the order; Ctrl-C comes when it was given back (see `interrupts`).

    Args:
        rank: Its place.
    """

    def __init__(self, rank: Rank) -> None:
        self._rank: Rank = rank
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        take_ranked(self._rank, self, self._take)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        leave_ranked(self)

    def _take(self) -> None:
        here = self._process == os.getpid()
        if not self._lock.acquire(blocking=here):  # its thread has stayed in the process that was forked
            raise AnnelidError(FORKED)
        self._process = os.getpid()
