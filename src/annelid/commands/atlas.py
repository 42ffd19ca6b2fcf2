"""`annelid atlas`: every published and measured number beside ours on one page, from results of studies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from annelid.commands.support.atlas import atlas, chosen, form_of
from annelid.commands.support.atlas_pages import as_html, as_markdown
from annelid.commands.support.options import parse
from annelid.commands.support.study_results import Result, find_results
from annelid.core.errors import InvalidValue
from annelid.core.files import write_text
from annelid.studies.registry import study_names

TITLE = "Atlas"
_PAGES = {".html": as_html, ".md": as_markdown}


@dataclass(frozen=True)
class Options:
    """One page of all numbers that studies hold against papers and measurements."""

    places: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = (Path("out"),)
    """Folders or files that annelid study has written; out/ by default."""
    out: Path = Path("out/atlas.html")
    """The page: .html or .md."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def command(arguments: list[str]) -> int:
    """Write the page, and say what holds."""
    options = parse(Options, arguments, "annelid atlas")
    if options.out.suffix not in _PAGES:
        raise InvalidValue(f"the atlas is written as .html or .md, not as {options.out.name!r}.")
    found = find_results(options.places)
    if not found:
        places = ", ".join(map(str, options.places))
        raise InvalidValue(f"no study has left results in {places}: annelid study NAME writes them to out/NAME.")
    write_page(found, options.out)
    if options.json:
        print(json.dumps(summary(found, options.out)))
        return 0
    for name in study_names():
        print(f"{name:22s} {_verdict(chosen(found).get(name))}")
    print(options.out)
    return 0


def write_page(found: list[Result], path: Path) -> None:
    """Write the atlas of some results to a file, in the format that its name says."""
    text = _PAGES[path.suffix](TITLE, atlas(found))
    write_text(path, text)


def summary(found: list[Result], path: Path) -> dict[str, object]:
    """What holds, by study, and the files that say so."""
    speaking = chosen(found)
    studies = {
        name: {
            "passed": result.report.passed,
            "form": form_of(result),
            "date": result.date,
            "device": result.report.device,
            "version": str(result.versions.get("annelid", "")),
            "file": result.path.as_posix(),
        }
        for name, result in speaking.items()
    }
    return {"page": path.as_posix(), "studies": studies, "not-run": [n for n in study_names() if n not in speaking]}


def _verdict(result: Result | None) -> str:
    if result is None:
        return "not run"
    verdict = {True: "holds", False: "does not hold", None: "nothing to hold against"}[result.report.passed]
    version = result.versions.get("annelid", "version unknown")
    return f"{verdict} ({form_of(result)} form, {result.date[:10]}, {result.report.device}, {version})"
