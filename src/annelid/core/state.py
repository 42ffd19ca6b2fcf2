"""Operations on states: plain dataclasses of Warp arrays, so that copying, hashing and saving them is generic."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import FileFormatError

State = Any
"""A dataclass whose fields are Warp arrays.

Arrays whose names are in `flexible`, a mapping of the class, may grow and shrink while it runs; those that it maps to
one word do so together, in proportion.
"""


def state_arrays(state: State) -> dict[str, wp.array]:
    """The arrays of a state by name."""
    return {f.name: getattr(state, f.name) for f in fields(state)}


def state_hash(state: State) -> str:
    """A hash of every bit of a state; equal states have equal hashes on any number of threads."""
    return arrays_hash({name: array.numpy() for name, array in state_arrays(state).items()})


def arrays_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of names, types, shapes and every bit of some arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for name, values in sorted(arrays.items()):
        digest.update(f"{name}:{values.dtype}:{values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def clone_state(state: State) -> State:
    """A copy on the same device."""
    return type(state)(**{name: wp.clone(array) for name, array in state_arrays(state).items()})


def copy_state(source: State, target: State) -> None:
    """Overwrite a state of the same shapes, in place; flexible arrays of another length are replaced."""
    flexible = _flexible(source)
    for name, array in state_arrays(source).items():
        if name in flexible and len(getattr(target, name)) != len(array):
            setattr(target, name, wp.clone(array))
        else:
            wp.copy(getattr(target, name), array)


def fill_state(state: State, values: Mapping[str, np.ndarray]) -> None:
    """Overwrite a state from host arrays, all or nothing; arrays that do not fit are refused."""
    arrays, flexible = state_arrays(state), _flexible(state)
    for name, array in arrays.items():
        if name not in values:
            raise FileFormatError(f"the checkpoint has no array {name!r}; it was saved by another kind of simulation.")
        expected = array.numpy()
        first = 1 if name in flexible else 0
        shapes = values[name].shape[first:], expected.shape[first:]
        if shapes[0] != shapes[1] or values[name].ndim != expected.ndim or values[name].dtype != expected.dtype:
            raise FileFormatError(
                f"array {name!r} of the checkpoint is {values[name].dtype}{list(values[name].shape)}, "
                f"this simulation needs {expected.dtype}{list(expected.shape)}."
            )
    for word in set(flexible.values()):
        group = [name for name in arrays if flexible.get(name) == word and len(arrays[name])]
        factors = {Fraction(len(values[name]), len(arrays[name])) for name in group}
        if len(factors) > 1:
            raise FileFormatError(f"arrays {', '.join(group)} of the checkpoint have lengths that do not fit together.")
    for name, array in arrays.items():
        if len(values[name]) != len(array):
            setattr(state, name, wp.array(values[name], dtype=array.dtype, device=array.device))
        else:
            array.assign(values[name])


def _flexible(state: State) -> Mapping[str, str]:
    """Names of the arrays of a state whose length may change, and with what."""
    return getattr(type(state), "flexible", {})
