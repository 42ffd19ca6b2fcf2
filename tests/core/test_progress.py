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
    told = capfd.readouterr().err.splitlines()[-1]  # others come before where compiling takes long
    assert re.fullmatch(r"simulating: t = 0\.300 s after \d+\.\d s", told)


def lines_at(monkeypatch: pytest.MonkeyPatch, total: float, *updates: tuple[float, float]) -> list[str]:
    """Lines that are written to a file, of updates at wall times that have done some of the total."""
    now, out = [0.0], io.StringIO()
    monkeypatch.setattr(module.wall, "perf_counter", lambda: now[0])
    with Progress("worm", total, console=Console(file=out, width=100)) as progress:
        for at, done in updates:
            now[0] = at
            progress.update(done, total - done)
    return out.getvalue().splitlines()


def test_long_work_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_at(monkeypatch, 2.0, (1.0, 0.2), (5.0, 1.0), (6.0, 1.2))
    assert lines == ["worm: t = 1.000 s, 0.2 x real time, 5 s left"]


def test_compiling_before_the_first_steps_is_no_measure_of_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_at(monkeypatch, 10.0, (35.0, 0.0001), (40.0, 1.0001))
    assert lines == ["worm: t = 0.000 s", "worm: t = 1.000 s, 0.2 x real time, 45 s left"]


def test_the_default_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("worm", 1.0) as progress:
        progress.say("done")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "done\n"
