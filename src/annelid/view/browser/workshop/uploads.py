"""Files that browsers upload: kept in a folder of their own until the page closes."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path


class Uploads:
    """A folder for uploaded files, made with the first of them."""

    def __init__(self) -> None:
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def keep(self, name: str, content: bytes) -> Path:
        """Keep a file; returns where it is."""
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="annelid-")
        path = Path(self.folder.name) / file_name(name)
        path.write_bytes(content)
        return path

    def tidy(self, sentence: str) -> str:
        """The sentence without the folder that uploads go to."""
        return sentence.replace(f"{self.folder.name}/", "") if self.folder is not None else sentence

    def close(self) -> None:
        """Delete all of them."""
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None


def file_name(given: str) -> str:
    """A plain name for an uploaded file: what comes from a browser may be `..` or have folders in it."""
    suffix = re.sub(r"[^a-z0-9.]", "", Path(given).suffix.lower())[:10]
    stem = re.sub(r"[^\w-]+", "_", Path(given.replace("\\", "/")).stem)[:50].strip("_")
    return (stem or "file") + suffix


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text)
