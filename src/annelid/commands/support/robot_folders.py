"""`annelid run FOLDER`: the voxel robots of a folder side by side, with the report of voxcraft-sim."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from annelid.commands.support.options import Machine, combined, parse, part
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement, Report
from annelid.core.ownership import owned
from annelid.core.progress import Progress
from annelid.voxels3d.files.folders import read_folder, run_setups
from annelid.voxels3d.files.report import write_report
from annelid.voxels3d.files.trials import Result


@dataclass(frozen=True)
class Folder:
    """How robots are simulated and where the report goes."""

    links: Literal["balanced", "compatible"] = "compatible"
    """Links as in the original, or links that conserve angular momentum."""
    precision: Literal["float32", "float64"] = "float32"
    """Numbers to compute with."""
    parts: Literal["refuse", "largest", "all"] = "refuse"
    """What becomes of a body in several parts that share no face."""
    seconds: float | None = None
    """Simulated time at which all end at the latest [s]."""
    out: Path | None = None
    """Folder for the report; out/FOLDER by default."""


def run_folder(path: Path, arguments: list[str]) -> int:
    """Run all robots of a folder."""
    about = f"Run the voxel robots of {path}: .vxd files on top of base.vxa, and .vxa files by themselves."
    options = parse(combined("Options", Folder, Machine, doc=about), arguments, f"annelid run {path}")
    own, machine = part(options, Folder), options.machine
    if own.seconds is not None and not 0.0 < own.seconds < float("inf"):
        raise InvalidValue(f"--seconds must be a positive time, not {own.seconds}.")
    name = path.resolve().name or "robots"
    out = own.out or Path("out") / name
    with owned(out):
        report, results = _run(path, name, own, machine, out)
    if machine.json:
        print(report.to_json())
        return 0
    report.print()
    best = max(results, key=lambda result: (result.fitness == result.fitness, result.fitness))
    print(f"The best of {len(results)} is {best.name}, {best.fitness:.6g}. The report is {out / 'report.xml'}.")
    return 0


def _run(path: Path, name: str, own: Folder, machine: Machine, out: Path) -> tuple[Report, list[Result]]:
    chosen, begin = choose_device(machine.device), time.perf_counter()
    setups = read_folder(path, parts=own.parts)
    with Progress(name, 1.0, quiet=machine.json) as progress:
        results = run_setups(
            setups, links=own.links, precision=own.precision, device=chosen, threads=machine.threads,
            seconds=own.seconds, histories=out, progress=lambda done: progress.update(done, 1.0 - done),
        )  # fmt: skip
    wall = time.perf_counter() - begin
    write_report(results, out / "report.xml")
    fitnesses = [result.fitness for result in results if result.fitness == result.fitness]
    found = [
        Measurement("robots", float(len(results))),
        Measurement("failed", float(len(results) - len(fitnesses))),
        Measurement("best-fitness", max(fitnesses, default=float("nan"))),
        Measurement("robots-per-second", len(results) / wall, "1/s"),
    ]
    report = Report(name, device_title(chosen), wall, found)
    report.write(out / "results.json")
    return report, results
