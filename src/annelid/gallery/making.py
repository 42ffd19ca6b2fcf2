"""Making entries of the gallery, each in a folder of its own; what is there is not made again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from annelid import __version__
from annelid.core.files import read_text, write_json, write_text
from annelid.core.ownership import owned
from annelid.gallery.entries import Entry, entries
from annelid.gallery.filming import film
from annelid.gallery.pictures import write_film
from annelid.gallery.study_pages import write_study

SOURCE, DONE, FAILED = "source.html", "entry.json", "failed.txt"
FILM_SECONDS = 15.0
"""CPU time that a film may take [s], painting not counted."""


@dataclass(frozen=True)
class Made:
    """What the gallery has of an entry.

    Attributes:
        entry: The entry.
        folder: Folder of its files relative to the gallery; None where it is not made.
        failure: Why it could not be made, "" where nobody tried or it was.
    """

    entry: Entry
    folder: str | None
    failure: str = ""


def make(
    entry: Entry, gallery: Path, *, budget: float = FILM_SECONDS, device: str = "auto", threads: int | None = None
) -> Path:
    """Make an entry; the folder with its files.

    Args:
        entry: What to show.
        gallery: Folder of the gallery.
        budget: CPU time of a film [s].
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    folder, begin = gallery / entry.key, time.process_time()
    with owned(folder):
        facts: dict[str, Any] = {"key": entry.key, "command": entry.command, "version": __version__}
        if entry.kind == "study":
            write_study(entry.name, folder, device=device, threads=threads)
        else:
            filmed = film(entry, budget, device=device, threads=threads)
            write_film(filmed, folder, entry.key.partition("/")[2], device=device, threads=threads)
            facts |= {"frames": len(filmed.frames), "seconds": filmed.frames[-1].time - filmed.frames[0].time}
        _write_source(entry, folder / SOURCE)
        (folder / FAILED).unlink(missing_ok=True)
        # Written last: what has it is complete.
        write_json(folder / DONE, {**facts, "cpu": round(time.process_time() - begin, 2)}, indent=None)
    return folder


def fail(entry: Entry, gallery: Path, why: str) -> None:
    """Remember why an entry could not be made."""
    folder = gallery / entry.key
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / FAILED, why)


def is_made(entry: Entry, gallery: Path) -> bool:
    """Whether all files of an entry are there."""
    return (gallery / entry.key / DONE).is_file()


def to_make(gallery: Path) -> list[Entry]:
    """Entries that have pictures of their own and are not made yet."""
    return [entry for entry in entries().values() if not entry.shown_by and not is_made(entry, gallery)]


def shown(gallery: Path) -> list[Made]:
    """All entries with what the gallery has of them."""
    return [_made(entry, gallery) for entry in entries().values()]


def _made(entry: Entry, gallery: Path) -> Made:
    key = entry.shown_by or entry.key
    if (gallery / key / DONE).is_file():
        return Made(entry, key)
    failed = gallery / key / FAILED
    return Made(entry, None, read_text(failed) if failed.is_file() else "")


def _write_source(entry: Entry, path: Path) -> None:
    formatter: Any = HtmlFormatter(full=True, title=f"{entry.module}", linenos="table")
    write_text(path, highlight(read_text(entry.source), PythonLexer(), formatter))
