"""What a search shows while it runs: a table of the last generations."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from annelid.core.display import Display
from annelid.evolve.run import Run

_SHOWN = 10  # generations in the live table


class SearchDisplay(Display):
    """Shows a run after each generation.

    Args:
        title: What is being searched.
        quiet: Show nothing.
        console: Where to write; standard error by default, so that results on standard output stay clean.
    """

    def __init__(self, title: str, *, quiet: bool = False, console: Console | None = None) -> None:
        super().__init__(title, quiet=quiet, console=console, transient=False)
        self._rows: deque[dict[str, str]] = deque(maxlen=_SHOWN)
        self._begin = (0.0, 0, 0)  # clock [s], evaluations and generation when this session began

    def __call__(self, run: Run) -> None:
        """Show a generation; the first call marks where this session begins."""
        now, first = time.perf_counter(), not self._rows
        if self._begin[0] == 0.0:
            self._begin = (now, run.evaluations, run.generation)
            return
        self._rows.append(self._cells(run, now - self._begin[0]))
        line = ", ".join(f"{name} {value}" for name, value in self._rows[-1].items())
        self.show(self._table(), line, now=first or run.finished)

    def _cells(self, run: Run, elapsed: float) -> dict[str, str]:
        """Values by column; of several repetitions the best is that of all, and the others are medians."""
        done = run.generation - self._begin[2]
        rate = (run.evaluations - self._begin[1]) / max(elapsed, 1e-9)
        left = (run.experiment.generations - run.generation) * elapsed / max(done, 1)
        best, median = run.history.last("best"), run.history.last("median")
        return {
            "generation": f"{run.generation}/{run.experiment.generations}",
            "best": f"{best.max():.4g}",
            **({"median best": f"{np.median(best):.4g}"} if len(best) > 1 else {}),
            "median": f"{np.median(median):.4g}",
            "evaluations/s": f"{rate:,.0f}" if rate >= 100.0 else f"{rate:.1f}",
            "remaining": _duration(left),
        }

    def _table(self) -> Table:
        table = Table(title=self.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for name in self._rows[-1]:
            table.add_column(name, justify="right", no_wrap=True)
        for row in self._rows:
            table.add_row(*row.values())
        return table


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
