"""Experiments on the command line: by name, from a file, and with entries that are given beside them.

`annelid evolve mine.toml searcher=cma problem.seconds=10` changes what the file says, in its own words, and
`annelid evolve problem=FILE.py:TASK` needs no file.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.own_files import is_own
from annelid.evolve import Experiment, named_experiment, read_experiment
from annelid.evolve.contract import Titled
from annelid.evolve.experiments import experiment_names

_ENTRY = re.compile(r"(problem|searcher)((?:\.\w+)*)=(.*)", re.DOTALL)
_BRIEF: dict[str, Any] = {"generations": 50, "searcher": {"name": "ea", "population": 50}}
"""What is searched where nothing but a task is named; it is simulated at length."""


def split_entries(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The entries of an experiment among arguments, and the other arguments."""
    entries = [text for text in arguments if _ENTRY.fullmatch(text)]
    return entries, [text for text in arguments if not _ENTRY.fullmatch(text)]


def experiment_of(name: str | None, entries: Sequence[str]) -> Experiment:
    """An experiment.

    Args:
        name: Its name, its TOML file, FILE.py:NAME of a task, or the base FILE.vxa of voxel robots; None where
            `problem=` says it.
        entries: Entries that replace its own, such as problem.seconds=10.
    """
    if name is not None and is_own(name):
        name, entries = None, [f"problem={name}", *entries]
    elif name is not None and Path(name).suffix == ".vxa":
        name, entries = None, ["problem=voxel-file-3d", f"problem.base={json.dumps(name)}", *entries]
    if name is not None and not entries:
        return _known(name)
    table: dict[str, Any] = _BRIEF if name is None else _known(name).to_table()
    for text in entries:
        if text.startswith("problem.options."):
            option, _, value = text.removeprefix("problem.options.").partition("=")
            raise InvalidValue(f"options of a task are flags: give --{option.replace('_', '-')} {value} instead.")
        table = _changed(table, text)
    if "name" not in table.get("problem", {}):
        raise InvalidValue("say what is searched: an experiment, its file, or a problem such as problem=FILE.py:NAME.")
    made = Experiment.from_table(table)
    if not any(text.startswith("problem=") for text in entries):
        return made
    sys.path.append(str(Path.cwd()))  # workers elsewhere look for FILE.py there
    return made.changed(name=made.problem.title if isinstance(made.problem, Titled) else type(made.problem).name)


def _known(name: str) -> Experiment:
    """The experiment of a name or a file."""
    if name in experiment_names():
        return named_experiment(name)
    path = Path(name)
    if not path.is_file() and path.suffix != ".toml":
        return named_experiment(name)  # which says what names there are
    sys.path.append(str(path.resolve().parent))  # problems of one's own may lie beside the file
    return read_experiment(path)


def _changed(table: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The table of an experiment with an entry in place of its own."""
    found = _ENTRY.fullmatch(text)
    assert found is not None
    part, below, value = found.groups()
    if not below:
        return {**table, part: {"name": value}}
    return _with(table, (), [part, *below[1:].split(".")], _value(value))


def _with(table: Any, above: tuple[str, ...], path: Sequence[str], value: Any) -> dict[str, Any]:
    """A table with a value at a path below it; `above` is the path to the table itself."""
    first, *rest = path
    if not isinstance(table, Mapping):
        raise InvalidValue(f"{'.'.join(above)} is no table of an experiment that could hold {'.'.join(path)}.")
    return {**table, first: _with(table.get(first, {}), (*above, first), rest, value) if rest else value}


def _value(text: str) -> Any:
    """A value as in a TOML file; what is none there is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
