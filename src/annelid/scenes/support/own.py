"""Scenes from a user's own Python file: a class like those of this package, a task, or a function that returns one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, make_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.measurement import Measurement, hyphened
from annelid.core.own_files import load_own, split_own
from annelid.core.parameters import parameter, values
from annelid.core.scene import Scene
from annelid.core.simulation import Simulation
from annelid.envs.task import Task
from annelid.scenes.support.own_tasks import task_scene

DURATION = 5.0
"""Simulated time of a run [s] where the file does not say."""

_MACHINE = ("device", "threads")

_CONTRACT = ("name", "duration", "build", "measure", "adjust", "status", "viewpoint", "outputs", "own_file")
"""What a scene has by these names, so that no parameter can be called so."""

_PLAIN = (bool, int, float, str, Path, Enum, type(None))
"""What an option can be, and tuples of it."""


def own_scene(given: str) -> type[Scene]:
    """The scene of FILE.py, or the one called NAME of FILE.py:NAME where it has several.

    A class is a task or a dataclass with `build`; `name`, `duration` and `measure` may be left out. The parameters of
    a function become options like the fields of a class; `device` and `threads`, if it has them, are those of the
    command.
    """
    path, wanted = split_own(given) or (Path(given), "")
    own = _defined(load_own(path))
    if wanted:
        if wanted not in own:
            raise UnknownName(f"scene in {path.name}", wanted, own)
        return _scene(own[wanted], f"{path.stem}-{wanted}", f"{path.name}:{wanted}")
    found = _candidates(own)
    if not found:
        raise InvalidValue(
            f"{path.name} has no scene: write a dataclass with build(), a task, or a function that returns a "
            "simulation."
        )
    if len(found) > 1:
        names = list(found)
        raise InvalidValue(
            f"{path.name} has several scenes: {', '.join(names)}; name one, {path.name}:{names[0]}, or write "
            "`-> Simulation` behind the only function that is one."
        )
    return _scene(next(iter(found.values())), path.stem, path.name)


def _defined(module: ModuleType) -> dict[str, Any]:
    """Dataclasses with `build`, and functions, that are defined in a module, by name."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or (inspect.isclass(thing) and is_dataclass(thing) and "build" in dir(thing)))
        and thing.__module__ == module.__name__
    }


def _candidates(own: dict[str, Any]) -> dict[str, Any]:
    """What is meant where no name is given: classes, or else the functions that look most like scenes."""
    classes = {name: thing for name, thing in own.items() if inspect.isclass(thing)}
    functions = {name: thing for name, thing in own.items() if name not in classes}
    saying = {name: f for name, f in functions.items() if _says_simulation(f)}
    ready = {name: f for name, f in functions.items() if _needs_nothing(f)}
    making = {name: f for name, f in ready.items() if _names_simulation(f)}
    return classes or saying or making or ready or functions


def _needs_nothing(function: Callable[..., Any]) -> bool:
    return all(p.default is not p.empty for p in inspect.signature(function).parameters.values())


def _says_simulation(function: Callable[..., Any]) -> bool:
    return "Simulation" in str(inspect.signature(function).return_annotation)


def _names_simulation(function: Callable[..., Any]) -> bool:
    """Whether its code speaks of `springs.simulation` or the like, as helpers do not."""
    return bool({"simulation", "Simulation"} & set(function.__code__.co_names))


def _scene(found: Any, name: str, file: str) -> type[Scene]:
    kind: Any = found if inspect.isclass(found) else _class_of(found)
    if issubclass(kind, Task):
        kind = task_scene(kind)
    for each in fields(kind):
        if each.init and each.default is each.default_factory:  # both missing
            raise InvalidValue(f"the parameter {each.name} of {kind.__name__} needs a default.")
        if each.name in _CONTRACT:
            raise InvalidValue(
                f"`{each.name}` is no parameter but part of every scene: write `{each.name}: ClassVar[...]` in "
                f"{kind.__name__}, or rename it."
            )
    given = {"name": name, "duration": DURATION, "measure": _numbers}
    missing = {key: value for key, value in given.items() if key not in dir(kind)}
    also = {"own_file": file, "__doc__": kind.__doc__, "__module__": kind.__module__}
    if "name" not in missing:
        _require_folder_name(kind.name, kind.__name__)
    return type(kind.__name__, (kind,), {**missing, **also})


def _require_folder_name(name: Any, of: str) -> None:
    """Results go to out/NAME, and not elsewhere."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w .+-]*", name):
        raise InvalidValue(f"name = {name!r} of {of} cannot be the name of a folder: use letters, digits and hyphens.")


def _require_option(function: Callable[..., Any], given: inspect.Parameter) -> None:
    """Refuse a parameter of a function that cannot be an option."""
    where = f"{given.name} of {function.__name__}()"
    if given.kind not in (given.POSITIONAL_OR_KEYWORD, given.KEYWORD_ONLY):
        raise InvalidValue(f"{where} cannot be an option: parameters of a scene have a name and a default.")
    if given.default is given.empty:
        raise InvalidValue(f"the parameter {where} needs a default.")
    if given.name in _CONTRACT:
        raise InvalidValue(f"`{given.name}` is part of every scene: rename that parameter of {function.__name__}().")
    if not _is_plain(given.default):
        raise InvalidValue(
            f"the default of {where} is of type {type(given.default).__name__}, which cannot be an option: take a "
            "number, a word, True or False, or a tuple of these."
        )


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, _PLAIN)


def _class_of(function: Callable[..., Any]) -> type[Any]:
    """A scene whose parameters are those of a function."""
    hints = get_type_hints(function)
    given = inspect.signature(function).parameters
    for each in given.values():
        if each.name not in _MACHINE or each.default is each.empty:
            _require_option(function, each)
    helps = dict(re.findall(r"^\s+(\w+): (.+)$", inspect.getdoc(function) or "", re.MULTILINE))
    members = [
        (name, hints.get(name, type(each.default)), parameter(each.default, helps.get(name, "")))
        for name, each in given.items()
        if name not in _MACHINE
    ]

    def build(scene: Any, *, device: Any = "auto", threads: int | None = None) -> Simulation[Any]:
        machine = {key: value for key, value in zip(_MACHINE, (device, threads), strict=True) if key in given}
        made = function(**values(scene), **machine)
        if not isinstance(made, Simulation):
            raise InvalidValue(f"{function.__name__}() must return a simulation, not {type(made).__name__}.")
        return made

    doc = (inspect.getdoc(function) or f"The simulation of {function.__name__}().").split("\n\n")[0]
    title = function.__name__.title().replace("_", "")
    namespace = {"build": build, "__doc__": doc}
    made = make_dataclass(title, members, frozen=True, namespace=namespace)
    made.__module__ = function.__module__
    return made


def _numbers(scene: Any, simulation: Simulation[Any]) -> list[Measurement]:
    """The numbers of the last moment, where a scene measures nothing of its own."""
    found: dict[str, Measurement] = {}
    for name, number in simulation.snapshot_numbers().items():
        called = hyphened(name)  # sensors and controls are called as users like, such as "Left foot.x"
        if called in found:
            called = f"{called}-{len(found)}"
        found[called] = Measurement(called, float(number.value), number.unit)
    return list(found.values())
