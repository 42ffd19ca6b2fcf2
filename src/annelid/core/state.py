"""States: dataclasses of Warp arrays whose fields say what their rows belong to.

For example::

    @dataclass
    class State:
        positions: wp.array = rows("mass", wp.vec4)
        clock: wp.array = rows("simulation", wp.int64)

Allocating, copying, hashing, saving and restoring some worlds of a state is generic over these declarations: a new
array is added in one line. A field may be a state of its own, declared `nested()`; its arrays have dotted names:
`springs.positions`.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import warp as wp

import annelid.core.pickling  # noqa: F401  lets states be copied and pickled
from annelid.core.errors import FileFormatError
from annelid.core.kernels.worlds import restore_kernel

State = Any
"""A dataclass whose fields are Warp arrays, or states themselves."""

S = TypeVar("S")


@dataclass(frozen=True)
class Rows:
    """What the rows of a state's array belong to.

    Attributes:
        of: A kind of thing that the solver knows: "mass", "grain", "world"... or "simulation".
        dtype: Warp type of a row; None where it depends on the model, and the array is always given.
        each: Rows of each thing.
        spare: Rows after the last that belong to none.
        grows: Arrays that name the same word may change their length while it runs, together and in proportion.
    """

    of: str
    dtype: Any = None
    each: int = 1
    spare: int = 0
    grows: str | None = None


def rows(of: str, dtype: Any = None, *, each: int = 1, spare: int = 0, grows: str | None = None) -> Any:
    """Declare an array of a state; see `Rows`."""
    return field(metadata={"rows": Rows(of, dtype, each, spare, grows)})


def nested() -> Any:
    """Declare a state within a state."""
    return field()


def declared(kind: type) -> dict[str, Rows]:
    """The declarations of a state class by name of the array; those of nested states are theirs."""
    return {f.name: f.metadata["rows"] for f in fields(kind) if "rows" in f.metadata}


def new_state(kind: type[S], counts: Mapping[str, int], device: wp.Device, **given: Any) -> S:
    """A state whose arrays are given, or zeros as declared.

    Args:
        kind: Class of the state.
        counts: How many there are of each kind of thing that rows belong to.
        device: Where arrays are made.
        given: Arrays and nested states that are not zeros.
    """
    made = {
        name: wp.zeros(counts[one.of] * one.each + one.spare, dtype=one.dtype, device=device)
        for name, one in declared(kind).items()
        if name not in given
    }
    return kind(**made, **given)


def bundle(**parts: Any) -> State:
    """A state made of arrays and other states, by name: what saves and loads one, does so with all of them."""
    return make_dataclass("Bundle", list(parts))(**parts)


def state_arrays(state: State) -> dict[str, wp.array[Any]]:
    """The arrays of a state by name."""
    return {name: getattr(owner, own) for name, owner, own, _ in _walk(state)}


def addresses(state: State) -> Callable[[], tuple[int, ...]]:
    """What tells, quickly, where the arrays lie that a state has by then, and how long they are: some grow."""
    places = [(owner, own) for _, owner, own, _ in _walk(state)]

    def found() -> Iterator[int]:
        for owner, own in places:
            array = getattr(owner, own)
            yield array.ptr or 0
            yield array.size

    return lambda: tuple(found())


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


def clone_state(state: S) -> S:
    """A copy on the same device."""
    copies = {name: clone_state(part) if is_dataclass(part) else wp.clone(part) for name, part in vars(state).items()}
    return type(state)(**copies)


def overwrite(array: wp.array[Any], values: Any) -> None:
    """Write host values of the same shape into an array; on the CPU without the array that `assign` makes of them."""
    if array.device is not None and array.device.is_cpu:
        array.numpy()[...] = values
    else:
        array.assign(values)


def copy_state(source: State, target: State, *, but: str = "") -> None:
    """Overwrite a state of the same shapes, in place; arrays that may grow are replaced where lengths differ.

    Args:
        source: Where arrays come from.
        target: Where they go to.
        but: Name of a nested state that is left as it is, wherever it is.
    """
    arrays = state_arrays(source)
    for name, owner, own, one in _walk(target):
        if but in name.split(".")[:-1]:
            continue
        if one is not None and one.grows and len(getattr(owner, own)) != len(arrays[name]):
            setattr(owner, own, wp.clone(arrays[name]))
        elif arrays[name].size:  # a copy of nothing takes as long as one of a little
            copy_array(arrays[name], getattr(owner, own))


def copy_array(source: wp.array[Any], target: wp.array[Any]) -> None:
    """Copy an array of the same shape; within the memory of the host without what Warp looks at first."""
    plain = all(array.device is not None and array.device.is_cpu and array.is_contiguous for array in (source, target))
    if plain and source.dtype == target.dtype and source.shape == target.shape:
        ctypes.memmove(target.ptr, source.ptr, source.size * wp.types.type_size_in_bytes(source.dtype))
    else:
        wp.copy(target, source)


def fill_state(state: State, values: Mapping[str, np.ndarray]) -> None:
    """Overwrite a state from host arrays, all or nothing; arrays that do not fit are refused."""
    require_fit(state, values)
    for name, owner, own, _ in _walk(state):
        if name not in values:
            continue
        array = getattr(owner, own)
        if len(values[name]) != len(array):
            setattr(owner, own, wp.array(values[name], dtype=array.dtype, device=array.device))
        else:
            array.assign(values[name])


def require_fit(state: State, values: Mapping[str, np.ndarray]) -> None:
    """Refuse host arrays that `fill_state` could not fill a state with."""
    found = list(_walk(state))
    for name, owner, own, one in found:
        _require_alike(name, values, getattr(owner, own).numpy(), grows=one is not None and one.grows is not None)
    _require_proportion(found, values)


def part_of(values: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The host arrays of a nested state, under the names that they have there."""
    prefix = f"{name}."
    return {full.removeprefix(prefix): array for full, array in values.items() if full.startswith(prefix)}


