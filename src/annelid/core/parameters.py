"""Parameters of a scene: whether a value is one that can be used, told in one sentence if not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

from annelid.core.errors import InvalidValue
from annelid.core.words import with_article


def require_parameters(scene: Any) -> None:
    """Refuse a scene, or another dataclass of parameters, one of whose values cannot be used.

    Numbers must be finite and within the `limits` of their field's metadata, whole numbers whole, and choices among
    those that there are.
    """
    kinds = get_type_hints(type(scene))
    for field in fields(scene):
        problem = _problem(vars(scene)[field.name], kinds[field.name], field.metadata)
        if problem:
            title = vars(type(scene)).get("name", type(scene).__name__)
            raise InvalidValue(f"{field.name} of {title} must be {problem}, not {_shown(vars(scene)[field.name])}.")


def _number(value: Any, kind: type) -> bool:
    """Whether a value is a number of that kind, and finite."""
    if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
        return False
    return isinstance(value, Integral) or math.isfinite(value)


def _problem(value: Any, kind: Any, metadata: Mapping[str, Any]) -> str:
    """What a value should have been; nothing where it can be used."""
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return "" if value in choices else f"one of {', '.join(map(str, choices))}"
    if kind in (bool, str):
        return "" if isinstance(value, kind) else with_article(kind.__name__)
    if kind not in (int, float):
        return ""
    low, high = metadata.get("limits") or (-math.inf, math.inf)
    if _number(value, kind) and low <= value <= high:
        return ""
    return _range(kind, low, high, metadata.get("unit", ""))


def _range(kind: type, low: float, high: float, unit: str) -> str:
    noun = "a whole number" if kind is int else "a finite number"
    if low == -math.inf and high == math.inf:
        return noun
    return f"{noun + ' ' if kind is int else ''}between {low:.10g} and {high:.10g}{' ' + unit if unit else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 10**15:  # too long to be read digit by digit
        return f"{float(value):g}" if abs(value) < 10**300 else "a number of 300 digits or more"
    return f"{value!r:.40}"
