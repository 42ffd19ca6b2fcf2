"""How a snapshot is taken apart for a file and put together again: a layout (JSON text) and a list of flat arrays.

The layout says which parts, fields and numbers a frame has and how large each array is; it changes only when the scene
does. The file itself is the business of `records`. Layouts come from untrusted files: everything in them is checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.errors import FileFormatError
from annelid.core.snapshot import Array, Field, Lines, Mesh, Number, Plane, Snapshot, Spheres

WORD = np.dtype("<u4")
"""Every array is stored as words of four bytes, whatever its type."""

_DTYPES = {"f": np.dtype("<f4"), "i": np.dtype("<i4")}
_GEOMETRY = {
    "mesh": (("vertices", "f", 3), ("triangles", "i", 3)),
    "lines": (("points", "f", 3), ("segments", "i", 2)),
    "spheres": (("centers", "f", 3),),
}
_MAX_WORDS = 1 << 40


@dataclass(frozen=True)
class Slot:
    """One array of a frame.

    Attributes:
        part: Name of the part that it belongs to.
        name: Name of the array in its part; fields are called "field:NAME".
        kind: "f" for float32, "i" for int32.
        shape: Shape of the array.
    """

    part: str
    name: str
    kind: str
    shape: tuple[int, ...]

    @property
    def topology(self) -> bool:
        """Whether the array holds indices, which keep their identity until they change."""
        return self.kind == "i"

    @property
    def words(self) -> int:
        """Size in words of four bytes."""
        return math.prod(self.shape)

    def decode(self, words: np.ndarray) -> np.ndarray:
        """The array from its words; it cannot be written to, because frames share it."""
        array = words.view(_DTYPES[self.kind]).reshape(self.shape)
        array.flags.writeable = False
        return array

    def encode(self, array: np.ndarray) -> np.ndarray:
        """The words of an array."""
        return np.ascontiguousarray(array, dtype=_DTYPES[self.kind]).reshape(-1).view(WORD)


@dataclass(frozen=True)
class Layout:
    """What a frame consists of: parts as written in the file, the slots of their arrays, names and units of numbers."""

    parts: tuple[dict[str, Any], ...]
    slots: tuple[Slot, ...]
    numbers: tuple[tuple[str, str], ...]


# ------------------------------------------------------------------------------------------------ from a snapshot


def describe(snapshot: Snapshot) -> tuple[str, list[Array]]:
    """The layout of a snapshot as JSON text, and its arrays in the order of the layout's slots."""
    arrays: list[Array] = []
    parts = [_describe_part(part, arrays) for part in snapshot.parts]
    numbers = [[name, number.unit] for name, number in snapshot.numbers.items()]
    return json.dumps({"parts": parts, "numbers": numbers}, separators=(",", ":")), arrays


def _describe_part(part: Mesh | Spheres | Lines | Plane, arrays: list[Array]) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": part.name, "color": [float(c) for c in part.color]}
    if isinstance(part, Plane):
        return {
            "kind": "plane",
            **entry,
            "point": [float(x) for x in part.point],
            "normal": [float(x) for x in part.normal],
        }
    kind = type(part).__name__.lower()
    geometry = [getattr(part, name) for name, _, _ in _GEOMETRY[kind]]
    if isinstance(part, Spheres):
        if _sized(part.radii).ndim:
            geometry.append(part.radii)
        else:
            entry["radius"] = float(part.radii)
    arrays.extend(geometry)
    arrays.extend(field.values for field in part.fields.values())
    fields = {name: _describe_field(field) for name, field in part.fields.items()}
    return {"kind": kind, **entry, "sizes": [int(a.shape[0]) for a in map(_sized, geometry)], "fields": fields}


def _sized(array: Array) -> Any:
    return array if isinstance(array, wp.array) else np.asarray(array)


def _describe_field(field: Field) -> dict[str, Any]:
    limits = None if field.limits is None else [float(x) for x in field.limits]
    return {
        "unit": field.unit,
        "limits": limits,
        "labels": list(field.labels),
        "size": int(_sized(field.values).shape[0]),
    }


# ------------------------------------------------------------------------------------------------ from a file


def parse(text: str) -> Layout:
    """The layout written in a file; anything that `describe` would not write is refused."""
    try:
        data = json.loads(text)
        parts = tuple(data["parts"])
        slots = tuple(slot for part in parts for slot in _slots(part))
        numbers = tuple((str(name), str(unit)) for name, unit in data["numbers"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"a frame layout cannot be understood ({error!r})") from error
    return Layout(parts, slots, numbers)


def _slots(part: dict[str, Any]) -> Iterator[Slot]:
    kind, name = part["kind"], str(part["name"])
    if kind == "plane":
        return
    known = _GEOMETRY[kind]
    sizes = [_size(n) for n in part["sizes"]]
    if kind == "spheres" and "radius" not in part:
        known = (*known, ("radii", "f", 1))
    if len(sizes) != len(known):
        raise ValueError(f"part {name!r} has {len(sizes)} arrays instead of {len(known)}")
    for (array, dtype, width), n in zip(known, sizes, strict=True):
        yield Slot(name, array, dtype, (n, width) if width > 1 else (n,))
    for field, entry in part["fields"].items():
        yield Slot(name, f"field:{field}", "f", (_size(entry["size"]),))


def _size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_WORDS:
        raise ValueError(f"{value!r} is not the size of an array")
    return value


def assemble(
    layout: Layout, arrays: Sequence[np.ndarray], *, time: float, step: int, numbers: Sequence[float]
) -> Snapshot:
    """The snapshot of a layout filled with its arrays and numbers."""
    supply = iter(arrays)
    try:
        parts = tuple(_assemble_part(part, supply) for part in layout.parts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"the recording is damaged: a frame cannot be put together ({error}).") from error
    named = {name: Number(float(v), unit) for (name, unit), v in zip(layout.numbers, numbers, strict=True)}
    return Snapshot(time=time, step=step, parts=parts, numbers=named)


def _assemble_part(part: dict[str, Any], supply: Iterator[np.ndarray]) -> Mesh | Spheres | Lines | Plane:
    kind, name, color = part["kind"], str(part["name"]), _triple(part["color"])
    if kind == "plane":
        return Plane(name, _triple(part["point"]), _triple(part["normal"]), color)
    geometry = [next(supply) for _ in part["sizes"]]
    fields = {str(key): _assemble_field(entry, next(supply)) for key, entry in part["fields"].items()}
    if kind == "spheres":
        radii: Any = float(part["radius"]) if "radius" in part else geometry[1]
        return Spheres(name, geometry[0], radii, fields, color)
    _check_indices(name, geometry[1], len(geometry[0]))
    return (Mesh if kind == "mesh" else Lines)(name, geometry[0], geometry[1], fields, color)


def _assemble_field(entry: dict[str, Any], values: np.ndarray) -> Field:
    limits = entry["limits"]
    labels = tuple(str(label) for label in entry["labels"])
    return Field(values, str(entry["unit"]), None if limits is None else (float(limits[0]), float(limits[1])), labels)


def _triple(values: Any) -> tuple[float, float, float]:
    x, y, z = values
    return float(x), float(y), float(z)


def _check_indices(name: str, indices: np.ndarray, count: int) -> None:
    """Refuse indices outside the points: kernels would read past the end of the array."""
    if indices.size and not (int(indices.min()) >= 0 and int(indices.max()) < count):
        raise ValueError(f"part {name!r} refers to points that it does not have")
