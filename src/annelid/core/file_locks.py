"""Locks of the operating system on open files: they end with whoever holds them, however that ends."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of a file system that has none


def open_lock(path: Path) -> int:
    """Open a file that is there to be locked, made where it is missing; a link of that name is refused."""
    return os.open(path, os.O_RDWR | os.O_CREAT | (0 if sys.platform == "win32" else os.O_NOFOLLOW), 0o666)


def is_there(file: int, path: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    _BEYOND = (1 << 31) - 2  # a locked byte cannot be read, so the lock lies as far behind as this function can reach

    def try_lock(file: int) -> bool:
        """Lock an open file; False where somebody else has."""
        os.lseek(file, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

    def unlock(file: int) -> None:
        """Let go of a lock; closing the file does so too."""

else:
    import fcntl

    def try_lock(file: int) -> bool:
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

    def unlock(file: int) -> None:
        """Let go of a lock, also of one that a forked child still holds open."""
        fcntl.flock(file, fcntl.LOCK_UN)
