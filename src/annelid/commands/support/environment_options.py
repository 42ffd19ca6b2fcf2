"""Options of environments and of tasks of users as flags of the commands that learn and search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass
from typing import Any

from annelid.commands.support.options import writable
from annelid.core.errors import InvalidValue
from annelid.envs.registration import settings_of
from annelid.envs.task_options import Member, task_options


def options_of(name: str, command: str, *own: type[Any], given: Mapping[str, Any] | None = None) -> type[Any]:
    """The options of an environment that can be written on the command line, as a dataclass.

    Args:
        name: The environment.
        command: The command that takes them.
        own: Options of that command, whose names are taken.
        given: Values that a file has given, by name; they are the defaults then.
    """
    kind = settings_of(name)
    free = [member for member in task_options(kind) if member[0] not in kind.fixed]
    members = [(option, written, each) for option, hint, each in free if (written := writable(hint)) is not None]
    taken = {each.name for options in own for each in fields(options)}
    for option, _, _ in members:
        if option in taken:
            raise InvalidValue(
                f"`{option}` is an option of `annelid {command}`: rename that option of {kind.__name__}."
            )
    return make_dataclass(kind.__name__, [_with(each, given or {}) for each in members], frozen=True, kw_only=True)


def chosen(options: Any) -> dict[str, Any]:
    """The options that differ from their defaults, by name."""
    usual = type(options)()
    return {name: value for name, value in vars(options).items() if value != vars(usual)[name]}


def _with(member: Member, given: Mapping[str, Any]) -> Member:
    """An option with the value of a file as its default."""
    name, kind, each = member
    if name not in given:
        return member
    value: Any = tuple(given[name]) if isinstance(given[name], list) else given[name]
    return name, kind, field(default=value, metadata=each.metadata)
