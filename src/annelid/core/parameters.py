"""Parameters of scenes and options of simulations, declared once: a field says what it is for and what it may be.

The sentence of a field, its unit and its limits make the help of the command line, sliders, signatures, docstrings and
refusals.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_options
from annelid.core.recipe import Recipe, remembering
from annelid.core.words import with_article

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C", bound="Checked")
C_co = TypeVar("C_co", bound="Checked", covariant=True)
R = TypeVar("R")
T = TypeVar("T")

SEEDS = (0, 2**31 - 1)
"""Limits of a seed."""

_COUNTED = {2: "two", 3: "three", 4: "four"}
_OPTIONS = re.compile(r"^    options: .*$", re.MULTILINE)  # the line of a docstring that their sentences replace
_WIDTH = 112  # of such a sentence


class Taking(Protocol[P, C_co]):
    """Lets a function of one or two things and their options take these by keyword; see `options_of`."""

    @overload
    def __call__(self, function: Callable[[A, C_co], R]) -> Callable[Concatenate[A, P], R]: ...

    @overload
    def __call__(self, function: Callable[[A, B, C_co], R]) -> Callable[Concatenate[A, B, P], R]: ...


class Checked(Named):
    """A dataclass of parameters that refuses values which cannot be used, whoever makes it.

    Numbers must be finite and within the limits of their field, whole numbers whole, vectors of three numbers, choices
    among those that there are, and things of the library of their kind.
    """

    def __post_init__(self) -> None:
        require_parameters(self)

    def part(self, kind: type[C]) -> C:
        """The parameters of a class that this one inherits from."""
        made, known = object.__new__(kind), {name for each in kind.__mro__ for name in vars(each)}
        vars(made).update({name: value for name, value in vars(self).items() if name in known})  # all looked at before
        return made


def parameter(
    default: Any,
    help: str,
    *,
    unit: str = "",
    range: tuple[float, float] | None = None,
    limits: tuple[float, float] | None = None,
    least: float | None = None,
    above: float | None = None,
    most: float = math.inf,
    live: bool = False,
) -> Any:
    """A parameter of a scene or an option of a simulation.

    Args:
        default: Its default.
        help: What it is for, in a line or a few sentences.
        unit: Its unit.
        range: Ends of its slider.
        limits: Smallest and largest number that it may be; a class that is `Checked` refuses any other, and NaN and
            infinity in any case.
        least: Smallest number alone, where there is no largest one.
        above: A number that it must be above.
        most: Largest number beside `above`.
        live: Whether `adjust(simulation, name, value)` of the scene can change it while it runs.
    """
    text = help if not unit or f"[{unit}]" in help else f"{help} [{unit}]"
    low = above if least is None else least
    limits = limits if low is None else (low, most)
    metadata = {"help": text, "unit": unit, "range": range, "limits": limits, "above": above is not None, "live": live}
    metadata["empty"] = isinstance(default, tuple) and not default
    return field(default=default, metadata=metadata)


def values(of: Any) -> dict[str, Any]:
    """The values of all parameters by name."""
    return {name: vars(of)[name] for name in of.__dataclass_fields__ if name in vars(of)}


def require_parameters(given: Any, kinds: Mapping[str, Any] | None = None) -> None:
    """Refuse a scene, or another dataclass of parameters, one of whose values cannot be used.

    Args:
        given: The parameters.
        kinds: Types of those that are looked at, by name; None takes all, by their annotations.
    """
    of: Any = type(given)
    kinds = _kinds(of) if kinds is None else kinds
    for one in (each for each in fields(given) if each.name in kinds):
        value = vars(given)[one.name]
        words, kind = _taken_apart(kinds[one.name])
        if any(value is word or (isinstance(value, str) and value == word) for word in words):
            continue
        if problem := _problem(value, kind, one.metadata):
            called = given.of_what if isinstance(given, Named) else ""
            title = called or vars(type(given)).get("name", type(given).__name__)
            accepted = _accepted(problem, kind, words)
            raise InvalidValue(f"{one.name} of {title} must be {accepted}, not {_shown(value)}.")
        object.__setattr__(given, one.name, _plain(value, kind))


def options_of(kind: Callable[P, C], **elsewhere: Callable[..., Any]) -> Taking[P, C]:
    """Let a function of one or two things and their options take these by keyword.

    Its signature and its docstring list what `kind` declares, a misspelt option is refused with the nearest name, and
    simulations remember by which options they were made.

    Args:
        kind: The options, a `Checked` dataclass.
        elsewhere: Other functions or classes that an option may have been meant for, by name.
    """
    declared = cast(type[C], kind)

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        written = inspect.signature(function)
        *things, _ = written.parameters.values()
        names = {thing.name for thing in things}
        known = {one.name: one for one in fields(cast(Any, declared))}

        @functools.wraps(function)
        def checked(*given: Any, **options: Any) -> R:
            require_options(declared.of_what, set(options) - names, known, elsewhere)
            recipe = Recipe.of(checked, given, options)
            leading = inspect.signature(checked).bind(*given, **options).args
            own = {name: value for name, value in options.items() if name not in names}
            return remembering(function(*leading, declared(**own)), recipe)

        listed = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(one), annotation=one.type)
            for name, one in known.items()
        ]
        vars(checked)["__signature__"] = written.replace(parameters=[*things, *listed])
        checked.__doc__ = _OPTIONS.sub(lambda _: _entries(declared), inspect.getdoc(function) or "")
        return checked

    return cast(Taking[P, C], decorate)


def documented(kind: type[T]) -> type[T]:
    """A dataclass whose docstring lists its fields, with what they are for."""
    kind.__doc__ = f"{inspect.cleandoc(kind.__doc__ or '')}\n\nAttributes:\n{_entries(kind)}\n"
    return kind


@functools.cache
def _kinds(kind: type) -> dict[str, Any]:
    """What the annotations of a class stand for."""
    return get_type_hints(kind)


def _entries(kind: Any) -> str:
    """A paragraph for each field, as docstrings have them."""
    entries = (f"{one.name}: {one.metadata['help']}" for one in fields(kind) if "help" in one.metadata)
    return "\n".join(
        textwrap.fill(one, _WIDTH, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
        for one in entries
    )


def _accepted(problem: str, kind: Any, words: list[Any]) -> str:
    """What a field accepts, in words."""
    if kind is None:
        return f"one of {', '.join(map(str, words))}"
    *others, last = [*(problem.split(" or ") if kind is bool else [problem]), *map(repr, words)]
    return f"{', '.join(others)} or {last}" if others else last


def _taken_apart(kind: Any) -> tuple[list[Any], Any]:
    """Words that a field accepts, None among them, and the kind of its other values; None where there are no others."""
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    others = [part for part in parts if get_origin(part) is not Literal and part is not NoneType]
    return words + [None] * (NoneType in parts), others[0] if len(others) == 1 else Any if others else None


def _problem(value: Any, kind: Any, metadata: Mapping[str, Any]) -> str:
    """What a value should have been; nothing where it can be used."""
    if kind is None:
        return "another word"
    if kind is bool:
        return "" if isinstance(value, bool | np.bool_) else "True or False"
    if kind is str:
        return "" if isinstance(value, str) else "a str"
    if _of_numbers(kind):
        return _problem_of_numbers(value, get_args(kind), metadata)
    if get_origin(kind) in (Sequence, tuple):
        return _problem_of_list(value, get_args(kind)[0])
    if get_origin(kind) is Mapping:
        return "" if isinstance(value, Mapping) else "values by name, {name: value}"
    if isinstance(kind, type) and kind.__module__.startswith("annelid."):
        return "" if isinstance(value, kind) else _called(kind)
    if kind not in (int, float):
        return ""
    low, high = metadata.get("limits") or (-math.inf, math.inf)
    above = bool(metadata.get("above"))
    if _is_number(value, kind) and (low < value if above else low <= value) and value <= high:
        return ""
    return _range(kind, low, high, metadata.get("unit", ""), above=above)


def _problem_of_list(value: Any, kind: Any) -> str:
    of = kind if isinstance(kind, type) and kind is not Any else object
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, of) for one in value):
        return ""
    return f"a list{'' if of is object else f' of {of.__name__}'}, such as [one]"


def _called(kind: type) -> str:
    """A class as users name it: "a shapes.Surface"."""
    return with_article(f"{kind.__module__.split('.')[1]}.{kind.__name__}")


def _is_number(value: Any, kind: type) -> bool:
    """Whether a value is a number of that kind, and finite."""
    return is_number(value) and isinstance(value, Integral if kind is int else Real)


def _of_numbers(kind: Any) -> bool:
    """Whether values are vectors or lists of numbers of one kind."""
    return get_origin(kind) is tuple and {*get_args(kind)} - {Ellipsis} in ({int}, {float})


def _problem_of_numbers(value: Any, kinds: tuple[Any, ...], metadata: Mapping[str, Any]) -> str:
    """What a vector or a list of numbers should have been."""
    kind, any_number = kinds[0], Ellipsis in kinds
    given = _numbers(value)
    may_be_empty = any_number and metadata.get("empty", False)
    right = bool(given) or may_be_empty if any_number else len(given or ()) == len(kinds)
    if given is not None and right and not any(_problem(one, kind, metadata) for one in given):
        return ""
    how_many = "" if may_be_empty else "one or more " if any_number else f"{_COUNTED.get(len(kinds), len(kinds))} "
    if metadata.get("limits") is None:
        return f"{how_many}{'whole' if kind is int else 'finite'} numbers"
    return f"{how_many}numbers, each {_problem(math.nan, kind, metadata)}"


def _numbers(value: Any) -> list[Any] | None:
    """The numbers of a vector or a list; None where it is neither."""
    try:
        return None if isinstance(value, str | Mapping) else list(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _plain(value: Any, kind: Any) -> Any:
    """A value without NumPy's kinds of numbers; whole numbers are floats where floats are asked for."""
    if _of_numbers(kind):
        return tuple(map(get_args(kind)[0], value))
    return kind(value) if kind in (int, float, bool) else value


def _range(kind: type, low: float, high: float, unit: str, *, above: bool) -> str:
    noun, unit = "a whole number" if kind is int else "a finite number", f" {unit}" if unit else ""
    if low == -math.inf and high == math.inf:
        return noun
    if high == math.inf:
        return f"{noun} above {low:.10g}{unit}" if above else f"{noun} of {low:.10g}{unit} or more"
    if above:
        return f"above {low:.10g} and at most {high:.10g}{unit}"
    return f"{noun + ' ' if kind is int else ''}between {low:.10g} and {high:.10g}{unit}"


def _default(one: Any) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 10**15:  # too long to be read digit by digit
        return f"{float(value):g}" if abs(value) < 10**300 else "a number of 300 digits or more"
    return f"{value!r:.40}"
