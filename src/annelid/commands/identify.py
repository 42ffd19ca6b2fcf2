"""`annelid identify FILE.py:NAME`: constants of a body from measured tracks, with a report and curves."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from annelid.calibration import Calibration, identify
from annelid.calibration.files import save
from annelid.calibration.journal import CHECKPOINT
from annelid.commands.support.options import Machine, combined, parse, split_name
from annelid.commands.support.telling import tell
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.errors import AnnelidError, UnknownName
from annelid.core.measurement import Report
from annelid.core.own_files import load_own, split_own
from annelid.core.ownership import owned
from annelid.core.progress import Progress

_USAGE = """usage: annelid identify FILE.py:NAME [OPTIONS]

NAME is an annelid.Calibration in FILE.py, or a function without arguments that returns one: a body, its runs with
measured tracks (CSV), markers, and the constants that are free. It may be left out where the file has only one."""


@dataclass(frozen=True)
class Identify:
    """What to hold out and where results go."""

    hold_out: tuple[str, ...] = ()
    """Names of runs that are predicted instead of fitted, besides those that the calibration holds out."""
    no_scan: bool = False
    """Begin at the start without a coarse scan over decades around it."""
    out: Path | None = None
    """Folder for report and curves; out/NAME by default."""
    no_plot: bool = False
    """Draw no curves."""
    resume: bool = False
    """Go on with a search that was interrupted, from the checkpoint in the folder."""


def command(arguments: list[str]) -> int:
    """Identify constants."""
    name, rest = split_name(arguments, "file", ["FILE.py:NAME"])
    if name is None:
        print(_USAGE)
        return 0
    options = parse(
        combined("Options", Identify, Machine, doc=f"Identify constants: {name}."), rest, f"annelid identify {name}"
    )
    calibration = _held_out(calibration_of(name), options.identify.hold_out)
    report, written = run_calibration(calibration, options.identify, options.machine)
    tell(report, written, options.machine)
    return 0


def run_calibration(calibration: Calibration, options: Identify, machine: Machine) -> tuple[Report, list[Path]]:
    """Identify, and write what was found; the report and the files."""
    folder = options.out or Path("out") / calibration.name
    with owned(folder):
        device, begin = choose_device(machine.device), time.perf_counter()
        with Progress(f"identify {calibration.name}", 1.0, quiet=machine.json) as progress:
            found = identify(
                calibration, scan=not options.no_scan, device=machine.device, threads=machine.threads, say=progress.say,
                folder=folder, resume=options.resume,
            )  # fmt: skip
        report = Report(calibration.name, device_title(device), time.perf_counter() - begin, found.measurements())
        report.write(folder / "results.json")
        written = [folder / "results.json", *save(found, folder, plots=not options.no_plot)]
        (folder / CHECKPOINT).unlink(missing_ok=True)  # the search is over
        return report, written


def calibration_of(given: str) -> Calibration:
    """The calibration that FILE.py:NAME means."""
    split = split_own(given)
    if split is None:
        raise AnnelidError(f"{given!r} is no Python file: give FILE.py:NAME, where NAME is an annelid.Calibration.")
    path, name = split
    module = load_own(path)
    own = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    if not name:
        there = [key for key, value in own.items() if isinstance(value, Calibration)]
        if len(there) != 1:
            kinds = f"{', '.join(there)}: name one" if there else "none: make one, or name a function that returns one"
            raise AnnelidError(f"{path} has {len(there)} calibrations, {kinds} as {path}:NAME.")
        name = there[0]
    if name not in own:
        raise UnknownName(f"calibration in {path}", name, own)
    found = own[name]() if callable(own[name]) else own[name]
    if not isinstance(found, Calibration):
        raise AnnelidError(f"{name} of {path} is no annelid.Calibration, but {type(found).__name__}.")
    return replace(found, name=name) if found.name == "calibration" else found


def _held_out(calibration: Calibration, names: tuple[str, ...]) -> Calibration:
    known = [run.name for run in (*calibration.runs, *calibration.held_out)]
    for name in names:
        if name not in known:
            raise UnknownName("run", name, known)
    fitted = [run for run in calibration.runs if run.name not in names]
    more = [run for run in calibration.runs if run.name in names]
    return replace(calibration, runs=fitted, held_out=[*calibration.held_out, *more]) if more else calibration
