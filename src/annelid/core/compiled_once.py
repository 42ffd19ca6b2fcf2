"""Kernels that several processes need at the same time, compiled by one of them.

Warp keeps compiled kernels in a folder that all processes share, but looks there only before it compiles: workers that
start together would all compile the same kernels.
"""

from __future__ import annotations

import functools
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annelid.core.file_locks import open_lock, try_lock, unlock

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
        if not output_dir or not output_name or Path(output_dir, output_name).exists():
            return given(*arguments, **options)
        name = Path(output_dir).name
        with turn(Path(output_dir).parent, f"{zlib.crc32(name.encode()) % LOCKS:02}"):
            return given(*arguments, **options)  # looks once more whether it is there

    return compile_in_turn


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
