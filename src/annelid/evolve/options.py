"""Options from files: dataclasses from plain tables and back, with a clear word where a table does not fit."""

from __future__ import annotations

import types
from collections.abc import Hashable, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number

T = TypeVar("T")


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def from_table(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """A dataclass from a table of a file.

    Args:
        kind: The dataclass.
        table: Its values by name; those left out keep their defaults.
        where: What the table is called in messages.
    """
    hints = get_type_hints(kind)
    known = [field.name for field in fields(cast(type[_Dataclass], kind)) if field.init]
    for name in table:
        if name not in known:
            raise UnknownName(f"option of {where}", str(name), known)
    try:
        return kind(**{name: _value(hints[name], value, f"{where}.{name}") for name, value in table.items()})
    except TypeError as error:  # a field without a default was left out
        raise InvalidValue(f"{where} is not complete: {error}.") from None


def to_table(options: Any) -> dict[str, Any]:
    """A dataclass as plain values; the inverse of `from_table`."""
    return {field.name: _plain(vars(options)[field.name]) for field in fields(options) if field.init}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_table(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidValue(f"an option must be a number, a text, a list or a table, not {value!r}.")


def _value(kind: Any, value: Any, where: str) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _one_of(get_args(kind), value, where)
    if origin is Literal:
        if not isinstance(value, Hashable) or value not in get_args(kind):
            raise InvalidValue(f"{where} must be one of {', '.join(map(str, get_args(kind)))}, not {value!r}.")
        return value
    if origin in (tuple, list) or kind in (tuple, list):
        return _sequence(kind, value, where)
    if is_dataclass(kind) and isinstance(kind, type):
        if isinstance(value, kind):
            return value
        if isinstance(value, Mapping):
            return from_table(kind, value, where)
        raise InvalidValue(f"{where} must be a table, not {value!r}.")
    return _scalar(kind, value, where)


def _one_of(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    errors = []
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _value(kind, value, where)
        except InvalidValue as error:
            errors.append(error)
    raise errors[-1]


def _sequence(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, list | tuple):
        raise InvalidValue(f"{where} must be a list, not {value!r}.")
    wanted = get_args(kind) or (Any, ...)
    if get_origin(kind) is list or kind is list or (len(wanted) == 2 and wanted[1] is Ellipsis):
        wanted = (wanted[0],) * len(value)
    if len(wanted) != len(value):
        raise InvalidValue(f"{where} must be a list of {len(wanted)} values, not of {len(value)}.")
    items = [_value(each, item, f"{where}[{i}]") for i, (each, item) in enumerate(zip(wanted, value, strict=True))]
    return items if kind is list or get_origin(kind) is list else tuple(items)


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and is_number(value):
        return float(value)
    if kind in _WORDS and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
        raise InvalidValue(f"{where} must be {_WORDS[kind]}, not {value!r:.60}.")
    return value
