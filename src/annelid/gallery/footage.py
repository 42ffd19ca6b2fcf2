"""Evenly spaced frames of something whose length is not known before its time is up."""

from __future__ import annotations

import time
from collections.abc import Callable

from annelid.core.snapshot import Snapshot
from annelid.view.files.parts import finite_parts, points_of

MOST_FRAMES = 48
_LEAST_FRAMES = 12
_MOST_POINTS = 1_000_000
"""Of all frames together: a page must open at once."""


class Footage:
    """Keeps few frames: when it is full every second one is dropped, and from then on only every second is taken.

    Args:
        budget: CPU time that filming may take [s]: other programs on the machine must not shorten a film.

    Attributes:
        frames: The frames so far.
    """

    def __init__(self, budget: float) -> None:
        self.frames: list[Snapshot] = []
        self._end = time.process_time() + budget
        self._stride, self._offered = 1, 0

    @property
    def over(self) -> bool:
        """Whether its time is up; one frame is not enough."""
        return len(self.frames) > 1 and time.process_time() > self._end

    def offer(self, take: Callable[[], Snapshot]) -> None:
        """Take a frame if it is due."""
        if self._offered % self._stride == 0:
            self.frames.append(take())
            room = _MOST_POINTS // max(1, _points(self.frames[0]))
            if len(self.frames) > max(_LEAST_FRAMES, min(MOST_FRAMES, room)):
                self.frames, self._stride = self.frames[::2], 2 * self._stride
        self._offered += 1


def _points(snapshot: Snapshot) -> int:
    return sum(len(points_of(part)) for part in finite_parts(snapshot))
