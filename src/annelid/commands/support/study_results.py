"""Results of studies that were written to files, read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import read_bytes
from annelid.core.measurement import Measurement, Report
from annelid.studies.registry import study_names

_TEXTS = ("name", "unit", "source", "bound")


@dataclass(frozen=True)
class Result:
    """What a study has found, and the file that says so."""

    path: Path
    report: Report

    @property
    def quick(self) -> bool:
        """Whether it is the form that takes seconds."""
        return bool(self.options.get("quick"))

    @property
    def date(self) -> str:
        """When it was computed (UTC), as the file says; empty where it does not."""
        return str(self.report.facts.get("date", ""))

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of the study."""
        return _table(self.report.facts.get("options"))

    @property
    def versions(self) -> Mapping[str, Any]:
        """Versions of what computed it, by name."""
        return _table(self.report.facts.get("versions"))

    @property
    def note(self) -> str:
        """How it ran where that was not by one command, in words on one line; empty where nobody has said so."""
        return " ".join(str(self.report.facts.get("note", "")).split())

    @property
    def plots(self) -> list[str]:
        """Names of the pictures that the study has drawn."""
        found = self.report.facts.get("plots", [])
        return [str(name) for name in found] if isinstance(found, list) else []


def find_results(places: Iterable[Path]) -> list[Result]:
    """Results of studies in files and folders: `*.json` of a folder, and `results.json` at any depth below it."""
    known, found = set(study_names()), []
    for place in places:
        if not place.exists():
            raise InvalidValue(f"{place} is not there: name folders or files that annelid study has written.")
        if place.is_file():
            found.append(read_result(place))
            continue
        paths = sorted({*place.glob("*.json"), *place.rglob("results.json")})
        found += [result for path in paths if (result := _study_result(path, known)) is not None]
    return found


def read_result(path: Path) -> Result:
    """A result from a file that `annelid study` has written."""
    try:
        values = json.loads(read_bytes(path))
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path} is not JSON.") from None
    if not isinstance(values, dict) or not isinstance(values.get("measurements"), list):
        raise FileFormatError(f"{path} is not a result of a study: it has no list of measurements.")
    try:
        rows = [_measurement(row) for row in values["measurements"]]
        report = Report(str(values["name"]), str(values["device"]), float(values["seconds"]), rows, _facts(values))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FileFormatError(f"{path} is not a result of a study: a field is missing or of the wrong type.") from None
    return Result(path, report)


def _study_result(path: Path, known: set[str]) -> Result | None:
    """The result in a file; None where it is something else, such as that of a scene."""
    try:
        result = read_result(path)
    except FileFormatError:
        return None
    return result if result.report.name in known else None


def _measurement(row: Any) -> Measurement:
    texts = {name: row[name] for name in _TEXTS if name in row}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError
    value = _number(row["value"])
    return Measurement(
        value=math.nan if value is None else value,
        reference=_number(row.get("reference")),
        tolerance=_number(row.get("tolerance")),
        **texts,
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _facts(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return _table(values.get("facts"))


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
