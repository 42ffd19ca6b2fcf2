"""Threads that help with a launch or prepare something; a forked process, which they do not follow, makes its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Job(Generic[T]):
    """Work that was given to a pool."""

    def __init__(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> None:
        self._work, self._process = work, os.getpid()
        self._future = executor.submit(work)

    def result(self) -> T:
        """What came of it, when it is done; in a forked process, whose parent has it under way, it is done again."""
        if self._process != os.getpid() and not self._future.done():
            return self._work()
        return self._future.result()


class Pool:
    """Threads that wait for work.

    Args:
        size: Number of threads.
        name: How their names begin.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size, self._name = size, name
        self._renew()

    def _renew(self) -> None:
        self._process, self._executor = os.getpid(), ThreadPoolExecutor(self._size, thread_name_prefix=self._name)

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Let a thread do some work."""
        if self._process != os.getpid():
            self._renew()
        return Job(self._executor, work)
