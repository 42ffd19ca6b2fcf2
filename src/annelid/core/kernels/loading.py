"""Kernels that several threads need at the same time: made, compiled and loaded by one of them.

Structures of kernels are told apart by identity: made twice, they do not fit together. How they are loaded is in
`core.warp_build.own_modules`.

Who makes a kernel also holds the lock under which Warp reads those of a module, in all threads. It comes second: no
`wp.static` makes kernels, so that nobody who reads some waits for one to be made.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from annelid.core.warp_build.own_modules import LOADING, take_own_modules

P = ParamSpec("P")
T = TypeVar("T")

try:
    from warp._src.codegen import _codegen_lock as _READING  # Warp has no public name for it
except ImportError:  # another Warp: with one lock more
    _READING = threading.RLock()

if sys.platform != "win32":  # a process that is forked has the locks of threads that it does not have
    for _lock in (_READING, LOADING):  # taken in the reverse order
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Let a function that makes kernels, or what they are made of, run once for the same arguments, in one thread."""
    known: dict[Any, T] = {}

    @functools.wraps(make)
    def made(*given: P.args, **named: P.kwargs) -> T:
        key = (given, *named.items())
        if key not in known:
            with LOADING, _READING:
                if key not in known:
                    known[key] = make(*given, **named)
                    take_own_modules()
        return known[key]

    return made
