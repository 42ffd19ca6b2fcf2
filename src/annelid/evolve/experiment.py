"""An experiment: what is searched, how, how long and with which seeds; as a dataclass or as a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, replace
from typing import Any, ClassVar

from annelid.core.errors import FileFormatError, InvalidValue, UnknownName
from annelid.core.files import as_path, read_text
from annelid.core.own_files import is_own
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.recording.file_kinds import what_it_is
from annelid.evolve import registry
from annelid.evolve.contract import ProblemOptions, SearcherOptions
from annelid.evolve.ea import EA
from annelid.evolve.options import from_table, to_table

_LARGEST_FILE = 1_000_000  # bytes; an experiment is a page of text
_KEYS = ("name", "summary", "generations", "seed", "repetitions", "problem", "searcher")


@documented
@dataclass(frozen=True)
class Experiment(Checked):
    """A search that can be repeated to the bit."""

    of_what: ClassVar[str] = "an experiment"

    name: str = parameter(MISSING, "Its name, that of its folder too.")
    problem: ProblemOptions = parameter(MISSING, "Options of the problem: task, body, controller.")
    searcher: SearcherOptions = field(default_factory=EA, metadata={"help": "Settings of the searcher."})
    generations: int = parameter(500, "Generations after the first one, which is drawn at random.", least=0)
    seed: int = parameter(0, "Seed of the first repetition; each further one has the next.", least=0)
    repetitions: int = parameter(1, "Independent searches, which run side by side.", least=1)
    summary: str = parameter("", "What it is about, in one line.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name or any(c in self.name for c in "/\\\0") or self.name.startswith("."):
            raise InvalidValue(f"an experiment's name becomes a folder's, which {self.name!r} cannot be.")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seed of each repetition."""
        return tuple(range(self.seed, self.seed + self.repetitions))

    def changed(self, **changes: Any) -> Experiment:
        """The experiment with some attributes changed; those that are None stay."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    def to_table(self) -> dict[str, Any]:
        """The experiment in plain values, as in a file."""
        return {
            "name": self.name,
            "summary": self.summary,
            "generations": self.generations,
            "seed": self.seed,
            "repetitions": self.repetitions,
            "problem": registry.problem_table(self.problem),
            "searcher": {"name": registry.name_of(self.searcher), **to_table(self.searcher)},
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any], name: str = "experiment") -> Experiment:
        """An experiment from plain values.

        Args:
            table: What `to_table` gives; only the problem's name is needed.
            name: Its name where the table has none.
        """
        for key in table:
            if key not in _KEYS:
                raise UnknownName("entry of an experiment", str(key), _KEYS)
        problem = problem_from_table(_named(table, "problem"))
        searcher_name, settings = _split(_named(table, "searcher") if "searcher" in table else {"name": "ea"})
        searcher = from_table(registry.searcher_options(searcher_name), settings, "searcher")
        plain = {key: table[key] for key in _KEYS if key in table and key not in ("problem", "searcher")}
        checked = from_table(_Plain, {"name": name, **plain}, "the experiment")
        return cls(problem=problem, searcher=searcher, **vars(checked))


@dataclass
class _Plain:
    """The entries of an experiment that are single values."""

    name: str
    summary: str = ""
    generations: int = 500
    seed: int = 0
    repetitions: int = 1


def problem_from_table(table: Mapping[str, Any]) -> ProblemOptions:
    """Options of a problem from its name and its values in one table, which is how they travel between processes."""
    name, values = _split(table)
    if is_own(name):  # short for the controllers of a task of one's own
        name, values = "task-controller", {"task": name, **values}
    options: ProblemOptions = from_table(registry.problem_options(name), values, "problem")
    return options


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """An experiment from a TOML file."""
    path = as_path(path)
    try:
        table = tomllib.loads(read_text(path, most=_LARGEST_FILE))
    except OSError as error:
        raise FileFormatError(f"experiment {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"it is {what}" if (what := what_it_is(path)) else error
        raise FileFormatError(f"{path} is not a TOML file: {reason}.") from None
    return Experiment.from_table(table, path.stem)


def _named(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = table.get(key)
    if isinstance(part, str):
        return {"name": part}
    if not isinstance(part, Mapping) or not isinstance(part.get("name"), str):
        raise InvalidValue(f"an experiment needs a table [{key}] with a name, or its name alone.")
    return part


def _split(table: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return str(table["name"]), {key: value for key, value in table.items() if key != "name"}
