"""`annelid soak`: everything at once for a long time, to see that nothing is lost, hangs or grows."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from annelid.commands.soaking.soak import Outcome, soak
from annelid.commands.soaking.visit import require_browser
from annelid.commands.support.options import Machine, combined, parse
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.display import Bar, Display
from annelid.core.errors import InvalidValue
from annelid.core.files import write_json
from annelid.core.measurement import Report
from annelid.core.ownership import owned


@dataclass(frozen=True)
class Soak:
    """How long, where results go, and whether a browser watches."""

    minutes: float = 10.0
    """Wall time for which everything goes on at once."""
    out: Path = Path("out/soak")
    """Folder for recordings, checkpoints and the report."""
    no_browser: bool = False
    """Leave out the page, which is otherwise opened in a Chromium or Chrome on PATH."""
    seed: int = 1
    """Seed of all choices; what threads make of them differs from run to run."""


def command(arguments: list[str]) -> int:
    """Soak, print what was found, and return 1 if anything failed."""
    doc = "Edit, run, record, save, load and watch one simulation from many sides at once, and check that all is well."
    options = parse(combined("Options", Soak, Machine, doc=doc), arguments, "annelid soak")
    chosen: Soak = options.soak
    machine: Machine = options.machine
    seconds = 60.0 * chosen.minutes
    if not 0.0 < seconds < float("inf"):
        raise InvalidValue(f"--minutes must be a positive time, not {chosen.minutes}.")
    device, browser = choose_device(machine.device), None if chosen.no_browser else require_browser()
    begin = time.perf_counter()
    bar = Bar("soak")
    with owned(chosen.out), Display("soak", quiet=machine.json, patience=30.0, picture=bar) as display:

        def told(elapsed: float) -> None:
            status = f"{elapsed:.0f} of {seconds:.0f} s"
            display.show(bar.at(min(elapsed, seconds), seconds, status), status)

        outcome = soak(
            seconds,
            chosen.out,
            device,
            threads=machine.threads,
            browser=browser,
            seed=chosen.seed,
            told=told,
        )
    report = Report("soak", device_title(device), time.perf_counter() - begin, outcome.measurements)
    return _tell(report, outcome, chosen.out, quiet=machine.json)


def _tell(report: Report, outcome: Outcome, folder: Path, *, quiet: bool) -> int:
    whole = json.loads(report.to_json())
    whole |= {"passed": bool(report.passed) and not outcome.failures, "failures": outcome.failures}
    write_json(folder / "report.json", {**whole, "memory": outcome.memory.tolist()}, indent=None)
    if quiet:
        print(json.dumps(whole))
    else:
        report.print()
    if outcome.failures:
        print(f"annelid: the soak has failed: {outcome.failures[0]}", file=sys.stderr)
    return 0 if whole["passed"] else 1
