"""Launches that are prepared once and repeated: recorded commands, split over a few CPU threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import thread_count

_LEAST = 256  # threads of a kernel for which another CPU thread is worth waking


class Crew:
    """The device that computes, and how many CPU threads share a launch.

    Args:
        device: Warp device.
        threads: CPU threads; None takes all cores.
    """

    def __init__(self, device: wp.Device, threads: int | None = None) -> None:
        self.device = device
        self.threads = 1 if device.is_cuda else thread_count(threads)
        self.pool = ThreadPoolExecutor(self.threads - 1, "annelid-fem") if self.threads > 1 else None

    def command(self, kernel: Any, count: int | tuple[int, ...], arguments: Sequence[Any]) -> Command:
        """A launch to repeat, of a kernel whose first argument is an offset to add to the first thread index."""
        return Command(self, kernel, count, arguments)


class Command:
    """A prepared launch; calling it launches it."""

    def __init__(self, crew: Crew, kernel: Any, count: int | tuple[int, ...], arguments: Sequence[Any]) -> None:
        first, *rest = (count,) if isinstance(count, int) else count
        parts = crew.threads if first * int(np.prod(rest, initial=1)) >= 2 * _LEAST else 1
        edges = np.linspace(0, first, parts + 1).astype(int)
        self._pool = crew.pool
        self._launches = [
            wp.launch(kernel, (int(high - low), *rest), [int(low), *arguments], device=crew.device, record_cmd=True)
            for low, high in zip(edges[:-1], edges[1:], strict=True)
            if high > low
        ]

    def __call__(self, *changed: tuple[int, Any]) -> None:
        """Launch it, with some arguments (counted after the offset) replaced from now on."""
        for place, value in changed:
            for launch in self._launches:
                launch.set_param_at_index(1 + place, value)
        if not self._launches:
            return
        if len(self._launches) == 1 or self._pool is None:
            for launch in self._launches:
                launch.launch()
            return
        others = [self._pool.submit(launch.launch) for launch in self._launches[1:]]
        self._launches[0].launch()
        for other in others:
            other.result()
