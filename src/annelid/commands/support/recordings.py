"""Recordings on the command line: a file, or the folder of a run that was recorded."""

from __future__ import annotations

from pathlib import Path

from annelid.core.errors import FileFormatError

RECORDING = "recording.rec"
"""Name of the recording in the folder of a run."""


def recording_of(given: str) -> Path:
    """The recording that is meant: the file itself, or the one in a folder; a missing file is told by who opens it."""
    path = Path(given)
    if not path.is_dir():
        return path
    if not (path / RECORDING).is_file():
        raise FileFormatError(f"there is no {RECORDING} in the folder {path}: `annelid run NAME --record` makes one.")
    return path / RECORDING
