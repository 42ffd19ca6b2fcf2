"""The atlas: every published and measured number beside ours, from results of studies, as one page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from annelid.commands.support.study_results import Result
from annelid.core.measurement import Measurement
from annelid.core.provenance import plain_fields
from annelid.studies.registry import study_class, study_names

VERDICTS = {True: "yes", False: "no", None: ""}
"""What a cell says about a number that holds, that does not, and that has nothing to hold against."""


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, sentences (`code` between backticks) and a table."""

    title: str
    sentences: Sequence[str] = field(default_factory=tuple)
    table: Table | None = None


def chosen(results: Iterable[Result]) -> dict[str, Result]:
    """The result that speaks for each study: the full form before the quick one, then the newest."""
    found: dict[str, Result] = {}
    for result in results:
        name = result.report.name
        if name not in found or _weight(result) > _weight(found[name]):
            found[name] = result
    return found


def atlas(results: Iterable[Result]) -> list[Section]:
    """All sections: an overview, a section for each study, and the studies that were not run."""
    found = chosen(results)
    studies = [_study(name, found[name]) for name in study_names() if name in found]
    return [_overview(found), *studies]


def command_of(result: Result) -> str:
    """The command that repeats a result."""
    name, options = result.report.name, result.options
    defaults = plain_fields(study_class(name)())
    changed = {key: value for key, value in options.items() if key in defaults and value != defaults[key]}
    device = "cuda" if result.report.device.startswith("cuda") else "cpu"
    return " ".join(["annelid study", name, *(_flag(*item) for item in changed.items()), "--device", device])


def _weight(result: Result) -> tuple[bool, str]:
    return (not result.quick, result.date)


def _flag(name: str, value: Any) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join([f"--{flag}", *map(str, values)])


def _overview(found: dict[str, Result]) -> Section:
    missing = [name for name in study_names() if name not in found]
    verdicts = [found[name].report.passed for name in found]
    sentences = [
        "Numbers of papers and of measurements beside ours, from the files that `annelid study` writes.",
        f"{len(found)} of {len(study_names())} studies have results here. In {verdicts.count(True)} of them every "
        f"number holds that is judged, in {verdicts.count(False)} some do not, and {verdicts.count(None)} judge none.",
        "The quick form of a study is coarser than what was published, and judges fewer numbers than the full form.",
    ]
    if missing:
        sentences.append(f"Not run: {', '.join(f'`{name}`' for name in missing)}.")
    head = ("study", "form", "holds", "numbers that hold", "device", "date")
    rows = [_overview_row(name, found.get(name)) for name in study_names()]
    return Section("Overview", sentences, Table(head, rows))


def _overview_row(name: str, result: Result | None) -> tuple[str, ...]:
    if result is None:
        return (name, "not run", "", "", "", "")
    judged = [m.passed for m in result.report.measurements if m.passed is not None]
    count = f"{sum(judged)} of {len(judged)}" if judged else ""
    return (name, _form(result), VERDICTS[result.report.passed], count, result.report.device, result.date[:10])


def _form(result: Result) -> str:
    return "quick" if result.quick else "full"


def _study(name: str, result: Result) -> Section:
    compared = [m for m in result.report.measurements if m.reference is not None or m.source]
    others = len(result.report.measurements) - len(compared)
    doc = (study_class(name).__doc__ or "").strip().splitlines()[0]
    sentences = [doc, _told(result)]
    if others:
        sentences.append(f"{others} more numbers without a reference are in the file.")
    head = ("number", "found", "must be", "holds", "source")
    return Section(name, sentences, Table(head, [_row(m) for m in compared]) if compared else None)


def _told(result: Result) -> str:
    """Where the numbers and curves come from."""
    versions = ", ".join(f"{name} {value}" for name, value in result.versions.items())
    curves = ", ".join(f"`{name}`" for name in result.plots)
    facts = [
        f"{_form(result).capitalize()} form, {result.report.device}, {result.report.seconds:.0f} s",
        result.date.replace("T", " ").removesuffix("+00:00") + " UTC" if result.date else "date unknown",
        versions,
        f"file `{result.path.as_posix()}`",
        f"again: `{command_of(result)}`",
        f"which draws {curves}" if curves else "",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _row(m: Measurement) -> tuple[str, ...]:
    return (m.name, f"{m.value:.5g} {m.unit}".strip(), m.wanted, VERDICTS[m.passed], m.source)
