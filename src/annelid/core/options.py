"""Options by keyword: a misspelt one is refused with the nearest name, the same way everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from annelid.core.errors import UnknownName

P = ParamSpec("P")
T = TypeVar("T")


def spelled_out(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function whose signature spells its options out refuse all others by name.

    Args:
        what: What the options are of, in words: "a simulation of springs".
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def checked(*given: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in known:
                    raise UnknownName(f"option of {what}", name, known)
            return function(*given, **options)

        return checked

    return decorate
