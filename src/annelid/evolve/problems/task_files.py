"""Tasks that a search names: where their files are, and whether they still say the same."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.files import read_text
from annelid.core.own_files import is_own, split_own
from annelid.envs.own import own_task
from annelid.envs.registration import TASKS
from annelid.envs.task import Task
from annelid.envs.task_options import task_options
from annelid.evolve.options import from_table


def task_of(name: str, options: Mapping[str, Any]) -> tuple[str | Task, dict[str, Any]]:
    """A task as `make_worlds` takes it, and the options that it takes besides."""
    if not name:
        raise InvalidValue("the problem 'task-controller' needs a task: FILE.py:NAME, or the name of an environment.")
    if is_own(name):
        kind = own_task(located(name))
        typed = make_dataclass(kind.__name__, task_options(kind))
        return kind(**vars(from_table(typed, options, kind.__name__))), {}
    if name not in TASKS:
        raise UnknownName("environment", name, TASKS, hint="A task of your own is named FILE.py:NAME.")
    return name, dict(options)


def located(name: str) -> str:
    """FILE.py:NAME with the path to the file: as it is given, or from where modules are found, as in a worker."""
    path, wanted = split_own(name) or (Path(name), "")
    if not path.is_file() and not path.is_absolute():
        path = next((found for folder in sys.path if (found := Path(folder) / path).is_file()), path)
    return f"{path}:{wanted}" if wanted else str(path)


def source_hash(name: str) -> str:
    """A hash of the program in the file of a task, without its layout and comments; none for an environment."""
    if not is_own(name):
        return ""
    path, _ = split_own(located(name)) or (Path(name), "")
    program = ast.dump(ast.parse(read_text(path)))
    return hashlib.blake2b(program.encode(), digest_size=8).hexdigest()
