"""What a command prints in the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from annelid.commands.support.options import Machine
from annelid.core.measurement import Report


def tell(report: Report, written: Iterable[Path], machine: Machine, verdict: str = "") -> None:
    """Print a report, a verdict and the files that were written; the report alone as JSON where that was asked for."""
    if machine.json:
        print(report.to_json())
        return
    report.print()
    if verdict:
        print(verdict)
    for path in written:
        print(path)
