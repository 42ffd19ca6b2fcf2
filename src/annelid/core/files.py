"""Files are written whole or not at all, and read where they are regular ones that are not too large."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from annelid.core.errors import InvalidValue

MOST_BYTES = 1 << 28
"""Largest file that is read as a whole where its reader names no other size [B]."""


def require_folder(folder: Path) -> None:
    """Refuse a folder that could not be made or written, before a long run and not after it."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):  # root may write everywhere, but not in /proc
            pass
    except OSError:
        raise InvalidValue(
            f"results cannot be written to {folder}: {place} is not a folder that can be written."
        ) from None


def require_file(path: Path) -> None:
    """Refuse a file that could not be made or replaced, before a long run and not after it."""
    require_folder(path.parent)
    _require_replaceable(path)


def as_path(path: object) -> Path:
    """A path from what was given as one."""
    if not isinstance(path, (str, os.PathLike)) or not str(path) or "\0" in str(path):
        raise InvalidValue(f"a file must be named by a text or a path, not by {path!r:.60}.")
    return Path(path)


def open_regular(path: Path) -> BinaryIO:
    """A file to be read; a folder, a device and a pipe, which would wait for its writer, are refused at once."""
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 (closed by whoever reads it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file, but a device or a pipe", str(path))
    return file


def read_bytes(path: Path, *, most: float = MOST_BYTES) -> bytes:
    """What is in a regular file that has at most so many bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size} bytes, more than the {most} that it may have", str(path))
        return file.read(size)  # a buffer of its size, and not more where it grows


def read_text(path: Path, *, most: float = MOST_BYTES, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The text in a regular file that has at most so many bytes, with lines that end as Python's do."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, most=most)), encoding=encoding, errors=errors).read()


def _at_once(name: str, flags: int) -> int:
    return os.open(name, flags if sys.platform == "win32" else flags | os.O_NONBLOCK)


def make_folder_of(path: Path) -> None:
    """Make the folder of a file that is about to be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(
            f"{path} cannot be written: the folder {path.parent} cannot be made ({error.strerror}). Choose another one."
        ) from error


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file that takes the place of `path` if the block succeeds, and is removed if it does not.

    It lies in a new folder beside `path`, whose name nobody can guess and where nobody else may write: whoever else
    writes `path` at the same time, or has planted links, does not touch it.
    """
    make_folder_of(path)
    _require_replaceable(path)
    with new_folder_beside(path) as folder:
        temporary = folder / path.name
        try:
            yield temporary
            os.replace(temporary, path)
        except OSError as error:
            if error.filename == str(temporary):
                error.filename, error.filename2 = str(path), None
            raise


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 in place of what is there, whole or not at all."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, values: Any, *, indent: int | None = 1) -> None:
    """Write values as JSON, whole or not at all."""
    write_text(path, json.dumps(values, indent=indent) + "\n")


@contextmanager
def new_folder_beside(path: Path) -> Iterator[Path]:
    """A new folder beside `path`, for its owner alone, which is removed with what is in it."""
    folder = tempfile.mkdtemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _require_replaceable(path: Path) -> None:
    if path.exists() and not path.is_file():  # a folder, or a device such as /dev/null, which root could replace
        raise InvalidValue(f"{path} is not a file that can be replaced: choose another name.")
