"""Writing XML: one element a line, layers as character data, the same text for the same elements."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from annelid.core.files import write_text


def write_xml(root: ElementTree.Element, path: Path) -> None:
    """Write a file, whole or not at all."""
    write_text(path, xml_text(root))


def xml_text(root: ElementTree.Element) -> str:
    """The text of a document."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    left: list[tuple[ElementTree.Element | str, int]] = [(root, 0)]
    while left:  # formulas are nested too deeply for recursion
        one, level = left.pop()
        if isinstance(one, str):
            lines.append("  " * level + one)
            continue
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in one.attrib.items())
        begin = "  " * level + f"<{one.tag}{attributes}"
        if len(one):
            lines.append(begin + ">")
            left.append((f"</{one.tag}>", level))
            left.extend((child, level + 1) for child in reversed(one))
        elif one.tag == "Layer":
            lines.append(f"{begin}><![CDATA[{one.text or ''}]]></{one.tag}>")
        else:
            lines.append(f"{begin}>{escape(one.text)}</{one.tag}>" if one.text else f"{begin}/>")
    return "\n".join(lines) + "\n"
