"""`annelid study NAME`: repeat an experiment of a paper, and say whether it holds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from annelid.commands.support.options import Machine, combined, helped, parse, part, split_name
from annelid.commands.support.telling import tell
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.measurement import Report
from annelid.core.ownership import owned
from annelid.core.progress import Progress
from annelid.core.provenance import provenance
from annelid.studies.registry import studies, study_class, study_names
from annelid.studies.study import Filmed, Study
from annelid.studies.support.plots import require_films, require_matplotlib
from annelid.studies.support.resumable import Resumable


@dataclass(frozen=True)
class Files:
    """Where results go."""

    out: Path | None = None
    """Folder for the table and the plots; out/NAME by default."""
    no_plot: bool = False
    """Draw nothing of what was found."""


def command(arguments: list[str]) -> int:
    """Run a study; whether it holds is said in its table, not by the exit code."""
    name, rest = split_name(arguments, "study", study_names())
    if name is None:
        print("usage: annelid study NAME [OPTIONS]; annelid study NAME --help tells the options.\n")
        for known, kind in studies().items():
            print(f"  {known:20s} {(kind.__doc__ or '').strip().splitlines()[0]}")
        return 0
    kind = study_class(name)
    doc = (kind.__doc__ or "").strip()
    options = parse(combined("Options", helped(kind), Files, Machine, doc=doc), rest, f"annelid study {name}")
    study, machine = kind(**vars(part(options, kind))), options.machine
    report, written = run_study(study, options.files, machine)
    tell(report, written, machine, f"{name} {_VERDICTS[report.passed]}")
    return 0


def run_study(study: Study, files: Files, machine: Machine) -> tuple[Report, list[Path]]:
    """Compute, judge, draw and write; the report and the files."""
    if not files.no_plot:
        require_matplotlib()
        if isinstance(study, Filmed) and study.film is not None:
            require_films()
    folder = files.out or Path("out") / study.name
    with owned(folder):
        return _run_inside(folder, study, files, machine)


def _run_inside(folder: Path, study: Study, files: Files, machine: Machine) -> tuple[Report, list[Path]]:
    device, facts = choose_device(machine.device), provenance(study)
    study = study.inside(folder) if isinstance(study, Resumable) else study
    begin = time.perf_counter()
    with Progress(f"study {study.name}", 1.0, quiet=machine.json) as progress:
        found = study.compute(device, machine.threads, progress)
    seconds = time.perf_counter() - begin
    report = Report(study.name, device_title(device), seconds, study.measure(found), facts)
    report.write(folder / "results.json")
    drawn = study.plot(found, folder) if not files.no_plot else []
    if drawn:  # written again rather than later: a plot that fails must not cost what was computed
        report = replace(report, facts={**facts, "plots": [path.name for path in drawn]})
        report.write(folder / "results.json")
    return report, [folder / "results.json", *drawn]


_VERDICTS = {True: "holds.", False: "does not hold: see the table.", None: "has nothing to hold against."}
