"""Scenes from a user's own Python file: a class like those of this package, or a function that returns a simulation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, make_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.measurement import Measurement
from annelid.core.own_files import load_own, split_own
from annelid.core.scene import Scene, parameter, values
from annelid.core.simulation import Simulation

DURATION = 5.0
"""Simulated time of a run [s] where the file does not say."""

_MACHINE = ("device", "threads")


def own_scene(given: str) -> type[Scene]:
    """The scene of FILE.py, or the one called NAME of FILE.py:NAME where it has several.

    A class is a dataclass with `build`; `name`, `duration` and `measure` may be left out. The parameters of a function
    become options like the fields of a class; `device` and `threads`, if it has them, are those of the command.
    """
    path, wanted = split_own(given) or (Path(given), "")
    module = load_own(path)
    found = _candidates(module)
    if wanted:
        if wanted not in found:
            raise UnknownName(f"scene in {path.name}", wanted, found)
        return _scene(found[wanted], path.stem)
    if not found:
        raise InvalidValue(
            f"{path.name} has no scene: write a dataclass with build(), or a function that returns a simulation and "
            "needs no arguments."
        )
    if len(found) > 1:
        names = list(found)
        raise InvalidValue(f"{path.name} has several scenes: {', '.join(names)}; name one, {path.name}:{names[0]}.")
    return _scene(next(iter(found.values())), path.stem)


def _candidates(module: ModuleType) -> dict[str, Any]:
    """Scenes that are defined in a module by name: its classes, or else its functions."""
    own = {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    }
    classes = {name: c for name, c in own.items() if inspect.isclass(c) and is_dataclass(c) and "build" in dir(c)}
    if classes:
        return classes
    functions = {name: f for name, f in own.items() if inspect.isfunction(f) and _needs_nothing(f)}
    saying = {name: f for name, f in functions.items() if _says_simulation(f)}
    return saying or functions


def _needs_nothing(function: Callable[..., Any]) -> bool:
    given = inspect.signature(function).parameters.values()
    return all(p.default is not p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in given)


def _says_simulation(function: Callable[..., Any]) -> bool:
    return "Simulation" in str(inspect.signature(function).return_annotation)


def _scene(found: Any, name: str) -> type[Scene]:
    kind: Any = found if inspect.isclass(found) else _class_of(found)
    for each in fields(kind):
        if each.init and each.default is each.default_factory:  # both missing
            raise InvalidValue(f"the parameter {each.name} of {kind.__name__} needs a default.")
    given = {"name": name, "duration": DURATION, "measure": _numbers}
    missing = {key: value for key, value in given.items() if key not in dir(kind)}
    return type(kind.__name__, (kind,), {**missing, "__doc__": kind.__doc__, "__module__": kind.__module__})


def _class_of(function: Callable[..., Any]) -> type[Any]:
    """A scene whose parameters are those of a function."""
    hints = get_type_hints(function)
    given = inspect.signature(function).parameters
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
    return [Measurement(name, float(n.value), n.unit) for name, n in simulation.snapshot_numbers().items()]
