"""Tasks of users: an object, a class, or the FILE.py:NAME where it is."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.own_files import load_own, split_own
from annelid.envs.task import Task
from annelid.envs.task_worlds import TaskWorlds
from annelid.envs.worlds import read_options


def task_worlds(given: str | Task | type[Task], count: int, *, device: Any, threads: int | None, **options: Any) -> Any:
    """The worlds of a task of one's own; see `make_worlds`."""
    if isinstance(given, Task):
        if options:
            raise InvalidValue(f"give the options of {type(given).__name__} to the task itself, or give its class.")
        return TaskWorlds(count, given, device=device, threads=threads)
    kind = own_task(given) if isinstance(given, str) else given
    if not (inspect.isclass(kind) and issubclass(kind, Task)):
        raise InvalidValue(f"an environment is named, or it is a Task, not {given!r:.60}.")
    return TaskWorlds(count, read_options(kind, options), device=device, threads=threads)


def own_task(given: str) -> type[Task]:
    """The task of FILE.py, or the one called NAME of FILE.py:NAME where it has several."""
    path, wanted = split_own(given) or (Path(given), "")
    module = load_own(path)
    found = {
        name: kind
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and issubclass(kind, Task) and kind.__module__ == module.__name__
    }
    if wanted and wanted not in found:
        raise UnknownName(f"task in {path.name}", wanted, found)
    if not found:
        raise InvalidValue(f"{path.name} has no task: write a class that inherits from annelid.envs.Task.")
    if not wanted and len(found) > 1:
        first = next(iter(found))
        raise InvalidValue(f"{path.name} has several tasks: {', '.join(found)}; name one, {path.name}:{first}.")
    return found[wanted or next(iter(found))]
