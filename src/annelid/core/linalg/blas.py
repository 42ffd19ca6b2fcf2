"""Routines of SciPy's BLAS and LAPACK by pointer, which run without the interpreter lock."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


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
    more = [(library, count) for library in _libraries() if (count := library.num_threads) != 1]
    for library, _ in more:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, count in more:
            library.set_num_threads(count)


@functools.cache
def _libraries() -> tuple[Any, ...]:
    """The libraries of BLAS that are loaded; all of them come with NumPy and SciPy."""
    try:
        found = import_module("threadpoolctl").ThreadpoolController()
    except ImportError:  # slower on a busy machine, no more than that
        return ()
    return tuple(found.select(user_api="blas").lib_controllers)
