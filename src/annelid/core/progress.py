"""Progress of a simulation: simulated time, speed and the wall time that is left."""

from __future__ import annotations

import time as wall
from typing import Protocol, Self, runtime_checkable

from rich.console import Console

from annelid.core.display import Bar, Display


@runtime_checkable
class Told(Protocol):
    """What can be told how far a simulation is."""

    def update(self, time: float, remaining: float) -> None:
        """Take the simulated time [s] and what remains of it."""
        ...


class Progress(Display):
    """Progress towards a simulated time.

    Args:
        title: What is being done.
        total: Simulated time to do [s].
        quiet: Show nothing.
        console: Where to write; standard error by default, so that results on standard output stay clean.
    """

    def __init__(self, title: str, total: float, *, quiet: bool = False, console: Console | None = None) -> None:
        self._total, self._bar = max(total, 1e-12), Bar(title)
        super().__init__(title, quiet=quiet, console=console, picture=self._bar)
        self._begin = wall.perf_counter()
        self._first: tuple[float, float] | None = None  # wall time and what was done at the first update [s]

    def __enter__(self) -> Self:
        self._begin = wall.perf_counter()
        return super().__enter__()

    def done(self, time: float) -> None:
        """Say that simulated time `time` [s] is reached, where no bar was seen, as in a notebook."""
        elapsed = wall.perf_counter() - self._begin
        if not self.live:
            self.say(f"{self.title}: t = {time:.3f} s after {elapsed:.1f} s")

    def update(self, time: float, remaining: float) -> None:
        """Show that simulated time `time` [s] is reached and `remaining` [s] is still to do."""
        done = self._total - remaining
        status, left = f"t = {time:.3f} s", ""
        if (speed := self._speed(done)) > 0.0:
            status += f", {speed:.3g} x real time"
            left = f", {remaining / speed:.0f} s left"
        self.show(self._bar.at(done, self._total, status), status + left)

    def _speed(self, done: float) -> float:
        """Simulated over wall time since the first update, before which kernels are compiled; 0 at that one."""
        now = wall.perf_counter()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        elapsed = now - self._first[0]
        return (done - self._first[1]) / elapsed if elapsed > 0.0 else 0.0
