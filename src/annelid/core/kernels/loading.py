"""Kernels that several threads need at the same time: made, compiled and loaded by one of them.

Warp lets threads load kernels side by side, but its compiler takes flags apart with `strtok`, which has one place for
all threads, and of two threads that load one module the second replaces, and so unloads, the code that the first one
is about to run. Structures of kernels are told apart by identity: made twice, they do not fit together.

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

P = ParamSpec("P")
T = TypeVar("T")

_LOADING = threading.RLock()
try:
    from warp._src.codegen import _codegen_lock as _READING  # Warp has no public name for it
except ImportError:  # another Warp: with one lock more
    _READING = threading.RLock()

if sys.platform != "win32":  # a process that is forked has the locks of threads that it does not have
    for _lock in (_READING, _LOADING):  # taken in the reverse order
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Let a function that makes kernels, or what they are made of, run once for the same arguments, in one thread."""
    known: dict[Any, T] = {}

    @functools.wraps(make)
    def made(*given: P.args, **named: P.kwargs) -> T:
        key = (given, *named.items())
        if key not in known:
            with _LOADING, _READING:
                if key not in known:
                    known[key] = make(*given, **named)
        return known[key]

    return made


def load_in_turn() -> None:
    """Let one thread at a time compile and load kernels; nothing where Warp loads them otherwise."""
    try:
        from warp._src.context import Module  # Warp has no public way to come between

        given = Module.load
    except (ImportError, AttributeError):  # another Warp: as safe as it is
        return
    if "__wrapped__" not in vars(given):
        type.__setattr__(Module, "load", _taking_turns(given))  # a plain assignment to a method is refused by mypy


def _taking_turns(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def load(module: Any, device: Any, block_dim: int | None = None, *rest: Any, **options: Any) -> Any:
        import warp as wp  # here: `core.device`, which starts it quietly, comes first

        device = wp.get_device(device)
        size = module.options["block_dim"] if block_dim is None else block_dim
        found, known = module.execs.get((device.context, size)), module.hashers.get(size)
        if found is not None and known is not None and found.module_hash == known.get_hash():
            return found  # others may be loading meanwhile
        with _LOADING:
            found = given(module, device, size, *rest, **options)
            if device.is_cpu:  # where the code is linked when it is asked for
                for kernel in list(found.kernel_names):
                    found.get_kernel_hooks(kernel)
        return found

    return load
