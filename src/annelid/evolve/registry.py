"""The lists of problems and searchers. Each is imported only when it is asked for.

Problems and searchers of one's own need no entry: "package.module:Class" names a dataclass of options that can be
imported, here and on every machine that takes part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

from annelid.core.errors import InvalidValue, UnknownName
from annelid.evolve.options import to_table

PROBLEMS: dict[str, tuple[str, str]] = {
    "voxel-controller": ("annelid.evolve.problems.voxel_controller", "VoxelController"),
    "voxel-body": ("annelid.evolve.problems.voxel_body", "VoxelBody"),
    "voxel-body-and-brain": ("annelid.evolve.problems.voxel_body_and_brain", "VoxelBodyAndBrain"),
    "voxel-body-3d": ("annelid.evolve.problems.voxel_body_3d", "VoxelBody3d"),
    "voxel-file-3d": ("annelid.evolve.problems.voxel_file_3d", "VoxelFile3d"),
    "spring-worm": ("annelid.evolve.problems.spring_worm", "SpringWorm"),
    "task-controller": ("annelid.evolve.problems.task_controller", "TaskController"),
}

SEARCHERS = {
    "ea": ("annelid.evolve.ea", "EA"),
    "age-fitness": ("annelid.evolve.age_fitness", "AgeFitness"),
    "informed": ("annelid.evolve.informed", "Informed"),
    "novelty": ("annelid.evolve.novelty", "Novelty"),
    "random": ("annelid.evolve.random_search", "RandomSearch"),
    "cma": ("annelid.evolve.adapters.cma_es", "CmaEs"),
    "map-elites": ("annelid.evolve.adapters.quality_diversity", "MapElites"),
    "nsga2": ("annelid.evolve.adapters.multi_objective", "Nsga2"),
}


def problem_options(name: str) -> type[Any]:
    """The dataclass of options of a problem by its name."""
    return _found("problem", name, PROBLEMS)


def searcher_options(name: str) -> type[Any]:
    """The dataclass of settings of a searcher by its name."""
    return _found("searcher", name, SEARCHERS)


def name_of(options: Any) -> str:
    """The name under which `problem_options` or `searcher_options` finds the class of these options again."""
    kind = type(options)
    place = (kind.__module__, kind.__qualname__)
    names = [name for table in (PROBLEMS, SEARCHERS) for name, known in table.items() if known == place]
    if names:
        return names[0]
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise InvalidValue(
            f"{kind.__qualname__} cannot be found again by other processes: define it at the top of a module that "
            "can be imported."
        )
    return ":".join(place)


def problem_table(options: Any) -> dict[str, Any]:
    """Name and options of a problem in one table of plain values, which is how it travels."""
    return {"name": name_of(options), **to_table(options)}


def _found(what: str, name: str, table: Mapping[str, tuple[str, str]]) -> type[Any]:
    if name in table:
        return _attribute(*table[name])
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", name):
        raise UnknownName(what, name, table)
    module, _, attribute = name.partition(":")
    try:
        kind = _attribute(module, attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidValue(f"{what} {name!r} cannot be imported: {error}.") from None
    if not (is_dataclass(kind) and hasattr(kind, "build")):
        raise InvalidValue(f"{what} {name!r} is not a dataclass of options with a build method.")
    return kind


def _attribute(module: str, attribute: str) -> type[Any]:
    found: type[Any] = getattr(import_module(module), attribute)
    return found
