"""`annelid gallery`: pictures, moving previews and recordings of all scenes, environments, studies and robots."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from annelid.commands.support.options import Machine, combined, parse
from annelid.commands.support.terminal import INTERRUPTED
from annelid.core.errors import InvalidValue
from annelid.gallery.cards import write_index
from annelid.gallery.entries import Entry, entries, entry_of
from annelid.gallery.making import FILM_SECONDS, fail, make, shown, to_make


@dataclass(frozen=True)
class Gallery:
    """Where the gallery is, and how long making it may take."""

    out: Path = Path("out/gallery")
    """Folder of the gallery; what is there is not made again."""
    jobs: int = 2
    """Entries that are made at a time, each by a process of its own with an equal share of the cores."""
    film_seconds: float = FILM_SECONDS
    """CPU time that simulating a film may take [s]."""
    most_seconds: float = 1200.0
    """Wall-clock time after which an entry is given up [s]."""


def command(arguments: list[str]) -> int:
    """Make the entries that are named, here, or all that are missing, each in a process of its own."""
    if arguments and arguments[0] == "--list":
        print("\n".join(entries()))
        return 0
    keys = list(takewhile(lambda text: not text.startswith("-"), arguments))
    _refuse_names_after_options(arguments[len(keys) :])
    kind = combined("Options", Gallery, Machine, doc=__doc__ or "")
    options = parse(kind, arguments[len(keys) :], "annelid gallery [KIND/NAME ...]")
    gallery, machine = options.gallery, options.machine
    if gallery.jobs < 1:
        raise InvalidValue(f"--jobs must be 1 or more, not {gallery.jobs}.")
    for option, seconds in (("--film-seconds", gallery.film_seconds), ("--most-seconds", gallery.most_seconds)):
        if not 0.0 < seconds < float("inf"):
            raise InvalidValue(f"{option} must be a positive time, not {seconds}.")
    # A robot that is shown at work has no film of its own. All names are looked up before the first film is made.
    for entry in [entry_of(entry_of(key).shown_by or key) for key in keys]:
        make(entry, gallery.out, budget=gallery.film_seconds, device=machine.device, threads=machine.threads)
    if not keys:
        _make_all(gallery, machine)
    page = write_index(gallery.out)
    made = shown(gallery.out)
    missing = [one.entry.key for one in made if one.folder is None]
    if machine.json:
        print(json.dumps({"page": str(page), "entries": len(made), "missing": missing}))
    else:
        print(f"{page}: {len(made) - len(missing)} of {len(made)} entries.")
        if missing and not keys:
            print(f"Missing: {', '.join(missing)}. The page says why.")
    return 0


def _refuse_names_after_options(arguments: Sequence[str]) -> None:
    late = next((text for text in arguments if text in entries()), None)
    if late is not None:
        raise InvalidValue(
            f"{late} stands behind an option: name entries first, as in annelid gallery {late} --jobs 1."
        )


def _make_all(gallery: Gallery, machine: Machine) -> None:
    missing = to_make(gallery.out)
    threads = machine.threads or 1
    with ThreadPoolExecutor(gallery.jobs) as pool:
        for number, told in enumerate(pool.map(lambda entry: _make_apart(entry, gallery, machine, threads), missing)):
            if not machine.json:
                print(f"{number + 1}/{len(missing)} {told}", flush=True)


def _make_apart(entry: Entry, gallery: Gallery, machine: Machine, threads: int) -> str:
    """Make an entry in a process of its own, so that none can take the others along; what became of it."""
    given = [
        sys.executable, "-m", "annelid", "gallery", entry.key, "--out", str(gallery.out), "--threads", str(threads),
        "--film-seconds", str(gallery.film_seconds), "--device", machine.device, "--json",
    ]  # fmt: skip
    try:
        done = subprocess.run(given, capture_output=True, text=True, timeout=gallery.most_seconds)
    except subprocess.TimeoutExpired:
        late = f"it took longer than {gallery.most_seconds:g} s; --most-seconds gives it more"
        fail(entry, gallery.out, late)
        return f"{entry.key}: {late}."
    if done.returncode == 0:
        return entry.key
    if done.returncode == INTERRUPTED:  # by Ctrl-C, which all processes hear: that is no fault of the entry
        return f"{entry.key}: stopped."
    why = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1].removeprefix("annelid: ")
    fail(entry, gallery.out, why)
    return f"{entry.key}: {why}"
