"""Dataclasses whose fields are elements of a file: reading, writing, and what nobody knows."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol, TypeVar

from annelid.core.errors import FileFormatError
from annelid.voxels3d.files.formulas import Formula, formula_element, parse_formula


class Tagged(Protocol):
    """A dataclass whose fields were made by `tag`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


T = TypeVar("T", bound=Tagged)


def tag(path: str, default: Any, *, absent: Any = None, other: str = "") -> Any:
    """A field that is an element.

    Args:
        path: Names of the element and of those around it, "Gravity/GravAcc".
        default: Its value where the element is missing; says whether it is a truth value, a whole number, a number or
            a text. A formula is None.
        absent: Its value where even the element around it is missing.
        other: Another name of the element, in files of other programs; it is read and never written.
    """
    return field(default=default, metadata={"path": path, "absent": absent, "other": other})


@dataclass
class Reading:
    """A file that is being read.

    Attributes:
        name: Name of the file, for messages.
        used: Elements that were understood.
    """

    name: str
    used: set[ElementTree.Element]

    def find(self, root: ElementTree.Element, path: str) -> ElementTree.Element | None:
        """An element and those around it, which count as understood."""
        for part in path.split("/"):
            found = root.find(part)
            if found is None:
                return None
            self.used.add(found)
            root = found
        return root

    def tagged(self, kind: type[T], root: ElementTree.Element | None, where: str) -> T:
        """A dataclass from the elements in one."""
        values = {}
        for each in fields(kind):
            path, other = each.metadata["path"], each.metadata["other"]
            found = None if root is None else self.find(root, path)
            if found is None and other and root is not None:
                found = self.find(root, other)
            if found is not None:
                values[each.name] = self.value(each, found, f"{where}/{path}")
            elif each.metadata["absent"] is not None and (root is None or not _has_parent(root, path)):
                values[each.name] = each.metadata["absent"]
        return kind(**values)

    def value(self, each: Field[Any], found: ElementTree.Element, where: str) -> Any:
        """What an element says."""
        if "Formula" in str(each.type):
            self.used.update(found.iter())
            return parse_formula(found, f"{where} of {self.name}")
        text = (found.text or "").strip()
        if isinstance(each.default, str):
            return text
        number = self.number(text, where)
        if isinstance(each.default, bool) or "bool" in str(each.type):
            return number != 0.0
        if isinstance(each.default, int):
            if number % 1.0 != 0.0 or abs(number) > 2**53:
                raise FileFormatError(f"{where} of {self.name} must be a whole number, not {text[:40]!r}.")
            return int(number)
        return number

    def number(self, text: str, where: str) -> float:
        """A finite number."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise FileFormatError(f"{where} of {self.name} must be a finite number, not {text[:40]!r}.")
        return number

    def unknown(self, root: ElementTree.Element, where: str) -> list[str]:
        """Paths of the outermost elements that nobody has understood, each once."""
        found: dict[str, None] = {}
        left = [(root, where)]
        while left:
            parent, path = left.pop()
            for child in parent:
                here = f"{path}/{child.tag[:40]}"
                if child in self.used:
                    left.append((child, here))
                else:
                    found[here] = None
        return sorted(found)


def write_tagged(values: Tagged, root: ElementTree.Element) -> None:
    """Add the elements of a dataclass to one."""
    for each in fields(values):
        value = vars(values)[each.name]
        if value is None:
            continue
        parent = root
        *around, last = each.metadata["path"].split("/")
        for name in around:
            found = parent.find(name)
            parent = ElementTree.SubElement(parent, name) if found is None else found
        one = ElementTree.SubElement(parent, last)
        if isinstance(value, Formula):
            one.append(formula_element(value))
        else:
            one.text = told(value)


def told(value: Any) -> str:
    """A value as files have it."""
    if isinstance(value, bool):
        return str(int(value))
    return repr(float(value)) if isinstance(value, float) else str(value)


def _has_parent(root: ElementTree.Element, path: str) -> bool:
    around = path.rpartition("/")[0]
    return around == "" or root.find(around) is not None
