"""What an identification leaves on disk: a report to read, constants for programs, and curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from annelid.calibration.drawing import draw_run
from annelid.calibration.identified import Compared, Identified
from annelid.core.files import write_text
from annelid.core.ownership import owned


def save(found: Identified, folder: str | Path, *, plots: bool = True) -> list[Path]:
    """Write report.md, constants.json and a figure for each run to a folder; the files."""
    place = Path(folder)
    with owned(place):
        files = [_written(place / "report.md", report(found)), _written(place / "constants.json", _json(found))]
        if plots:
            files += [draw_run(run, place / f"{_file_name(run.name)}.png") for run in found.runs]
    return files


def report(found: Identified) -> str:
    """What was found, as a page of Markdown."""
    lines = [f"# {found.name}", "", "| constant | value | deviation | | start |", "| --- | --- | --- | --- | --- |"]
    for name, value in found.constants.items():
        deviation = found.deviations[name]
        part = f"{100 * deviation / abs(value):.2g} %" if value else ""
        lines.append(f"| {name} | {value:.6g} | {deviation:.2g} | {part} | {found.starts[name]:.6g} |")
    lines += [
        "",
        f"One component that is left has a standard deviation of {found.noise:.3g} mm. Deviations are right if what is "
        "left is noise; where the curves show that the model misses something, they are too small.",
        "",
        f"Determined least: {found.weakest}.",
        "",
        *(f"**Warning**: {sentence}\n" for sentence in found.warnings()),
        "| run | marker | left, rms [mm] | largest motion in the run [mm] |",
        "| --- | --- | --- | --- |",
    ]
    for run in found.runs:
        name = f"{run.name} (held out)" if run.held_out else run.name
        lines += [
            f"| {name} | {marker} | {left:.3g} | {run.moved:.3g} |"
            for marker, left in zip(run.markers, run.left, strict=True)
        ]
    lines += ["", f"{found.evaluations} sets of constants were simulated:", "", *(f"- {line}" for line in found.course)]
    return "\n".join(lines) + "\n"


def _json(found: Identified) -> str:
    table: dict[str, Any] = {
        "name": found.name,
        "constants": dict(found.constants),
        "deviations": dict(found.deviations),
        "starts": dict(found.starts),
        "noise_mm": found.noise,
        "determined_least": found.weakest,
        "warnings": found.warnings(),
        "runs": [_run(run) for run in found.runs],
        "simulations": found.evaluations,
    }
    return json.dumps(table, indent=2) + "\n"


def _run(run: Compared) -> dict[str, Any]:
    left = {marker: float(value) for marker, value in zip(run.markers, run.left, strict=True)}
    return {"name": run.name, "held_out": run.held_out, "left_rms_mm": left}


def _written(path: Path, text: str) -> Path:
    write_text(path, text)
    return path


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name) or "run"
