"""Options by keyword: a misspelt one is refused with the nearest name, the same way everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Literal, ParamSpec, Self, TypeVar

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.words import with_article

P = ParamSpec("P")
T = TypeVar("T")


Auto = Literal["auto"]
"""What an option is set to where the library shall choose."""


def require_word(what: str, given: object) -> None:
    """Refuse a name that is no word: "the name of a group must be a word, not 3"."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidValue(f"{what} must be a word, not {given!r:.60}.")


def require_kind(what: str, given: object, kind: type | tuple[type, ...], accepted: str) -> None:
    """Refuse what is of another kind: "the body must be a springs.Body, not a Bed"."""
    if not isinstance(given, kind):
        raise InvalidValue(f"{what} must be {accepted}, not {type(given).__name__}: {given!r:.60}.")


class Named:
    """A dataclass that refuses a misspelt field with the nearest name, instead of Python's error."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Look at the names before they reach the dataclass."""
        for name in options:
            if name not in cls.__dataclass_fields__:
                known = [field.name for field in fields(cls) if field.init]
                raise UnknownName(f"parameter of {with_article(cls.__name__)}", name, known)
        return super().__new__(cls)


def spelled_out(what: str, **elsewhere: Callable[..., Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function whose signature spells its options out refuse all others by name.

    Args:
        what: What the options are of, in words: "a simulation of springs".
        elsewhere: Other functions or classes that an option may have been meant for, by name.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known = [name for name in inspect.signature(function).parameters if name != "self"]

        @functools.wraps(function)
        def checked(*given: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in known:
                    others = [other for other, made in elsewhere.items() if name in inspect.signature(made).parameters]
                    hint = f"It is an option of {others[0]}." if others else None
                    raise UnknownName(f"option of {what}", name, known, hint=hint)
            return function(*given, **options)

        return checked

    return decorate
