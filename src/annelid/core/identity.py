"""Identity of settings, for checkpoints: equal settings have equal digests in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly


def identity(*values: Any) -> str:
    """A digest of numbers, words, arrays, dataclasses and functions, and of lists and tables of them.

    A function counts by its name: what it computes is not known.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(values):
        digest.update(part)
        digest.update(b";")
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__.encode()
        for field in fields(value):
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield from _parts(sorted(value.items()))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield f"{len(value)} of".encode()
        for one in value:
            yield from _parts(one)
    elif isinstance(value, wp.Function):
        yield str(value.key).encode()
    elif callable(value):
        yield _name(value).encode()
    else:
        yield repr(value).encode()


def _name(function: Any) -> str:
    try:
        return str(function.__qualname__)
    except AttributeError:  # an object that can be called
        return type(function).__qualname__
