"""A training to look at while it runs: a bar on a terminal, plain lines elsewhere, nothing when asked for silence."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_PATIENCE = 10.0  # seconds between two plain lines


class Display:
    """Shows how a training goes.

    Args:
        title: What is being trained.
        quiet: Show nothing.
        console: Where to write; standard error by default, so that results on standard output stay clean.
    """

    def __init__(self, title: str, *, quiet: bool = False, console: Console | None = None) -> None:
        self._title, self._quiet = title, quiet
        self._console = console or Console(stderr=True)
        self._bar: Progress | None = None
        self._spoke = time.perf_counter()

    def __enter__(self) -> Display:
        if not self._quiet and self._console.is_terminal:
            columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}")
            self._bar = Progress(*columns, TimeRemainingColumn(), console=self._console, transient=True)
            self._task = self._bar.add_task(self._title, total=None, status="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, steps: int, goal: int, mean: float, rate: float) -> None:
        """Tell where it stands."""
        status = f"{steps:,}/{goal:,} actions, {rate:.0f}/s, return {mean:.4g} (last 100 episodes)"
        if self._bar is not None:
            self._bar.update(self._task, completed=steps, total=goal, status=status)
        elif not self._quiet and (time.perf_counter() - self._spoke > _PATIENCE or steps >= goal):
            self._spoke = time.perf_counter()
            self._console.print(f"{self._title}: {status}", highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Show a line of text."""
        if not self._quiet:
            self._console.print(f"{self._title}: {text}", highlight=False, soft_wrap=True)
