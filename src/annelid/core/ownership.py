"""One writer for a folder of results: whoever writes there owns it, and a second process is refused.

The lock is one of the operating system on a file in the folder, which also says who the owner is. It ends with the
process, however that ends: a file that was left behind by a killed process locks nothing and is taken over.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from annelid.core.errors import FolderInUse, InvalidValue

LOCK = ".annelid-lock"
_TRIES = 100
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of a file system that has none

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
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            if not more:
                raise
            continue  # an owner that just ended took the empty folder away
        try:
            if not _try_lock(file):
                raise FolderInUse(
                    f"{folder} is being written by {_owner(path)}: wait until it has ended, or choose another folder "
                    "(--out)."
                )
            if _is_there(file, path):
                os.ftruncate(file, 0)
                os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # an owner that just ended took this file away; the next one is for everybody
    raise FolderInUse(f"{folder} changes hands all the time: choose another folder (--out).")


def _is_there(file: int, path: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _owner(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[:200] or "another process"
    except OSError:
        return "another process"


if sys.platform == "win32":
    import msvcrt

    _BEYOND = 1 << 30  # a locked byte cannot be read, so the lock lies behind the text

    def _try_lock(file: int) -> bool:
        """Lock an open file; False where somebody else has."""
        os.lseek(file, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

    def _release(file: int, path: Path) -> None:
        """Give an owned file back; one that somebody has opened again cannot be removed, and need not be."""
        os.close(file)
        with suppress(OSError):
            path.unlink()

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        """Lock an open file; False where somebody else has."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            warnings.warn("this file system has no locks: start no second command in the same folder.", stacklevel=4)
        return True

    def _release(file: int, path: Path) -> None:
        """Give an owned file back: removed first, so that nobody locks what is about to go."""
        with suppress(OSError):
            path.unlink()
        fcntl.flock(file, fcntl.LOCK_UN)  # a forked child may still hold it open
        os.close(file)
