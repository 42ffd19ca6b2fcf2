"""Progress of long computations: a bar on a terminal, plain lines elsewhere, nothing when asked for silence."""

from __future__ import annotations

import time as wall
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

_PATIENCE = 2.0  # seconds before a plain line is worth printing, and between two of them


class Progress:
    """Progress towards a simulated time.

    Args:
        title: What is being done.
        total: Simulated time to do [s].
        quiet: Show nothing.
        console: Where to write; standard error by default, so that results on standard output stay clean.
    """

    def __init__(self, title: str, total: float, *, quiet: bool = False, console: Console | None = None) -> None:
        self._title, self._total, self._quiet = title, max(total, 1e-12), quiet
        self._console = console or Console(stderr=True)
        self._bar: RichProgress | None = None
        self._done = 0.0
        self._begin = self._spoke = wall.perf_counter()

    def __enter__(self) -> Progress:
        self._begin = self._spoke = wall.perf_counter()
        if not self._quiet and self._console.is_terminal:
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[status]}"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(self._title, total=self._total, status="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, time: float, remaining: float) -> None:
        """Tell that simulated time `time` [s] is reached and `remaining` [s] is still to do."""
        self._done = self._total - remaining
        elapsed = wall.perf_counter() - self._begin
        speed = self._done / elapsed if elapsed > 0.0 else 0.0
        status = f"t = {time:.3f} s, {speed:.3g} x real time"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, status=status)
        elif not self._quiet and wall.perf_counter() - self._spoke > _PATIENCE:
            self._spoke = wall.perf_counter()
            left = remaining / speed if speed > 0.0 else float("inf")
            self._console.print(f"{self._title}: {status}, {left:.0f} s left", highlight=False)

    def say(self, text: str) -> None:
        """Show a line of text: what was just finished."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        elif not self._quiet:
            self._console.print(text, highlight=False)
