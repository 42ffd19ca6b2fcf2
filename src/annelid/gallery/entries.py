"""What the gallery shows: an entry for every scene, environment, study and robot of the registries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from annelid.core.errors import UnknownName
from annelid.envs.registration import TASKS, short, task
from annelid.gallery.lighter import flags_of
from annelid.gallery.shown_robots import SHOWN_BY
from annelid.robots.registry import ROBOTS, robot_maker
from annelid.scenes.registry import SCENES, scene_class
from annelid.studies.registry import STUDIES, study_class

Kind = Literal["scene", "environment", "study", "robot"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Entry:
    """Something with a name.

    Attributes:
        kind: Registry that it is from.
        name: Its name there.
        module: Module of its source.
        command: How a user runs it.
        shown_by: Key of the entry whose pictures show it; its own where empty.
    """

    kind: Kind
    name: str
    module: str
    command: str
    shown_by: str = ""

    @property
    def key(self) -> str:
        """Its name in the gallery, and its folder there."""
        return f"{self.kind}/{short(self.name)}"

    @property
    def source(self) -> Path:
        """The file that it is written in."""
        spec = find_spec(self.module)
        return Path((spec and spec.origin) or "")

    def summary(self) -> str:
        """The first sentence of what it says of itself."""
        text = (_told(self).__doc__ or "").strip().split("\n\n")[0]
        return " ".join(text.split())


def entries() -> dict[str, Entry]:
    """All entries by key, kind after kind."""
    return {entry.key: entry for entry in (*_scenes(), *_environments(), *_studies(), *_robots())}


def entry_of(key: str) -> Entry:
    """An entry by its key, such as "scene/worm"."""
    known = entries()
    if key not in known:
        raise UnknownName("entry of the gallery", key, known, lister="`annelid gallery --list`")
    return known[key]


def _scenes() -> Iterator[Entry]:
    for name in sorted(SCENES):
        yield Entry("scene", name, SCENES[name][0], f"annelid view {name}{flags_of(name)}")


def _environments() -> Iterator[Entry]:
    for name in TASKS:
        yield Entry("environment", name, TASKS[name][0], f"annelid train {short(name)}")


def _studies() -> Iterator[Entry]:
    for name in sorted(STUDIES):
        yield Entry("study", name, STUDIES[name][0], f"annelid study {name}")


def _robots() -> Iterator[Entry]:
    for name, (module, attribute) in sorted(ROBOTS.items()):
        yield Entry("robot", name, module, f"from {module} import {attribute}", SHOWN_BY.get(name, ""))


def _told(entry: Entry) -> Any:
    """What tells of an entry in its docstring."""
    found = {"scene": scene_class, "environment": task, "study": study_class, "robot": robot_maker}
    return found[entry.kind](entry.name)
