"""Readings as the functions of a task get them: by name, where a name that does not exist is told with the nearest."""

from __future__ import annotations

from typing import Any, NoReturn

from annelid.core.errors import UnknownName


class Readings(dict[str, Any]):
    """Readings of sensors, goals and what was measured, by name."""

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownName("sensor or goal of this task", name, self)
