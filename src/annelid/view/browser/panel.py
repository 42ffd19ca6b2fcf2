"""Controls for the parameters of a scene, made from its dataclass: a slider, a box, a list, by type and metadata.

Field metadata: `unit`, `range` (two ends), `help`, and `live`, true where a change acts while the simulation runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.parameters import values

Changed = Callable[[str, Any], None]


def parameter_fields(scene: Any) -> tuple[Field[Any], ...]:
    """The parameters of a scene (class or object) for which there is a control."""
    kinds = get_type_hints(scene if isinstance(scene, type) else type(scene))
    return tuple(f for f in fields(scene) if f.init and _known(kinds[f.name]))


def _known(kind: Any) -> bool:
    return kind in (bool, int, float, str) or get_origin(kind) is Literal


def sweepable(scene: Any) -> tuple[str, ...]:
    """Names of the parameters that can be varied over simulations side by side: numbers with a range."""
    return tuple(f.name for f in parameter_fields(scene) if f.metadata.get("range") and not isinstance(f.default, bool))


def sweep(scene: Any, name: str, count: int) -> list[Any]:
    """Values of a parameter from one end of its range to the other."""
    field = next(f for f in fields(scene) if f.name == name)
    low, high = field.metadata["range"]
    share = [i / max(count - 1, 1) for i in range(count)]
    whole = get_type_hints(type(scene))[name] is int
    spread = [low + s * (high - low) for s in share]
    return [round(v) for v in spread] if whole else spread


def add_controls(gui: Any, scene: Any, changed: Changed, *, only_live: bool = False) -> dict[str, Any]:
    """Add a control for each parameter; `changed(name, value)` is called when someone moves one.

    Args:
        gui: The panel, or what stands for it.
        scene: The scene.
        changed: Called with a name and a value.
        only_live: Leave out what acts after a reset.

    Returns:
        The controls by name of the parameter.
    """
    kinds = get_type_hints(type(scene))
    handles, current = {}, values(scene)
    for field in parameter_fields(scene):
        if only_live and not field.metadata.get("live"):
            continue
        handle = _control(gui, field, kinds[field.name], current[field.name])
        handle.on_update(lambda event, name=field.name: changed(name, event.target.value))
        handles[field.name] = handle
    return handles


def _control(gui: Any, field: Field[Any], kind: Any, value: Any) -> Any:
    meta = field.metadata
    unit = f" [{meta['unit']}]" if meta.get("unit") else ""
    mark = "" if meta.get("live") else " ↻"
    label = field.name.replace("_", " ") + unit + mark
    hint = str(meta.get("help", "")) + ("" if meta.get("live") else " (acts after a reset)")
    if get_origin(kind) is Literal:
        return gui.add_dropdown(label, tuple(str(v) for v in get_args(kind)), initial_value=str(value), hint=hint)
    if kind is bool:
        return gui.add_checkbox(label, bool(value), hint=hint)
    if kind is str:
        return gui.add_text(label, str(value), hint=hint)
    if not meta.get("range"):
        return gui.add_number(label, kind(value), hint=hint)
    low, high = (kind(end) for end in meta["range"])
    low, high = min(low, value), max(high, value)
    step = 1 if kind is int else _step(high - low)
    return gui.add_slider(label, low, high, step, kind(value), hint=hint)


def _step(span: float) -> float:
    """About a 200th of the range, as a round number."""
    if span <= 0.0:
        return 1.0
    power = 10.0 ** len(str(int(200.0 / span))) if span < 200.0 else 1.0
    return max(1.0 / power, span / 1000.0)


def converted(scene: Any, name: str, value: Any) -> Any:
    """The value of a control as the type of its parameter; what is no value of it is refused."""
    kind = get_type_hints(type(scene))[name]
    if get_origin(kind) is Literal:
        known = {str(v): v for v in get_args(kind)}
        if str(value) not in known:
            raise UnknownName(name.replace("_", " "), str(value), known)
        return known[str(value)]
    if kind in (int, float) and not math.isfinite(value):
        raise InvalidValue(f"{name} {value} must be a finite number.")
    return kind(value)
