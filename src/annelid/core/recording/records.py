"""The file of a recording: records one after another, each announced by a head with a checksum.

A record is written after all others and never changed. Whatever ends the writer, a kill, a crash, a full
disk, what it had finished is whole, and at most the last record is cut off. A head that is whole but wrong is damage.

    file   = MAGIC, records
    record = head (kind, sizes of meta and data, checksum of these and of meta), meta, data

Meta is small and read when the file is opened. Data, the arrays of a frame, is read when it is wanted, and each array
has a checksum in the meta of those frames that refer to it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"\x89annelid-recording\r\n"
VERSION = 2

HEADER, LAYOUT, FRAME, EVENT, END = range(1, 6)
"""Kinds of records: who wrote it, the layout of frames, a frame, an event, and that the writer has finished."""

_HEAD = struct.Struct("<IIQII")  # kind, bytes of meta, bytes of data, checksum of meta, checksum of this head
_GUARDED = _HEAD.size - 4


@dataclass(frozen=True)
class Record:
    """A record as it lies in a file.

    Attributes:
        kind: What it is.
        meta: Its meta.
        start: Place of its data in the file.
        end: Place of the next record.
    """

    kind: int
    meta: bytes
    start: int
    end: int


def encoded(kind: int, meta: bytes, data_bytes: int = 0) -> bytes:
    """The head and the meta of a record; so many bytes of data must follow."""
    guarded = struct.pack("<IIQI", kind, len(meta), data_bytes, zlib.crc32(meta))
    return guarded + zlib.crc32(guarded).to_bytes(4, "little") + meta


def data_place(at: int, meta_bytes: int) -> int:
    """Place of the data of a record that begins at a place."""
    return at + _HEAD.size + meta_bytes


def records(file: BinaryIO, size: int) -> Iterator[Record]:
    """The whole records of a file of some size, from its beginning; one that is cut off ends them.

    Nothing is read that the file is too short to hold.
    """
    at = len(MAGIC)
    while at + _HEAD.size <= size:
        file.seek(at)
        head = file.read(_HEAD.size)
        kind, meta_bytes, data_bytes, checksum, own = _HEAD.unpack(head)
        if own != zlib.crc32(head[:_GUARDED]):
            raise ValueError(f"a record at byte {at} does not match its checksum")
        start = data_place(at, meta_bytes)
        if start + data_bytes > size:
            return
        meta = file.read(meta_bytes)
        if checksum != zlib.crc32(meta):
            raise ValueError(f"a record at byte {at} does not match its checksum")
        yield Record(kind, meta, start, start + data_bytes)
        at = start + data_bytes
