"""The element `Structure`: which material each cell has, in three compressions, and numbers of cells in layers."""

from __future__ import annotations

import base64
import binascii
import xml.etree.ElementTree as ElementTree
import zlib
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.options import is_among
from annelid.voxels3d.files.tags import Reading, told

Compression = Literal["ASCII_READABLE", "ZLIB", "BASE64"]

MOST_CELLS = 20_000_000
"""Cells of a structure, filled or not."""

LAYERED = {
    "PhaseOffset": 1, "Amplitude": 1, "Frequency": 1, "Stiffness": 1, "BaseCiliaForce": 3, "ShiftCiliaForce": 3,
}  # fmt: skip
"""Numbers that a cell may have, and how many of each."""

_READABLE_MOST = 126 - ord("0")  # materials that have a printable character of their own


@dataclass(frozen=True, eq=False)
class Structure:
    """Materials and numbers of cells.

    Attributes:
        cells: Number in the palette, from 1, of each cell, 0 where it is empty, uint8 of shape [x, y, z].
        compression: How cells are written.
        layers: Numbers of cells by the names of `LAYERED`, shape [x, y, z, 1 or 3].
    """

    cells: np.ndarray
    compression: Compression = "ASCII_READABLE"
    layers: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_among(self.compression, get_args(Compression)):
            raise InvalidValue(
                f"compression {self.compression!r} must be one of {', '.join(map(repr, get_args(Compression)))}."
            )
        most = _READABLE_MOST if self.compression == "ASCII_READABLE" else 255
        if self.cells.max(initial=0) > most:
            raise InvalidValue(
                f"{self.compression} has room for {most} materials, not for {self.cells.max()}: use 'ZLIB', which has "
                "room for 255."
            )


def read_structure(reading: Reading, element: ElementTree.Element) -> Structure:
    """A structure from its element; nothing is allocated before sizes were found to agree."""
    shape = tuple(_side(reading, element, name) for name in ("X_Voxels", "Y_Voxels", "Z_Voxels"))
    x, y, z = shape
    if x * y * z > MOST_CELLS:
        raise FileFormatError(
            f"the structure of {reading.name} has {x} x {y} x {z} cells, more than the {MOST_CELLS} that can be read."
        )
    given = element.get("Compression", "")
    compression: Compression = (
        "ASCII_READABLE" if given == "ASCII_READABLE" else "ZLIB" if given == "ZLIB" else "BASE64"
    )
    planes = [
        _unpacked(text, compression, x * y, f"layer {number} of {reading.name}")
        for number, text in enumerate(_texts(reading, element, "Data", z))
    ]
    cells = np.frombuffer(b"".join(planes), np.uint8).reshape(z, y, x).transpose(2, 1, 0).copy()
    layers = {name: _numbers(reading, element, name, shape) for name in LAYERED if element.find(name) is not None}
    return Structure(cells, compression, layers)


def write_structure(structure: Structure, parent: ElementTree.Element) -> ElementTree.Element:
    """Add a structure; its layers are to be written as character data."""
    x, y, z = structure.cells.shape
    element = ElementTree.SubElement(parent, "Structure", Compression=structure.compression)
    for name, side in zip(("X_Voxels", "Y_Voxels", "Z_Voxels"), (x, y, z), strict=True):
        ElementTree.SubElement(element, name).text = str(side)
    data = ElementTree.SubElement(element, "Data")
    for plane in structure.cells.transpose(2, 1, 0):
        ElementTree.SubElement(data, "Layer").text = _packed(plane.astype(np.uint8).tobytes(), structure.compression)
    for name in (known for known in LAYERED if known in structure.layers):
        layers = ElementTree.SubElement(element, name)
        for plane in structure.layers[name].transpose(2, 1, 0, 3):
            ElementTree.SubElement(layers, "Layer").text = ",".join(map(told, plane.ravel().tolist()))
    return element


def _side(reading: Reading, element: ElementTree.Element, name: str) -> int:
    found = reading.find(element, name)
    text = "1" if found is None else (found.text or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise FileFormatError(f"{name} of {reading.name} must be a whole number above 0, not {text[:40]!r}.")
    return int(text)


def _texts(reading: Reading, element: ElementTree.Element, name: str, count: int) -> list[str]:
    """What the layers of an element say; there must be as many as the structure is high."""
    found = reading.find(element, name)
    layers = [] if found is None else found.findall("Layer")
    reading.used.update(layers)
    if len(layers) != count:
        raise FileFormatError(
            f"{name} of {reading.name} has {len(layers)} layers, but Z_Voxels says that there are {count}."
        )
    return [(layer.text or "").strip() for layer in layers]


def _unpacked(text: str, compression: Compression, count: int, where: str) -> bytes:
    """Materials of a layer, a byte each."""
    if compression == "ASCII_READABLE":
        codes = np.frombuffer(text.encode("utf-8"), np.uint8)
        if ((codes < ord("0")) | (codes > 126)).any():
            raise FileFormatError(f"{where} has characters that stand for no material: use '0', '1' and what follows.")
        found = (codes - ord("0")).tobytes()
    else:
        found = _decoded(text, compression, count, where)
    if len(found) != count:
        raise FileFormatError(f"{where} has {len(found)} cells, but X_Voxels and Y_Voxels say that there are {count}.")
    return found


def _decoded(text: str, compression: Compression, count: int, where: str) -> bytes:
    """Bytes of Base64, which may hold a zlib stream; no more is unpacked than there should be."""
    try:
        packed = base64.b64decode("".join(text.split()), validate=True)
        if compression == "BASE64":
            return packed
        stream = zlib.decompressobj()
        found = stream.decompress(packed, count + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise FileFormatError(f"{where} cannot be unpacked as {compression}: {error}.") from None
    if len(found) > count:
        raise FileFormatError(f"{where} unpacks to more than the {count} cells that X_Voxels and Y_Voxels announce.")
    return found


def _packed(plane: bytes, compression: Compression) -> str:
    if compression == "ASCII_READABLE":
        return bytes(byte + ord("0") for byte in plane).decode("ascii")
    return base64.b64encode(zlib.compress(plane, 9) if compression == "ZLIB" else plane).decode("ascii")


def _numbers(reading: Reading, element: ElementTree.Element, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of cells from comma-separated layers."""
    x, y, z = shape
    each = LAYERED[name]
    planes = []
    for number, text in enumerate(_texts(reading, element, name, z)):
        words = text.rstrip(", \n\t").split(",")
        where = f"layer {number} of {name} of {reading.name}"
        if len(words) != each * x * y:
            raise FileFormatError(f"{where} has {len(words)} numbers, but its cells need {each * x * y}.")
        try:
            plane = np.array(words, float)
        except ValueError:
            raise FileFormatError(f"{where} has something between its commas that is not a number.") from None
        if not np.isfinite(plane).all():
            raise FileFormatError(f"{where} has a number that is not finite.")
        planes.append(plane)
    return np.stack(planes).reshape(z, y, x, each).transpose(2, 1, 0, 3)
