"""The atlas as text: Markdown, which the documentation takes, and one HTML file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from annelid.commands.support.atlas import Section, Table

_COLORS = {"yes": "#2e7d32", "no": "#c62828"}  # what does not hold stays red
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border-bottom: 1px solid #ddd; padding: 0.2em 0.8em 0.2em 0; text-align: left; vertical-align: top; }
code { background: #f3f3f3; }
"""


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """The page in Markdown."""
    parts = [f"# {title}"]
    for section in sections:
        parts += [f"## {section.title}", *section.sentences]
        if section.table is not None:
            parts.append(_markdown_table(section.table))
    return "\n\n".join(parts) + "\n"


def as_html(title: str, sections: Sequence[Section]) -> str:
    """The page as one HTML file that needs no other."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for section in sections:
        parts.append(f'<h2 id="{escape(section.title)}">{escape(section.title)}</h2>')
        parts += [f"<p>{_html_text(sentence)}</p>" for sentence in section.sentences]
        if section.table is not None:
            parts.append(_html_table(section.table))
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _markdown_table(table: Table) -> str:
    lines = [_markdown_row(table.head), _markdown_row(["---"] * len(table.head))]
    return "\n".join(lines + [_markdown_row([_coloured(cell, _plain(cell)) for cell in row]) for row in table.rows])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(cell: str) -> str:
    """A text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|$~])", r"\\\1", cell)


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = ["".join(f"<td>{_coloured(cell, escape(cell))}</td>" for cell in row) for row in table.rows]
    return f"<table><tr>{head}</tr>\n" + "\n".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _html_text(sentence: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(sentence))


def _coloured(cell: str, text: str) -> str:
    color = _COLORS.get(cell)
    return text if color is None else f'<span style="color:{color};font-weight:bold">{text}</span>'
