"""A named number with unit, reference, source and tolerance; what studies and benches return and print."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from annelid.core.described import html_table
from annelid.core.errors import InvalidValue
from annelid.core.files import write_text

VERDICTS = {True: "yes", False: "no", None: ""}
"""What a cell says about a number that holds, that does not, and that has nothing to hold against."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9.]+)*")


def hyphened(text: str) -> str:
    """A name of a user's own as that of a measurement: "Tip.x" becomes "tip-x"; "number" where nothing is left."""
    return "-".join(re.findall("[a-z0-9]+", text.lower())) or "number"


@dataclass(frozen=True)
class Measurement:
    """One measured number beside what it should be.

    Attributes:
        name: Lower-case ASCII words joined by hyphens, sizes written 10x4.
        value: The measured value.
        unit: Unit, "" for a pure number.
        reference: The value to compare with, or None.
        tolerance: Largest accepted distance from the reference, in the unit of the value; None asserts nothing.
        source: Where the reference comes from.
        bound: "near" compares |value - reference| with the tolerance, "at-least" and "at-most" the value itself.
    """

    name: str
    value: float
    unit: str = ""
    reference: float | None = None
    tolerance: float | None = None
    source: str = ""
    bound: str = "near"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidValue(
                f"measurement name {self.name!r} must be lower-case ASCII words joined by hyphens, "
                "such as 'springs-30x30x30'."
            )
        if self.bound not in ("near", "at-least", "at-most"):
            raise InvalidValue(f"bound {self.bound!r} of {self.name} must be 'near', 'at-least' or 'at-most'.")

    @property
    def passed(self) -> bool | None:
        """Whether the value holds; None where there is nothing to hold it against."""
        if self.reference is None:
            return None
        if not math.isfinite(self.value):
            return False
        if self.bound == "at-least":
            return self.value >= self.reference - (self.tolerance or 0.0)
        if self.bound == "at-most":
            return self.value <= self.reference + (self.tolerance or 0.0)
        return None if self.tolerance is None else abs(self.value - self.reference) <= self.tolerance

    @property
    def wanted(self) -> str:
        """What the value should be, in words such as "≥ 10" or "1 ± 0.5"; empty where nothing says."""
        if self.reference is None:
            return ""
        sign = {"near": "", "at-least": "≥ ", "at-most": "≤ "}[self.bound]
        return f"{sign}{self.reference:.6g}" + (f" ± {self.tolerance:.3g}" if self.tolerance else "")


@dataclass(frozen=True, repr=False)
class Report:
    """The measurements of one study, bench or run.

    Attributes:
        name: What was measured.
        device: Where it was computed, in words.
        seconds: How long it took [s].
        measurements: The numbers.
        facts: How they came about, as JSON can hold it: see `core.provenance`.
    """

    name: str
    device: str
    seconds: float
    measurements: Sequence[Measurement]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool | None:
        """True if every judged measurement holds, None if none is judged."""
        judged = [m.passed for m in self.measurements if m.passed is not None]
        return all(judged) if judged else None

    def to_json(self) -> str:
        """One JSON object; numbers that JSON cannot hold become null."""
        rows = [{**asdict(m), "passed": m.passed} for m in self.measurements]
        body: dict[str, Any] = {
            "name": self.name,
            "device": self.device,
            "seconds": self.seconds,
            "passed": self.passed,
            **({"facts": dict(self.facts)} if self.facts else {}),
        }
        return json.dumps({**body, "measurements": [_finite(row) for row in rows]})

    def write(self, path: Path) -> None:
        """Write the object to a file, whole or not at all."""
        write_text(path, self.to_json() + "\n")

    def print(self, console: Console | None = None) -> None:
        """Print the measurements as a table; columns that would be empty are left out."""
        rows = [_cells(m) for m in self.measurements]
        table = Table(title=f"{self.name} on {self.device}, {self.seconds:.1f} s", title_justify="left")
        shown = [name for name in _COLUMNS if any(row[name] for row in rows)]
        for name in shown:
            right = name in ("value", "reference")
            table.add_column(name, justify="right" if right else "left", no_wrap=name != "source")
        for row in rows:
            table.add_row(*(row[name] for name in shown))
        (console or Console(width=None if sys.stdout.isatty() else 120)).print(table)

    def __repr__(self) -> str:
        judged = {True: ", all hold", False: ", not all hold", None: ""}[self.passed]
        return f"Report({self.name} on {self.device}, {len(self.measurements)} measurements{judged})"

    def _repr_html_(self) -> str:
        return measured_table(f"{self.name} on {self.device}, {self.seconds:.1f} s", self.measurements)


def measured_table(title: str, measurements: Sequence[Measurement]) -> str:
    """Measurements as a table in HTML, each beside what it should be."""
    rows = [(m.name, f"{m.value:.6g} {m.unit}".strip(), m.wanted, VERDICTS[m.passed]) for m in measurements]
    return html_table(title, rows, ("measurement", "value", "reference", "holds"))


_COLUMNS = ("measurement", "value", "unit", "reference", "holds", "source")


def _cells(m: Measurement) -> dict[str, str]:
    holds = {True: "[green]yes", False: "[red]no", None: ""}[m.passed]
    cells = (m.name, f"{m.value:.6g}", m.unit, m.wanted, holds, m.source)
    return dict(zip(_COLUMNS, cells, strict=True))


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in row.items()}
