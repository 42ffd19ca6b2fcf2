"""Parameters of a scene that take several values: `--vary PARAMETER=VALUE,VALUE,...`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from annelid.core.errors import InvalidValue, UnknownName

_TRUTHS = {"true": True, "false": False}


def varied(scene: Any, given: Sequence[str]) -> dict[str, list[Any]]:
    """Values by name of the parameter."""
    found: dict[str, list[Any]] = {}
    for text in given:
        name, values = _values(scene, text)
        if name in found:
            raise InvalidValue(f"--vary {text!r} gives {name} a second time: give all of its values at once.")
        found[name] = values
    return found


def _values(scene: Any, text: str) -> tuple[str, list[Any]]:
    name, _, values = text.partition("=")
    defaults: dict[str, Any] = {f.name: f.default for f in fields(scene)}
    if name not in defaults:
        raise UnknownName("parameter", name, defaults)
    kind = type(defaults[name])
    try:
        chosen = [_TRUTHS[one.lower()] if kind is bool else kind(one) for one in values.split(",") if one]
    except (KeyError, ValueError):
        raise InvalidValue(f"--vary {text!r}: the values of {name} must be of type {kind.__name__}.") from None
    if not chosen:
        raise InvalidValue(f"--vary {text!r} names no values; write it as {name}=VALUE,VALUE.")
    return name, chosen
