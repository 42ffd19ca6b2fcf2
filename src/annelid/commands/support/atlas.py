"""The atlas: every published and measured number beside ours, from results of studies, as one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from annelid.commands.support.study_results import Result
from annelid.core.measurement import VERDICTS, Measurement
from annelid.core.provenance import plain_fields
from annelid.studies.registry import study_class, study_names
from annelid.studies.support.resumable import Resumable

FORMS = ("quick", "stated", "full")
"""Forms of a study, the last one speaks before the others: as its options say by default, with others, or `--quick`."""
_PAUSES = {each.name for each in fields(Resumable)}  # options that interrupt a study and go on, to the same result


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
    """The result that speaks for each study: the full form, else a stated one, else the quick one; then the newest."""
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
    changed = {name: value for name, value in _changed(result).items() if name not in _PAUSES}
    device = "cuda" if result.report.device.startswith("cuda") else "cpu"
    flags = [_flag(name, value) for name, value in changed.items()]
    return " ".join(["annelid study", result.report.name, *flags, "--device", device])


def form_of(result: Result) -> str:
    """One of FORMS."""
    if result.quick:
        return "quick"
    return "stated" if set(_changed(result)) - _PAUSES - _files(result.report.name) else "full"


def _changed(result: Result) -> Mapping[str, Any]:
    """Options that are not what they are by default."""
    defaults = plain_fields(study_class(result.report.name)())
    return {name: value for name, value in result.options.items() if name in defaults and value != defaults[name]}


def _files(study: str) -> set[str]:
    """Options that name files: what to compare with, and where to keep what is done."""
    kind: Any = study_class(study)
    return {each.name for each in fields(kind) if "Path" in str(each.type)} if is_dataclass(kind) else set()


def _weight(result: Result) -> tuple[int, str]:
    return (FORMS.index(form_of(result)), result.date)


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
        "The full form of a study has the sizes of its defaults, which are those that were published where something "
        "was. A stated form has other sizes, which the command of its section names: it ends in minutes where the full "
        "form takes hours. The quick form is the coarsest, and judges fewer numbers.",
    ]
    if missing:
        sentences.append(f"Not run: {', '.join(f'`{name}`' for name in missing)}.")
    head = ("study", "form", "holds", "numbers that hold", "device", "date", "version")
    rows = [_overview_row(name, found.get(name)) for name in study_names()]
    return Section("Overview", sentences, Table(head, rows))


def _overview_row(name: str, result: Result | None) -> tuple[str, ...]:
    if result is None:
        return (name, "not run", "", "", "", "", "")
    judged = [m.passed for m in result.report.measurements if m.passed is not None]
    count = f"{sum(judged)} of {len(judged)}" if judged else ""
    version = str(result.versions.get("annelid", ""))
    facts = (count, result.report.device, result.date[:10], version)
    return (name, form_of(result), VERDICTS[result.report.passed], *facts)


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
    lasted = f"{result.report.seconds:.0f} s{' after it was taken up again' if result.options.get('resume') else ''}"
    facts = [
        f"{form_of(result).capitalize()} form, {result.report.device}, {lasted}",
        f"how it ran: {result.note}" if result.note else "",
        result.date.replace("T", " ").removesuffix("+00:00") + " UTC" if result.date else "date unknown",
        versions,
        f"file `{result.path.as_posix()}`",
        f"again: `{command_of(result)}`",
        f"which draws {curves}" if curves else "",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _row(m: Measurement) -> tuple[str, ...]:
    return (m.name, f"{m.value:.5g} {m.unit}".strip(), m.wanted, VERDICTS[m.passed], m.source)
