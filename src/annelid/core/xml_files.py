"""XML from strangers: sizes are checked, and documents with a type declaration, and so with entities, are refused."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from annelid.core.errors import FileFormatError
from annelid.core.files import read_bytes

MOST_LEVELS = 1200
"""Levels of elements inside each other."""


class _Refused(ValueError):
    """Something that a document may not have."""


def parse_xml(
    path: Path, what: str, *, most_bytes: int, most_elements: int, with_text: bool = True
) -> ElementTree.Element:
    """The elements of a file.

    Args:
        path: The file.
        what: What kind of file it should be, for the sentences that refuse it: "URDF".
        most_bytes: Largest size of the file.
        most_elements: Largest number of elements.
        with_text: Whether what is written between elements is kept.
    """
    try:
        content = read_bytes(path, most=most_bytes)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return _Tree(what, most_elements, with_text).parsed(content)
    except (expat.ExpatError, AssertionError, UnicodeError, LookupError, _Refused) as error:
        said = " ".join(str(error).split())
        raise FileFormatError(f"{path} is not a readable {what} file: {said}.") from None


class _Tree:
    """A document as it is read."""

    def __init__(self, what: str, most_elements: int, with_text: bool) -> None:
        self.what, self.most, self.with_text = what, most_elements, with_text
        self.builder = ElementTree.TreeBuilder()
        self.elements = self.level = 0

    def parsed(self, content: bytes) -> ElementTree.Element:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        if self.with_text:
            parser.CharacterDataHandler = self.builder.data
        parser.Parse(content, True)
        return self.builder.close()

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self.elements, self.level = self.elements + 1, self.level + 1
        if self.elements > self.most:
            raise _Refused(f"it has more than {self.most} elements")
        if self.level > MOST_LEVELS:
            raise _Refused(f"its elements are inside each other more than {MOST_LEVELS} levels deep")
        self.builder.start(name, attributes)

    def _end(self, name: str) -> None:
        self.level -= 1
        self.builder.end(name)

    def _refuse_doctype(self, *_: object) -> NoReturn:
        raise _Refused(f"it declares a document type, which a {self.what} file has no use for")
