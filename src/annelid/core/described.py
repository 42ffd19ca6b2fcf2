"""Objects that say what they are: in one line when printed, as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


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
