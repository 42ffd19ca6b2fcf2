"""Memory of the process over time, and whether it grows."""

from __future__ import annotations

import threading
import time as wall
from dataclasses import dataclass

import numpy as np

from annelid.core.memory import process_memory

WARM_UP = 0.2
"""Share of the time that is not judged: caches fill, and allocators learn what is used."""

_FEWEST = 60  # samples that say something


@dataclass(frozen=True)
class Growth:
    """What became of the memory of a process.

    Attributes:
        first: Median of the first third after the warm-up [B].
        last: Median of the last third [B].
    """

    first: float
    last: float

    @property
    def percent(self) -> float:
        """By how much it has grown."""
        return 100.0 * (self.last / self.first - 1.0)


def growth(samples: np.ndarray) -> Growth | None:
    """Growth of samples taken at equal times; None where they are too few to tell."""
    if len(samples) < _FEWEST:
        return None
    judged = samples[int(WARM_UP * len(samples)) :]
    third = len(judged) // 3
    return Growth(float(np.median(judged[:third])), float(np.median(judged[-third:])))


class Sampler:
    """Takes samples of the memory of this process; itself it takes all of its own at the beginning.

    Args:
        seconds: For how long at most [s].
        every: Time between two samples [s].
    """

    def __init__(self, seconds: float, every: float = 1.0) -> None:
        self._every = every
        self._samples = np.zeros(int(seconds / every) + 1, np.int64)
        self._count = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="soak-memory", daemon=True)

    def start(self) -> None:
        """Begin."""
        if process_memory() is not None:
            self._thread.start()

    def end(self) -> np.ndarray:
        """Stop, and return the samples [B]; none where the system does not tell."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        return self._samples[: self._count]

    def _sample(self) -> None:
        due = wall.perf_counter()
        while self._count < len(self._samples) and not self._ended.wait(max(0.0, due - wall.perf_counter())):
            self._samples[self._count] = process_memory() or 0
            self._count += 1
            due += self._every
