"""Routines of SciPy's BLAS and LAPACK by pointer, which run without the interpreter lock."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, runtime_checkable


@functools.cache
def address(library: str, name: str) -> int:
    """Where a Fortran routine begins in memory.

    Args:
        library: "blas" or "lapack".
        name: Its name, such as "dpotrf".
    """
    capsule = import_module(f"scipy.linalg.cython_{library}").__pyx_capi__[name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))


@functools.cache
def routine(library: str, name: str) -> Any:
    """A Fortran routine to call; ctypes gives the interpreter lock back while it runs."""
    return ctypes.CFUNCTYPE(None)(address(library, name))


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS on one thread: small blocks would wait for each other, and sums of several threads differ in bits."""
    limit = _limit(os.getpid())
    limit.take()
    try:
        yield
    finally:
        limit.give_back()


@runtime_checkable
class _Owned(Protocol):
    """A library of which threadpoolctl lets one thread alone set the number of threads, from its version 3.8 on."""

    def clear_controlling_thread(self, force: bool = False) -> None: ...


class _Limit:
    """One thread for BLAS, for as long as anybody asks for it.

    The number of threads is that of the whole process: whoever sets it back while another thread still computes, as a
    factor is made in the background, makes bits depend on time.
    """

    def __init__(self, libraries: Sequence[Any]) -> None:
        self._libraries, self._lock = libraries, threading.Lock()
        self._holders = 0
        self._before: list[tuple[Any, int]] = []

    def take(self) -> None:
        """Ask for it."""
        with self._lock:
            if not self._holders:
                self._before = [(each, count) for each in self._libraries if (count := each.num_threads) != 1]
                for library, _ in self._before:
                    _set_threads(library, 1)
            self._holders += 1

    def give_back(self) -> None:
        """Need it no longer."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                for library, count in self._before:
                    _set_threads(library, count)


def _set_threads(library: Any, count: int) -> None:
    """Set the number of threads of a library, from any thread, and leave others free to do so."""
    owned = isinstance(library, _Owned)
    if owned:
        library.clear_controlling_thread(force=True)
    library.set_num_threads(count)
    if owned:
        library.clear_controlling_thread()


@functools.cache
def _limit(process: int) -> _Limit:
    """The limit of a process, one that was forked has its own; all libraries of BLAS come with NumPy and SciPy."""
    try:
        found = import_module("threadpoolctl").ThreadpoolController()
    except ImportError:  # slower on a busy machine, and bits that differ from one with other cores, no more than that
        return _Limit(())
    return _Limit(found.select(user_api="blas").lib_controllers)
