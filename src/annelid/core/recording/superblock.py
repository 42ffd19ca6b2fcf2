"""Opening an HDF5 file whose writer was killed, or still writes, without touching it.

Such a file says in its first block, the superblock, that it is open for writing, and HDF5 then refuses it, or, as an
SWMR reader, retries without end where it is damaged. `settled` gives a view of the file with that remark taken out.
Layout of the superblock: HDF5 File Format Specification 3.0, sec. II.A, version 3.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

_SIZE = 48
_FLAGS, _END = 11, slice(28, 36)
_MASK = 0xFFFFFFFF


def settled(path: Path) -> Path | io.RawIOBase:
    """The path itself if the file was closed, else a readable view of the file as it would be had it been closed."""
    with path.open("rb") as file:
        block = file.read(_SIZE)
    if len(block) < _SIZE or block[8:11] != b"\x03\x08\x08" or not block[_FLAGS]:
        return path
    return _Settled(path, block)


class _Settled(io.RawIOBase):
    """The bytes of a file with another superblock in front, and zeros after its end."""

    def __init__(self, path: Path, block: bytes) -> None:
        self._file = path.open("rb")
        end = self._file.seek(0, io.SEEK_END)
        fresh = bytearray(block)
        fresh[_FLAGS] = 0
        fresh[_END] = end.to_bytes(8, "little")
        fresh[-4:] = lookup3(bytes(fresh[:-4])).to_bytes(4, "little")
        self._block, self._end, self._at = bytes(fresh), end, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to a place."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        """The current place."""
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer, from the new superblock where that lies in the way."""
        view = memoryview(buffer).cast("B")
        self._file.seek(self._at)
        count = self._file.readinto(view)
        view[count:] = bytes(len(view) - count)
        if self._at < _SIZE:
            head = self._block[self._at : self._at + len(view)]
            view[: len(head)] = head
        self._at += len(view)
        return len(view)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        super().close()


def lookup3(data: bytes) -> int:
    """Bob Jenkins' lookup3 hash (hashlittle, initial value 0), the checksum of HDF5's own blocks."""
    a = b = c = (0xDEADBEEF + len(data)) & _MASK
    padded = data + bytes(-len(data) % 12)
    words = [int.from_bytes(padded[i : i + 4], "little") for i in range(0, len(padded), 4)]
    for i in range(0, len(words), 3):
        a, b, c = (a + words[i]) & _MASK, (b + words[i + 1]) & _MASK, (c + words[i + 2]) & _MASK
        a, b, c = _mix(a, b, c) if i + 3 < len(words) else _final(a, b, c)
    return c


def _rotated(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (32 - bits))) & _MASK


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & _MASK) ^ _rotated(c, bits)
        c = (c + b) & _MASK
        a, b, c = b, c, a
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotated(b, bits)) & _MASK
        a, b, c = b, c, a
    return c, a, b  # an odd number of turns
