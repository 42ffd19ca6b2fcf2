"""One writer for a folder of results: whoever writes there owns it, and a second process is refused.

The lock is one of the operating system on a file in the folder, which also says who the owner is. It ends with the
process, however that ends: a file that was left behind by a killed process locks nothing and is taken over.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from annelid.core.errors import FolderInUse, InvalidValue
from annelid.core.file_locks import is_there, open_lock, try_lock, unlock
from annelid.core.files import read_text

LOCK = ".annelid-lock"
_TRIES = 100

_owned: ContextVar[frozenset[Path]] = ContextVar("owned", default=frozenset())
"""Folders that the code which is running now owns already: a command and the library below it own one together."""


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Own a folder, which is made where it is missing, while results are written to it.

    When the block ends, the lock is gone, and so are the folders that were made for it and stayed empty.
    """
    place = folder.resolve()
    if place in _owned.get():
        yield
        return
    made = [parent for parent in (place, *place.parents) if not parent.exists()]
    try:
        file = _locked(folder, place / LOCK)
    except OSError as error:
        raise InvalidValue(
            f"results cannot be written to {folder}, which is no folder or cannot be written: {error.strerror}."
        ) from None
    except FolderInUse:
        _remove_empty(made)
        raise
    token = _owned.set(_owned.get() | {place})
    try:
        yield
    finally:
        _owned.reset(token)
        _release(file, place / LOCK)
        _remove_empty(made)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # not empty: it holds results
            folder.rmdir()


def _locked(folder: Path, path: Path) -> int:
    """The open lock file, locked, with our name in it."""
    for more in reversed(range(_TRIES)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = open_lock(path)
        except FileNotFoundError:
            if not more:
                raise
            continue  # an owner that just ended took the empty folder away
        try:
            if not try_lock(file):
                raise FolderInUse(
                    f"{folder} is being written by {_owner(path)}: wait until it has ended, or choose another folder "
                    "(--out)."
                )
            if is_there(file, path):
                os.ftruncate(file, 0)
                os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # an owner that just ended took this file away; the next one is for everybody
    raise FolderInUse(f"{folder} changes hands all the time: choose another folder (--out).")


def _owner(path: Path) -> str:
    try:
        return read_text(path, errors="replace").strip()[:200] or "another process"
    except OSError:
        return "another process"


def _release(file: int, path: Path) -> None:
    """Give an owned file back; one that is open elsewhere cannot be removed on Windows, and need not be."""
    if sys.platform == "win32":
        os.close(file)
        with suppress(OSError):
            path.unlink()
        return
    with suppress(OSError):
        path.unlink()  # first, so that nobody locks what is about to go
    unlock(file)
    os.close(file)
