"""Kernels that several processes need at the same time, compiled by one of them.

Warp keeps compiled kernels in a folder that all processes share, but looks there only before it compiles: workers that
start together would all compile the same kernels. What it finds there it believes: a file that was cut off or changed
since, of which a digest beside it tells, is compiled again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.file_locks import open_lock, try_lock, unlock
from annelid.core.files import replaced

LOCKS = 64
"""Files that are locked; two modules seldom share one, and nothing is left behind for each module."""

PATIENCE = 120.0
"""Seconds after which a process no longer waits for another one and compiles for itself."""

_PAUSE = 0.02


def compile_once() -> None:
    """Let a process that needs a module wait while another one compiles it; nothing where Warp compiles otherwise."""
    try:
        from warp._src.context import Module  # Warp has no public way to come between

        given = Module._compile
    except (ImportError, AttributeError):  # another Warp: slower, not broken
        return
    if "__wrapped__" not in vars(given):
        type.__setattr__(Module, "_compile", _taking_turns(given))  # a plain assignment to a method is refused by mypy


def _taking_turns(given: Callable[..., bool]) -> Callable[..., bool]:
    @functools.wraps(given)
    def compile_in_turn(
        module: Any, device: Any = None, output_dir: Any = None, output_name: Any = None, *rest: Any, **options: Any
    ) -> bool:
        arguments = (module, device, output_dir, output_name, *rest)
        if not output_dir or not output_name:
            return given(*arguments, **options)
        place = Path(output_dir, output_name)
        if not _damaged(place):
            return given(*arguments, **options)
        with turn(place.parent.parent, f"{zlib.crc32(place.parent.name.encode()) % LOCKS:02}"):
            for path in _damaged(place):  # unless another one has compiled it by now
                with suppress(OSError):  # a folder that cannot be written stays as it is
                    path.unlink(missing_ok=True)
            compiled = given(*arguments, **options)
            write_digest(place)
        return compiled

    return compile_in_turn


def _damaged(code: Path) -> list[Path]:
    """Files of a module that must be written again: its code, and what Warp notes of it, as JSON."""
    return [path for path in (code, *code.parent.glob("*.meta")) if not (_is_json if path != code else is_whole)(path)]


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def write_digest(path: Path) -> None:
    """Write beside a file what it holds, where the folder can be written."""
    with suppress(OSError, InvalidValue):
        digest = _digest(path)
        with replaced(_digest_of(path)) as temporary:
            temporary.write_text(digest, encoding="ascii")


def is_whole(path: Path) -> bool:
    """Whether a file is there and holds what was written."""
    try:
        return _digest_of(path).read_bytes() == _digest(path).encode()
    except OSError:
        return False


def _digest_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def turn(cache: Path, name: str) -> Iterator[None]:
    """Wait until nobody else holds the lock of that name in a folder of kernels; without locks, go on at once."""
    try:
        file = _open(cache / "wp_annelid_locks" / name)
    except OSError:  # Warp says better what is wrong with the folder
        yield
        return
    try:
        locked = _wait(file)
        yield
        if locked:
            unlock(file)
    finally:
        os.close(file)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return open_lock(path)


def _wait(file: int) -> bool:
    """Whether the file was locked before the patience ended."""
    end = time.monotonic() + PATIENCE
    try:
        while not try_lock(file):
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
    except OSError:
        return False
    return True
