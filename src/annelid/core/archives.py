"""Arrays and a header of plain values in one file, whole or not there, safe to read wherever it comes from.

The file is a plain .npz, which `numpy.load` opens: a zip of arrays, the first of them `header`, JSON text that names
the format, its version and all other arrays. Nothing in it is believed. Of each part the size is held against the
file's before anything is allocated, the description of an array is matched letter by letter against what
`write_archive` writes (no pickle, no structured types, no evaluation of text), and no array is handed out before the
checksum of its part was found right.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError
from annelid.core.files import open_regular, replaced

Arrays = dict[str, np.ndarray]

_HEADER = "header"
_LARGEST_HEADER = 1 << 26
_PACKED = 20  # times that a header may be larger than the file that holds it, where it is packed
_CHUNK = 1 << 22
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # ways to pack a part
_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([<|][biuf][1248])', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n\Z"
)


@dataclass(frozen=True)
class Kind:
    """A kind of archive.

    Attributes:
        format: Its name in the file.
        version: The version that is written and read.
        title: What to call it in sentences: "a checkpoint".
    """

    format: str
    version: int
    title: str


def write_archive(
    path: str | os.PathLike[str],
    kind: Kind,
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    packed: bool = False,
) -> None:
    """Write an archive, whole or not at all.

    Args:
        path: The file.
        kind: What it is.
        header: Values that JSON can hold, by name.
        arrays: Arrays of numbers or truth values by name.
        packed: Compress them, which takes many times as long.
    """
    full = {"format": kind.format, "version": kind.version, "arrays": list(arrays), **header}
    text = np.frombuffer(json.dumps(full).encode(), np.uint8)
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with replaced(Path(path)) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for name, array in {_HEADER: text, **arrays}.items():
            _write_part(file, name, np.asarray(array, order="C"), method)


def read_archive(
    path: str | os.PathLike[str], kind: Kind, *, max_bytes: int | None = None
) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of an archive.

    Args:
        path: The file.
        kind: What it should be.
        max_bytes: Size that it may unpack to; None for the size of the file, as it is where nothing is packed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"there is no file {path}: give the path of {kind.title}.")
    try:
        with open_regular(path) as stored, zipfile.ZipFile(stored) as file:
            parts = _checked_parts(path, file, kind, path.stat().st_size if max_bytes is None else max_bytes)
            header = _read_header(path, file, parts, kind)
            if sorted(header["arrays"]) != sorted(parts):
                raise ValueError("arrays are missing or too many")
            return header, {name: _read_part(file, part) for name, part in parts.items()}
    except FileFormatError:
        raise
    except Exception as error:  # zipfile and zlib raise whatever their line of code happens to raise
        reason = (str(error).splitlines() or [""])[0][:200].rstrip(".") or type(error).__name__
        raise FileFormatError(f"{path} is not {kind.title}, or it is damaged ({reason}).") from error


def archive_header(path: Path) -> dict[str, Any] | None:
    """The header of an archive of whatever kind and version; None where the file is none."""
    try:
        with open_regular(path) as stored, zipfile.ZipFile(stored) as file:
            entry = file.getinfo(f"{_HEADER}.npy")
            most = min(_LARGEST_HEADER, _PACKED * path.stat().st_size)
            if entry.compress_type not in _KNOWN or entry.file_size > most:
                return None
            header = json.loads(_read_part(file, entry).tobytes())
    except Exception:  # as in `read_archive`
        return None
    return header if isinstance(header, dict) else None


def _write_part(file: zipfile.ZipFile, name: str, array: np.ndarray, method: int) -> None:
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"array {name!r} is of the type {array.dtype}, which an archive does not hold.")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    entry = zipfile.ZipInfo(f"{name}.npy")  # of a fixed date: equal contents make equal files
    entry.compress_type = method
    with file.open(entry, "w", force_zip64=True) as part:
        np.lib.format.write_array_header_1_0(part, np.lib.format.header_data_from_array_1_0(array))
        part.write(array.reshape(-1).view(np.uint8).data)


def _checked_parts(path: Path, file: zipfile.ZipFile, kind: Kind, most: int) -> dict[str, zipfile.ZipInfo]:
    """The parts of the file by name, if together they are not larger than they may be."""
    parts = {part.filename.removesuffix(".npy"): part for part in file.infolist()}
    size = sum(part.file_size for part in file.infolist())
    if size > most:
        raise FileFormatError(f"{path} unpacks to {size} bytes, which is more than {most}: too much for {kind.title}.")
    if len(parts) < len(file.infolist()) or any(part.compress_type not in _KNOWN for part in parts.values()):
        raise ValueError("it is put together or packed in another way")
    return parts


def _read_header(path: Path, file: zipfile.ZipFile, parts: dict[str, zipfile.ZipInfo], kind: Kind) -> dict[str, Any]:
    """The header, taken out of the parts; another format or version is refused before anything else is looked at."""
    entry = parts.pop(_HEADER, None)
    if entry is None or entry.file_size > _LARGEST_HEADER:
        raise ValueError("it has no header")
    header = json.loads(_read_part(file, entry).tobytes())
    if not isinstance(header, dict) or header.get("format") != kind.format:
        raise ValueError("it is of another format")
    if header.get("version") != kind.version:
        raise FileFormatError(f"{path} has version {header.get('version')}; this Annelid reads version {kind.version}.")
    return header


def _read_part(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """An array; the file's end, where the checksum is held against what was read, is reached before it is returned."""
    with file.open(entry) as part:
        start = part.read(len(_MAGIC) + 2)
        length = int.from_bytes(start[len(_MAGIC) :], "little")
        found = _DESCRIPTION.match(part.read(length))
        if start[: len(_MAGIC)] != _MAGIC or found is None:
            raise ValueError(f"{entry.filename} is not an array of numbers")
        dtype, shape = np.dtype(found[1].decode()), tuple(int(n) for n in found[2].replace(b",", b" ").split())
        size = math.prod(shape) * dtype.itemsize
        if len(start) + length + size != entry.file_size:
            raise ValueError(f"the size of {entry.filename} is not that of its array")
        array = np.empty(size, np.uint8)
        at = 0
        while chunk := part.read(_CHUNK):
            array[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
            at += len(chunk)
    if at != size:
        raise ValueError(f"{entry.filename} is cut off")
    return array.view(dtype).reshape(shape)
