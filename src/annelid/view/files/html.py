"""HTML recordings: one file with everything in it, which plays in any browser without a network or a server."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from annelid.core.files import write_text
from annelid.core.recording import Recording
from annelid.view.files.page_data import page_data

_SCRIPTS = ("decode.js", "vectors.js", "draw.js", "orbit.js", "controls.js")


def write_html(
    recording: Recording, path: Path, *, title: str | None = None, fps: float = 30.0, field: str | None = None
) -> None:
    """Write a page that plays a recording.

    Args:
        recording: The recording; it must have frames.
        path: File to write.
        title: Title of the page; None for the name of the scene.
        fps: Frames kept for each second of simulated time, at most; the page moves smoothly between them.
        field: Scalar to colour by at first; None for the first one recorded.
    """
    name = title or recording.header.scene or recording.path.stem
    data = page_data(recording, title=name, fps=fps, color_field=field)
    write_text(path, page(name, data))


def page(title: str, data: dict[str, Any]) -> str:
    """The text of the page."""
    source = files("annelid.view.files") / "page"
    # A name in the recording must not be able to end the script element.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "title": html.escape(title),
        "style": (source / "page.css").read_text(encoding="utf-8"),
        "script": "\n".join((source / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        "data": text,
    }
    out = (source / "page.html").read_text(encoding="utf-8")
    pieces = [out]
    for key, value in parts.items():  # split and joined, so that no value is searched for the marks of others
        mark = "{{" + key + "}}"
        at = next(i for i, piece in enumerate(pieces) if mark in piece)
        before, after = pieces[at].split(mark)
        pieces[at : at + 1] = [before, value, after]
    return "".join(pieces)
