"""Things that are listed by name with the module they are in, which is imported only when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from annelid.core.errors import UnknownName


def listed(kind: str, name: str, table: Mapping[str, tuple[str, str]]) -> Any:
    """What a table lists under a name.

    Args:
        kind: What the table lists, for the refusal of other names.
        name: The name.
        table: Module and attribute of each.
    """
    if not isinstance(name, str) or name not in table:
        raise UnknownName(kind, name, table)
    module, attribute = table[name]
    return getattr(import_module(module), attribute)
