"""Progress: lines for a file, a bar for a terminal, nothing when quiet."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from annelid.core import progress as module
from annelid.core.progress import Progress
from annelid.core.simulation import Simulation


def output(*, terminal: bool, quiet: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    with Progress("worm", 2.0, quiet=quiet, console=console) as progress:
        progress.update(0.5, 1.5)
        progress.say("half way")
        progress.update(2.0, 0.0)
    return out.getvalue()


def test_quiet_shows_nothing() -> None:
    assert output(terminal=False, quiet=True) == output(terminal=True, quiet=True) == ""


def test_a_terminal_gets_a_bar() -> None:
    shown = output(terminal=True)
    assert "worm" in shown
    assert "t = 2.000 s" in shown
    assert "half way" in shown


def test_short_work_needs_no_lines() -> None:
    assert output(terminal=False) == "half way\n"


def test_the_end_is_told_where_there_is_no_bar(capfd: pytest.CaptureFixture[str], growth: Callable[..., Any]) -> None:
    Simulation(growth()).run(0.3, progress=True)  # as in a notebook, which is no terminal
    assert re.fullmatch(r"simulating: t = 0\.300 s after \d+\.\d s\n", capfd.readouterr().err)


def test_long_work_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.0, *(t for t in (1.0, 5.0, 6.0) for _ in range(3))])
    latest = [0.0]

    def clock() -> float:
        latest[0] = next(now, latest[0])
        return latest[0]

    monkeypatch.setattr(module.wall, "perf_counter", clock)
    out = io.StringIO()
    with Progress("worm", 2.0, console=Console(file=out, width=100)) as progress:
        for done in (0.2, 1.0, 1.2):
            progress.update(done, 2.0 - done)
    assert out.getvalue().count("worm: t = ") == 1
    assert "s left" in out.getvalue()


def test_the_default_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("worm", 1.0) as progress:
        progress.say("done")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "done\n"