def restore_worlds(source: State, target: State, mask: wp.array[Any], world_of: Mapping[str, wp.array[Any]]) -> None:
    """Copy the rows of some worlds from one state to another of the same shapes.

    Args:
        source: Where rows come from.
        target: Where they go to.
        mask: Which worlds, bool of shape [worlds].
        world_of: World of each thing of a kind, int32; arrays of other kinds are left alone.
    """
    arrays = state_arrays(source)
    for name, owner, own, one in _walk(target):
        if one is not None and one.of in world_of and len(arrays[name]) > one.spare:
            here, there = getattr(owner, own).flatten(), arrays[name].flatten()
            width = here.size // len(arrays[name])  # numbers in a row
            worlds, each = world_of[one.of], one.each * width
            inputs = [mask, worlds, each, there, here]
            wp.launch(restore_kernel(here.dtype), len(worlds) * each, inputs, device=here.device)


def take_world(source: State, target: State, world: int, worlds: int) -> None:
    """Copy one of several worlds, whose rows lie one world after the other, into a state of one world."""
    arrays = state_arrays(source)
    for name, array in state_arrays(target).items():
        if not array.size:
            continue
        if len(arrays[name]) == worlds * len(array):
            wp.copy(array.flatten(), arrays[name].flatten(), src_offset=world * array.size, count=array.size)
        elif len(arrays[name]) == len(array):
            wp.copy(array, arrays[name])


def put_world(source: State, target: State, world: int, worlds: int) -> None:
    """Copy a state of one world into one of several worlds whose rows lie one world after the other.

    What all worlds share, such as a clock, stays as it is there, unless there is one world only.
    """
    arrays = state_arrays(target)
    for name, array in state_arrays(source).items():
        if array.size and len(arrays[name]) == worlds * len(array):
            wp.copy(arrays[name].flatten(), array.flatten(), dest_offset=world * array.size, count=array.size)


def repeat_state(one: S, worlds: int) -> S:
    """A state of several worlds, each as the one given, world after world; rows of the simulation are there once."""
    parts: dict[str, Any] = vars(one)
    kinds = declared(type(one))
    return type(one)(**{name: _repeated(part, kinds.get(name), worlds) for name, part in parts.items()})


def _repeated(part: Any, rows: Rows | None, worlds: int) -> Any:
    if rows is None:
        return repeat_state(part, worlds)
    values = np.concatenate([part.numpy()] * (1 if rows.of == "simulation" else worlds))
    return wp.array(values, dtype=part.dtype, device=part.device)


def worlds_of_rows(one: State, worlds: int) -> dict[str, wp.array[Any]]:
    """World of each thing of a kind in `repeat_state(one, worlds)`, int32, as `restore_worlds` takes them.

    Arrays with spare rows are not for this: each world would have its own.
    """
    counts = {
        declaration.of: (len(getattr(owner, own)) // declaration.each, getattr(owner, own).device)
        for _, owner, own, declaration in _walk(one)
        if declaration is not None and declaration.of != "simulation" and len(getattr(owner, own))
    }
    every = np.arange(worlds, dtype=np.int32)
    return {of: wp.array(np.repeat(every, count), dtype=wp.int32, device=at) for of, (count, at) in counts.items()}


def _walk(state: State, prefix: str = "") -> Iterator[tuple[str, Any, str, Rows | None]]:
    """Each array: its dotted name, the dataclass that holds it, its name there, and its declaration."""
    for f in fields(state):
        part = getattr(state, f.name)
        if is_dataclass(part):
            yield from _walk(part, f"{prefix}{f.name}.")
        else:
            yield f"{prefix}{f.name}", state, f.name, f.metadata.get("rows")


def _require_alike(name: str, values: Mapping[str, np.ndarray], expected: np.ndarray, *, grows: bool) -> None:
    if name not in values and expected.size == 0:  # files from before there was such an array
        return
    if name not in values:
        raise FileFormatError(f"the checkpoint has no array {name!r}; it was saved by another kind of simulation.")
    given, first = values[name], 1 if grows else 0
    if given.ndim != expected.ndim or given.shape[first:] != expected.shape[first:] or given.dtype != expected.dtype:
        raise FileFormatError(
            f"array {name!r} of the checkpoint is {given.dtype}{list(given.shape)}, "
            f"this simulation needs {expected.dtype}{list(expected.shape)}."
        )


def _require_proportion(found: list[tuple[str, Any, str, Rows | None]], values: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays that grow together but have not."""
    groups: dict[str, dict[str, Fraction]] = {}
    for name, owner, own, one in found:
        length = len(getattr(owner, own))
        if one is not None and one.grows and length:
            groups.setdefault(one.grows, {})[name] = Fraction(len(values[name]), length)
    for group in groups.values():
        if len(set(group.values())) > 1:
            raise FileFormatError(f"arrays {', '.join(group)} of the checkpoint have lengths that do not fit together.")
