"""Objects that say what they are: in one line when printed, as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from html import escape
from typing import Any, ClassVar

import numpy as np

_MOST_SHOWN, _LONGEST = 8, 150  # elements of a list, and characters of a value, that are printed


def in_brief(value: object) -> str:
    """A value in a few characters: arrays by their shape, long lists by their number."""
    if isinstance(value, np.ndarray) and value.size > _MOST_SHOWN:
        return f"array of shape {list(value.shape)}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ").replace("\n", "")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        text = f"[{', '.join(map(in_brief, value[:_MOST_SHOWN]))}]"
        return (
            text
            if len(value) <= _MOST_SHOWN and len(text) <= _LONGEST
            else f"{len(value)} of {type(value[0]).__name__}"
        )
    return f"{value!r:.{_LONGEST}}"


def listed(names: Iterable[str]) -> str:
    """Names of parts, or their number where they are many."""
    found = list(names)
    return ", ".join(found) if len(found) <= _MOST_SHOWN else str(len(found))


class Brief:
    """Prints as its class with the fields that differ from their defaults, in brief.

    A dataclass that inherits from it is declared with `repr=False`.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __repr__(self) -> str:
        shown = [(one, vars(self)[one.name]) for one in fields(self) if one.repr]
        given = [f"{one.name}={in_brief(value)}" for one, value in shown if not _is_default(one, value)]
        return f"{type(self).__name__}({', '.join(given)})"


def _is_default(field: Field[Any], value: object) -> bool:
    usual = field.default if field.default_factory is MISSING else field.default_factory()
    return type(value) is type(usual) and not isinstance(value, np.ndarray) and bool(value == usual)


class Described:
    """Prints as its class with a few facts, never with the contents of its arrays.

    A dataclass that inherits from it is declared with `repr=False`.
    """

    def facts(self) -> Mapping[str, str]:
        """What a reader wants to know at a glance, by name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name} {value}' for name, value in self.facts().items())})"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, list(self.facts().items()))


def html_table(title: str, rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table for a notebook; the first column is on the left, numbers line up on the right."""
    top = f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>" if head else ""
    body = "".join("<tr>" + "".join(_cell(cell, number) for number, cell in enumerate(row)) + "</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption>{top}{body}</table>"


def _cell(text: str, column: int) -> str:
    return f'<td style="text-align:{"left" if column == 0 else "right"}">{escape(text)}</td>'


def extent(low: Any, high: Any) -> str:
    """Size of a box between two corners [m]: "0.2 × 0.2 × 0.1 m"."""
    return " × ".join(f"{b - a:.4g}" for a, b in zip(low, high, strict=True)) + " m"
