"""Identity of settings, for checkpoints: equal settings have equal digests in every process.

Everything counts by value: arrays by their bits, objects by what they would be pickled from. Functions and classes of
users count by their code, by what it closes over and by the globals that it reads, those of libraries by their names
and by what they close over.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly

_LIBRARIES = tuple({str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib")})


def identity(*values: Any) -> str:
    """A digest of values of any kind, functions and classes included.

    What gives no access to its value, such as a file or a generator, counts by its class; a device does not count.
    """
    return _Known().digest(values).hex()


def settings_of(of: Any, *, but: Collection[str]) -> dict[str, Any]:
    """The fields of a dataclass by name, but for some that do not matter."""
    return {field.name: getattr(of, field.name) for field in fields(of) if field.name not in but}


def _hashed(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


class _Known:
    """Digests of values, each of which is looked at once, also where they refer to each other in rings."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[object, bytes]] = {}  # with the objects, whose ids are theirs while they live

    def digest(self, value: Any) -> bytes:
        """The digest of a value."""
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return _hashed(repr(value).encode())
        if isinstance(value, wp.Device):
            return b""
        if isinstance(value, np.ndarray | wp.array):
            return self._of_array(value)
        if id(value) not in self._found:
            self._found[id(value)] = value, b"ring"
            self._found[id(value)] = value, self._of_one(value)
        return self._found[id(value)][1]

    def _of_all(self, values: Collection[Any]) -> bytes:
        return _hashed(*map(self.digest, values))

    def _of_array(self, value: np.ndarray | wp.array[Any]) -> bytes:
        array = np.asarray(value.numpy() if isinstance(value, wp.array) else value)
        if isinstance(value, wp.array) and array.dtype.names:  # structures may hold addresses
            return self._of_all([array.shape, array.dtype.names])
        if array.dtype == object:
            return self._of_all([array.shape, array.ravel().tolist()])
        return _hashed(
            f"{array.dtype} {array.shape}".encode(), np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        )

    def _of_many(self, value: Any) -> bytes:
        """Tables and sets, whose order says nothing, and lists."""
        ordered = not isinstance(value, Mapping | AbstractSet)
        rows = [self.digest(row) for row in (value.items() if isinstance(value, Mapping) else value)]
        return _hashed(b"many", *(rows if ordered else sorted(rows)))

    def _of_one(self, value: Any) -> bytes:
        """Lists, functions, classes and other objects."""
        if isinstance(value, Mapping | AbstractSet | Sequence | bytearray):
            return self._of_many(value)
        if isinstance(value, ModuleType):
            return _hashed(value.__name__.encode())
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, wp.Function | wp.Kernel):
            return self._of_all([value.key, getattr(value, "native_snippet", None), value.func])
        if isinstance(value, functools.partial):
            return self._of_all([value.func, value.args, value.keywords])
        if isinstance(value, MethodType):
            return self._of_all([value.__func__, value.__self__])
        if isinstance(value, CodeType):
            return self._of_code(value)
        if isinstance(value, FunctionType):
            return self._of_function(value)
        if isinstance(getattr(value, "__wrapped__", None), FunctionType):  # as functools.cache makes them
            return self.digest(value.__wrapped__)
        if isinstance(value, BuiltinFunctionType | np.ufunc):
            return self._of_all([getattr(value, "__module__", ""), value.__name__])
        return self._of_object(value)

    def _of_function(self, function: FunctionType) -> bytes:
        """What it closes over and its defaults; and its name, or its code and the globals that it reads."""
        code, given = function.__code__, [function.__defaults__, function.__kwdefaults__]
        closed = [
            (name, _content(cell)) for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        ]
        if _is_of_library(function.__module__):
            return self._of_all([function.__module__, function.__qualname__, given, closed])
        read = sorted(_names_in(code) & function.__globals__.keys())
        return self._of_all([code, given, closed, [(name, function.__globals__[name]) for name in read]])

    def _of_code(self, code: CodeType) -> bytes:
        """What a code does, wherever it is written."""
        names = code.co_names, code.co_varnames, code.co_freevars
        return self._of_all([code.co_code, names, code.co_argcount, code.co_flags, code.co_consts])

    def _of_class(self, kind: type) -> bytes:
        """Its name, and what users have written in it and in its bases."""
        own = [base for base in kind.__mro__ if not _is_of_library(base.__module__)]
        members = [sorted((name, member) for name, member in vars(base).items() if _matters(name)) for base in own]
        return self._of_all([kind.__qualname__, [[(n, _function_of(m)) for n, m in some] for some in members]])

    def _of_object(self, value: Any) -> bytes:
        """Its class and its fields, or what it would be pickled from."""
        kind = type(value)
        if is_dataclass(value):  # fields that are not compared are no part of its value
            return self._of_all([kind, [getattr(value, field.name) for field in fields(value) if field.compare]])
        if hasattr(value, "requires_grad") and hasattr(value, "detach"):  # a tensor of PyTorch
            return self._of_all([kind, np.asarray(value.detach().cpu())])
        try:
            made = value.__reduce_ex__(4)
        except Exception:  # it cannot be pickled, or says why not
            return self._of_all([kind])
        if isinstance(made, str):
            return self._of_all([kind, made])
        _, arguments, state, *items = (*made, None, None, None)[:5]
        if isinstance(state, dict):  # without what it has worked out from the rest
            cached = [name for name in state if isinstance(getattr(kind, name, None), functools.cached_property)]
            state = {name: state[name] for name in state.keys() - set(cached)}
        given = [one for one in arguments if one is not kind]
        return self._of_all([kind, given, state, *(None if more is None else list(more) for more in items)])


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it was not filled yet
        return None


def _names_in(code: CodeType) -> set[str]:
    """Names that a code and those within it read: of globals and of attributes."""
    return set(code.co_names).union(*(_names_in(one) for one in code.co_consts if isinstance(one, CodeType)))


def _matters(name: str) -> bool:
    """Whether a member of a class does something, and not what Python puts there."""
    return name in ("__call__", "__getitem__") or not name.startswith("_") or not name.endswith("_")


def _function_of(member: Any) -> Any:
    """The function behind a method or a property of a class."""
    for name in ("__func__", "fget", "func"):
        member = getattr(member, name, member)
    return member


@functools.cache
def _is_of_library(module: str) -> bool:
    """Whether a module is known by its name: of Annelid, of Python or installed."""
    if module.partition(".")[0] in {"annelid", *sys.stdlib_module_names}:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(place) for place in _LIBRARIES)
