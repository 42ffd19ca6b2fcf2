"""What a file of Annelid is and what can be done with it, for messages to those who hand it to the wrong command."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from annelid.core.archives import Kind, archive_header
from annelid.core.files import open_regular
from annelid.core.recording.records import HEADER, MAGIC, records

CHECKPOINT = Kind("annelid-checkpoint", 2, "a checkpoint")

_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_MESHES = (".stl", ".obj", ".ply")
_STEPS = 1 << 63  # more cannot be counted
_WORD = re.compile(r"[\w.:+-]{1,60}")


def annelid_version() -> str:
    """The version of Annelid that is installed."""
    try:
        return version("annelid")
    except PackageNotFoundError:
        return "unknown"


def what_it_is(path: str | os.PathLike[str]) -> str | None:
    """What a file is and the remedy, to follow "it is"; None where that cannot be told.

    Files are not believed: of what they say of themselves only plain words and numbers are repeated.
    """
    path = Path(path)
    if not path.is_file():
        return None
    with open_regular(path) as file:
        begin = file.read(len(MAGIC))
    if begin == MAGIC:
        return _recording(path)
    if begin.startswith(_HDF5):
        return "an HDF5 file, as checkpoints and recordings of version 0.1 were: make it again"
    if path.suffix.lower() in _MESHES:
        return f"a mesh: `annelid view workshop --shape file --file {path}` makes a robot of it"
    header = archive_header(path) if begin.startswith(_ZIP) else None
    known = None if header is None else _ARCHIVES.get(str(header.get("format")))
    return None if known is None else known(path, header or {})


def _recording(path: Path) -> str:
    header: Mapping[str, Any] = {}
    try:
        with open_regular(path) as file:
            first = next(records(file, path.stat().st_size), None)
        if first is not None and first.kind == HEADER:
            header = json.loads(first.meta)
    except (ValueError, OSError, RecursionError):
        pass  # damaged, which is told by whoever reads it as what it is
    scene = _word(header, "scene")
    what = f"a recording of the scene {scene}" if scene else "a recording"
    return f"{what}: `annelid view {path}` plays it, and `annelid export {path} FILE.mp4` makes a video of it"


def _checkpoint(path: Path, header: Mapping[str, Any]) -> str:
    physics, scene = str(header.get("model", "")).partition("-")[0], _word(header, "scene")
    step, dt, saved_by = header.get("step"), header.get("dt"), _word(header, "annelid")
    what = ["a checkpoint"]
    if _WORD.fullmatch(physics):
        what.append(f"of {physics}")
    if scene:
        what.append(f"in the scene {scene}")
    if isinstance(step, int) and isinstance(dt, float) and 0 <= step < _STEPS and math.isfinite(step * dt):
        what.append(f"at {step * dt:.6g} s, step {step},")
    if saved_by:
        what.append(f"saved by Annelid {saved_by},")
    load = f"simulation.load({str(path)!r}) goes on from it in Python"
    run = _word(header, "file") or scene
    see = f"`annelid run {run} --record` makes a recording" if run else "simulation.record(FILE) records what follows"
    return f"{' '.join(what).rstrip(',')}, which is a state without pictures: {load}, and {see}"


def _search(path: Path, header: Mapping[str, Any]) -> str:
    return f"a checkpoint of a search: `annelid evolve NAME --out {path.parent} --resume` goes on with it"


def _replay(path: Path, header: Mapping[str, Any]) -> str:
    return "what an agent remembers: `annelid train NAME --resume` goes on with the training that it belongs to"


def _tetrahedra(path: Path, header: Mapping[str, Any]) -> str:
    return f"a mesh of tetrahedra: TetMesh.load({str(path)!r}) reads it in Python"


_ARCHIVES: dict[str, Callable[[Path, Mapping[str, Any]], str]] = {
    CHECKPOINT.format: _checkpoint,
    "annelid-evolution": _search,
    "annelid-replay": _replay,
    "annelid-tetrahedra": _tetrahedra,
}


def _word(header: Any, name: str) -> str:
    value = header.get(name) if isinstance(header, Mapping) else None
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
