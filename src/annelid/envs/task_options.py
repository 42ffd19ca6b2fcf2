"""Options of a user's own task with their types, for the command line and for files."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import MISSING, Field, field, fields
from types import SimpleNamespace
from typing import Any, get_type_hints

from annelid.core.errors import InvalidValue
from annelid.envs.task import Task

Member = tuple[str, Any, Field[Any]]
"""Name, type and default of an option, as `dataclasses.make_dataclass` takes them."""


def task_options(kind: type[Task]) -> list[Member]:
    """The options of a task; one without a default is refused."""
    types, helps = _types(kind), described(kind)
    return [(each.name, types[each.name], _copied(each, kind, helps)) for each in fields(kind) if each.init]


def described(kind: type[Task]) -> dict[str, str]:
    """What the docstring of a task says of its options, by name."""
    return dict(re.findall(r"^\s+(\w+): (.+)$", inspect.getdoc(kind) or "", re.MULTILINE))


def _types(kind: type[Task]) -> dict[str, Any]:
    """Types of all options; those that every task has are looked up here, because a user's file need not know them."""
    known = get_type_hints(Task)
    own = {each.name: each.type for each in fields(kind) if each.name not in known}
    try:
        found = get_type_hints(SimpleNamespace(__annotations__=own), globalns=vars(sys.modules[kind.__module__]))
    except (NameError, TypeError, SyntaxError) as error:
        raise InvalidValue(f"the type of an option of {kind.__name__} is not known: {error}.") from error
    return {**known, **found}


def _copied(each: Field[Any], kind: type[Task], helps: dict[str, str]) -> Any:
    metadata = {"help": helps.get(each.name, ""), **each.metadata}
    if each.default_factory is not MISSING:
        return field(default_factory=each.default_factory, metadata=metadata)
    if each.default is MISSING:
        raise InvalidValue(f"the option {each.name} of {kind.__name__} needs a default.")
    return field(default=each.default, metadata=metadata)
