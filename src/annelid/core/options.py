"""Options by keyword: a misspelt one is refused with the nearest name, the same way everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Literal, ParamSpec, Self, TypeVar, cast

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.recipe import Recipe, remembering
from annelid.core.words import with_article

P = ParamSpec("P")
T = TypeVar("T")


Auto = Literal["auto"]
"""What an option is set to where the library shall choose."""

Precision = Literal["float32", "float64"]
"""Of the numbers of a simulation."""


def require_word(what: str, given: object) -> None:
    """Refuse a name that is no word: "the name of a group must be a word, not 3"."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidValue(f"{what} must be a word, not {given!r:.60}.")


def is_among(given: object, known: Collection[str | None]) -> bool:
    """Whether something is one of some words, or None where that is one of them; arrays and lists never are."""
    return (given is None or isinstance(given, str)) and given in known


def require_kind(what: str, given: object, kind: type | tuple[type, ...], accepted: str) -> None:
    """Refuse what is of another kind: "the body must be a springs.Body, not a Bed"."""
    if not isinstance(given, kind):
        raise InvalidValue(f"{what} must be {accepted}, not {type(given).__name__}: {given!r:.60}.")


def require_truth(what: str, given: object, *, or_none: bool = False) -> None:
    """Refuse what is neither True nor False, nor None where that may be: Python takes the word "no" for True."""
    if not (isinstance(given, bool | np.bool_) or (or_none and given is None)):
        wanted = "True, False or None" if or_none else "True or False"
        raise InvalidValue(f"{what} must be {wanted}, not {given!r:.60}.")


def require_words(what: str, given: object) -> None:
    """Refuse what is no list of words; one word by itself is none: its letters would be taken."""
    if isinstance(given, str) or not isinstance(given, Collection) or not all(isinstance(one, str) for one in given):
        raise InvalidValue(f"{what} must be a list of names, not {given!r:.60}.")


def require_callable(what: str, given: object) -> None:
    """Refuse what cannot be called."""
    if not callable(given):
        raise InvalidValue(f"{what} must be a function, not {type(given).__name__}: {given!r:.60}.")


def require_taking(what: str, given: object, *arguments: str) -> None:
    """Refuse what cannot be called with so many arguments: "a loss must take (parameters), not (first, second)"."""
    require_callable(what, given)
    try:
        takes = inspect.signature(cast(Callable[..., Any], given))
    except (TypeError, ValueError):  # what is written in C may not tell
        return
    try:
        takes.bind(*arguments)
    except TypeError:
        raise InvalidValue(f"{what} must take ({', '.join(arguments)}), not ({', '.join(takes.parameters)}).") from None


def _require_annotated(what: str, given: object, kind: object) -> None:
    """Refuse what is no truth value where the annotation asks for one."""
    if kind in (bool, "bool", "bool | None"):
        require_truth(what, given, or_none=kind == "bool | None")


class Named:
    """A dataclass that refuses a misspelt field with the nearest name, and words where truth values belong."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    of_what: ClassVar[str] = ""
    """What the fields are of, in refusals; the name of the class where it is empty."""

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Look at the names before they reach the dataclass."""
        called = cls.of_what or with_article(cls.__name__)
        for name, value in options.items():
            if name not in cls.__dataclass_fields__:
                known = [field.name for field in fields(cls) if field.init]
                raise UnknownName(f"parameter of {called}", name, known)
            _require_annotated(f"{name} of {called}", value, cls.__dataclass_fields__[name].type)
        return super().__new__(cls)


def require_options(
    what: str, given: Collection[str], known: Collection[str], elsewhere: Mapping[str, Callable[..., Any]]
) -> None:
    """Refuse the name of an option that there is not, with the nearest one, or with what has such an option."""
    for name in given:
        if name not in known:
            others = [other for other, made in elsewhere.items() if name in inspect.signature(made).parameters]
            hint = f"It is an option of {others[0]}." if others else None
            raise UnknownName(f"option of {what}", name, known, hint=hint)


def spelled_out(what: str, **elsewhere: Callable[..., Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function whose signature spells its options out refuse all others by name, and words for truth values.

    Simulations remember by which of them they were made.

    Args:
        what: What the options are of, in words: "a simulation of springs".
        elsewhere: Other functions or classes that an option may have been meant for, by name.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known = {n: each.annotation for n, each in inspect.signature(function).parameters.items() if n != "self"}

        builds = str(inspect.signature(function).return_annotation).startswith("Simulation")

        @functools.wraps(function)
        def checked(*given: P.args, **options: P.kwargs) -> T:
            require_options(what, options, known, elsewhere)
            for name, value in options.items():
                _require_annotated(f"{name} of {what}", value, known[name])
            if not builds:
                return function(*given, **options)
            recipe = Recipe.of(checked, given, options)
            return remembering(function(*given, **options), recipe)

        return checked

    return decorate
