"""Damage to files: from a sample and a seed to a damaged file, always the same."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable

from annelid.core.recording.records import MAGIC, encoded, records

Mutation = Callable[[bytes, random.Random], bytes]

_NUMBERS = (
    b"-1",
    b"0",
    b"1",
    b"2147483647",
    b"4294967296",
    b"99999999999999999999",
    b"1e400",
    b"-1e-320",
    b"nan",
    b"inf",
)
_WORDS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1)


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        out[rng.randrange(len(out))] ^= rng.choice((0xFF, 1 << rng.randrange(8), rng.randrange(1, 256)))
    return bytes(out)


def cut(data: bytes, rng: random.Random) -> bytes:
    """Cut off."""
    return data[: rng.randrange(len(data))]


def blotted(data: bytes, rng: random.Random) -> bytes:
    """A stretch of equal bytes."""
    at, length = rng.randrange(len(data)), rng.choice((1, 4, 16, 64, 512))
    fill = bytes([rng.choice((0, 0xFF, 0x20, rng.randrange(256)))])
    return data[:at] + (fill * length)[: len(data) - at] + data[at + length :]


def grown(data: bytes, rng: random.Random) -> bytes:
    """Something in between: noise, or a piece of the file once more."""
    at, start = rng.randrange(len(data)), rng.randrange(len(data))
    piece = (
        rng.randbytes(rng.choice((1, 8, 100))) if rng.random() < 0.5 else data[start : start + rng.randrange(1, 200)]
    )
    return data[:at] + piece * rng.choice((1, 1, 1, 20)) + data[at:]


def shrunk(data: bytes, rng: random.Random) -> bytes:
    """A piece missing."""
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 2, 8, 100)) :]


def renumbered(data: bytes, rng: random.Random) -> bytes:
    """A number in a text that is another one: a size, an index, a coordinate."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e[-+]?\d+)?", data[:20000]))
    if not found:
        return flipped(data, rng)
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(_NUMBERS) + data[one.end() :]


def reworded(data: bytes, rng: random.Random) -> bytes:
    """A whole number in binary that is another one."""
    size, at = rng.choice((2, 4, 8)), rng.randrange(len(data))
    order = rng.choice(("little", "big"))
    return data[:at] + (rng.choice(_WORDS) % 256**size).to_bytes(size, order) + data[at + size :]


def renamed(data: bytes, rng: random.Random) -> bytes:
    """A word in a text that is another one of the same text, or brackets without end."""
    found = list(re.finditer(rb"[A-Za-z_$]{2,}", data[:20000]))
    if not found or rng.random() < 0.1:
        return data.replace(rng.choice((b"[", b"{", b"(", b" ")), rng.choice((b"[", b"{", b"(")) * 3000, 1)
    one, other = rng.choice(found), rng.choice(found)
    return data[: one.start()] + other[0] + data[one.end() :]


PLAIN: tuple[Mutation, ...] = (flipped, cut, blotted, grown, shrunk, renumbered, reworded, renamed)


def resealed_archive(data: bytes, rng: random.Random) -> bytes:
    """A part of an archive damaged, with a checksum that is right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(parts))
    parts[name] = rng.choice(PLAIN)(parts[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, part in parts.items():
            archive.writestr(key, part)
    return out.getvalue()


def resealed_recording(data: bytes, rng: random.Random) -> bytes:
    """A record of a recording damaged, with checksums that are right."""
    found = list(records(io.BytesIO(data), len(data)))
    damaged = rng.choice(found)
    out = MAGIC
    for record in found:
        meta = rng.choice(PLAIN)(record.meta, rng) if record is damaged else record.meta
        out += encoded(record.kind, meta, record.end - record.start) + data[record.start : record.end]
    return out


def mutated(data: bytes, seed: int, extra: tuple[Mutation, ...] = ()) -> bytes:
    """The sample, damaged in one or two ways."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 2))):
        mutation = rng.choice(extra) if extra and rng.random() < 0.5 else rng.choice(PLAIN)
        try:
            data = mutation(data, rng)
        except Exception:
            data = flipped(data, rng)  # what was damaged already cannot be sealed again
        if not data:
            break
    return data
