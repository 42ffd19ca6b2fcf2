"""A limit to what meshio may allocate.

Its readers allocate and count as many things as a file claims to have: 426 bytes could take 8.9 GB. They name NumPy's
functions and `range` as globals of their modules, and are given others there, which refuse what no file of that size
can hold. Outside of `bounded` these do what they always do, so that others may use meshio too.
"""

from __future__ import annotations

import builtins
import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

_READERS = ("gmsh._gmsh22", "gmsh._gmsh40", "gmsh._gmsh41", "gmsh.common", "vtk._vtk_42", "vtk._vtk_51", "vtu._vtu")
_LEAST = 1 << 16
_EACH = 1
"""Numbers that a byte of a file may become: a node in text takes eight bytes at least and is four numbers."""

_limit: ContextVar[int | None] = ContextVar("limit", default=None)


@contextmanager
def bounded(file_bytes: int) -> Iterator[None]:
    """A block in which meshio makes no array of more numbers, and no loop of more turns, than a file can ask for."""
    _install()
    token = _limit.set(max(_LEAST, _EACH * file_bytes))
    try:
        yield
    finally:
        _limit.reset(token)


def _require(count: Any) -> None:
    most = _limit.get()
    if most is not None and not (isinstance(count, int | float | np.number) and -2 <= count <= most):
        raise ValueError(f"it claims to have {count} of something, which a file of this size cannot hold")


def _sized(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes an array of a shape, its first argument."""

    def made(shape: Any, *rest: Any, **options: Any) -> Any:
        _require(math.prod(int(n) for n in shape) if isinstance(shape, tuple | list) else shape)
        return make(shape, *rest, **options)

    return made


def _fromfile(file: Any, dtype: Any = float, count: Any = -1, **options: Any) -> Any:
    _require(count)
    return np.fromfile(file, dtype, int(count), **options)


def _arange(*ends: Any, **options: Any) -> Any:
    for end in ends:
        _require(abs(end))
    return np.arange(*ends, **options)


def _range(*ends: Any) -> range:
    for end in ends:
        _require(abs(int(end)))
    return builtins.range(*ends)


@cache
def _install() -> None:
    numpy = ModuleType("numpy")
    vars(numpy).update(vars(np))
    limited = {name: _sized(vars(np)[name]) for name in ("empty", "zeros", "ones", "full")}
    vars(numpy).update(limited, fromfile=_fromfile, arange=_arange)
    for name in _READERS:
        module = importlib.import_module(f"meshio.{name}")
        vars(module).update(np=numpy, range=_range)
