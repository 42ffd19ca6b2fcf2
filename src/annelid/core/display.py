"""What a long computation shows: a live picture on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time as wall
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


class Display:
    """Shows how something goes.

    Args:
        title: What is being done.
        quiet: Show nothing.
        console: Where to write; standard error by default, so that results on standard output stay clean.
        patience: Wall time between two plain lines, and before the first [s].
        transient: Whether the live picture disappears at the end.
        picture: What a terminal shows before the first `show`.
    """

    def __init__(
        self,
        title: str,
        *,
        quiet: bool = False,
        console: Console | None = None,
        patience: float = 2.0,
        transient: bool = True,
        picture: RenderableType = "",
    ) -> None:
        self.title, self._picture = title, picture
        self._quiet, self._patience, self._transient = quiet, patience, transient
        self._console = console or Console(stderr=True)
        self._live: Live | None = None
        self._printed_at = wall.perf_counter()

    def __enter__(self) -> Self:
        self._printed_at = wall.perf_counter()
        if not self._quiet and self._console.is_terminal:
            self._live = Live(self._picture, console=self._console, refresh_per_second=4, transient=self._transient)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def live(self) -> bool:
        """Whether a live picture is shown, as on a terminal."""
        return self._live is not None

    def show(self, picture: RenderableType, line: str, *, now: bool = False) -> None:
        """Show where it stands.

        Args:
            picture: What a terminal shows.
            line: What is printed elsewhere, after the title, if the last line was printed long enough ago.
            now: Print the line in any case.
        """
        if self._live is not None:
            self._live.update(picture)
        elif not self._quiet and (now or wall.perf_counter() - self._printed_at > self._patience):
            self._printed_at = wall.perf_counter()
            self.say(f"{self.title}: {line}")

    def say(self, text: str) -> None:
        """Print a line of text: what was just finished."""
        if not self._quiet:
            self._console.print(text, highlight=False, soft_wrap=True)


class Bar:
    """A bar with words beside it and the remaining time, for `Display.show`.

    Args:
        title: What is being done.
    """

    def __init__(self, title: str) -> None:
        words = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}")
        self._progress = Progress(*words, TimeRemainingColumn())
        self._task = self._progress.add_task(title, total=None, status="")

    def __rich__(self) -> RenderableType:
        return self._progress.get_renderable()

    def at(self, done: float, total: float, status: str) -> Bar:
        """The bar after a part of the whole is done."""
        self._progress.update(self._task, completed=done, total=total, status=status)
        return self
