"""Which of Warp's functions of one name takes which types, found once a process and not once a call.

Warp has dozens of functions of one name, such as `mul`, and tries them one after another for each product that a kernel
writes down. That was two fifths of the time in which it writes the C++ of kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def know_overloads() -> None:
    """Let Warp remember which of its functions take which types; nothing where Warp looks for them otherwise."""
    try:
        from warp._src.codegen import Adjoint  # Warp has no public way to come between

        given = Adjoint.resolve_func
    except (ImportError, AttributeError):  # another Warp: slower, not broken
        return
    if "__wrapped__" not in vars(given):
        type.__setattr__(Adjoint, "resolve_func", _remembering(given))


def _remembering(given: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[tuple[Any, ...], Any] = {}

    @functools.wraps(given)
    def resolve(adjoint: Any, function: Any, types: tuple[Any, ...], named: Any, *rest: Any, **options: Any) -> Any:
        # Functions of users may change; and what is no class, such as an array of a type, has no equal.
        if named or options or not function.is_builtin() or not all(isinstance(kind, type) for kind in types):
            return given(adjoint, function, types, named, *rest, **options)
        key = (function, len(function.overloads), types, *rest)
        found = known.get(key)
        if found is None:
            found = known[key] = given(adjoint, function, types, named, *rest)
        return found

    return resolve
