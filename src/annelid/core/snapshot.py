"""An immutable picture of a moment: the only path from physics to viewers, recorders and videos.

Physics fills snapshots with geometry and named scalar fields; what draws them picks a field and a colour map. Arrays
may be NumPy arrays or Warp arrays on any device: the camera reads them where they are, a browser or a file copies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.described import Described
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import require_truth, require_words

Array = Any
"""A NumPy array or a Warp array."""

Color = tuple[float, float, float]
"""Red, green, blue in [0, 1]."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Field:
    """A scalar per vertex, sphere or segment, to colour by.

    Attributes:
        values: One number an element, shape [n].
        unit: Unit of the values, "" for a pure number.
        limits: Values at the two ends of the colour map; None means the range of the data.
        labels: For categories (materials): `values` are indices into these names.
    """

    values: Array
    unit: str = ""
    limits: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mesh:
    """A triangle mesh; `triangles` keeps its identity between frames while the topology is unchanged.

    Attributes:
        name: Name, unique in its snapshot.
        vertices: Vertex positions [m], shape [n, 3].
        triangles: Vertex indices, outward counter-clockwise, shape [m, 3], int32.
        fields: Scalars per vertex.
        color: Colour where no field is chosen.
    """

    name: str
    vertices: Array
    triangles: Array
    fields: Mapping[str, Field] = field(default_factory=lambda: _NOTHING)
    color: Color = (0.80, 0.45, 0.38)


@dataclass(frozen=True)
class Spheres:
    """Balls: masses, grains.

    Attributes:
        name: Name, unique in its snapshot.
        centers: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n] or one number for all.
        fields: Scalars per sphere.
        color: Colour where no field is chosen.
    """

    name: str
    centers: Array
    radii: Array | float
    fields: Mapping[str, Field] = field(default_factory=lambda: _NOTHING)
    color: Color = (0.55, 0.55, 0.60)


@dataclass(frozen=True)
class Lines:
    """Straight segments: springs, ropes, trajectories.

    Attributes:
        name: Name, unique in its snapshot.
        points: End points [m], shape [n, 3].
        segments: Indices of the two ends, shape [m, 2], int32.
        fields: Scalars per segment.
        color: Colour where no field is chosen.
    """

    name: str
    points: Array
    segments: Array
    fields: Mapping[str, Field] = field(default_factory=lambda: _NOTHING)
    color: Color = (0.25, 0.28, 0.33)


@dataclass(frozen=True)
class Plane:
    """An endless plane: the ground, a wall.

    Attributes:
        name: Name, unique in its snapshot.
        point: A point of the plane [m].
        normal: Unit normal, towards the free side.
        color: Colour.
    """

    name: str
    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    color: Color = (0.90, 0.90, 0.91)


Part = Mesh | Spheres | Lines | Plane
"""What a snapshot is made of."""


@dataclass(frozen=True)
class Number:
    """A named scalar of the whole scene."""

    value: float
    unit: str = ""


MOST_NUMBERS = 16
"""Channels or readings of one kind that are shown one by one."""


def require_color(what: str, given: object) -> None:
    """Refuse what is neither three numbers from 0 to 1 nor None, which leaves a colour to others."""
    if given is None:
        return
    parts = given if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else ()
    if isinstance(parts, np.ndarray):
        parts = np.atleast_1d(parts)  # an array that holds one number has no length
    if len(parts) != 3 or not all(is_number(part) and 0.0 <= part <= 1.0 for part in parts):
        raise InvalidValue(f"{what} must be three numbers from 0 to 1 (red, green, blue), not {given!r:.60}.")


@dataclass(frozen=True)
class Look:
    """What a viewer will show, so that physics computes and copies no more than that.

    Attributes:
        surface: Include closed surfaces as meshes.
        spheres: Include masses or grains as spheres.
        lines: Include springs as lines.
        fields: Names of the scalars to colour by.
        host: Copy the arrays to NumPy; False leaves them on the device.
        numbers: Compute the named numbers; physics for which they are free may ignore this.
    """

    surface: bool = True
    spheres: bool = False
    lines: bool = False
    fields: tuple[str, ...] = ()
    host: bool = True
    numbers: bool = True

    def __post_init__(self) -> None:
        for name in ("surface", "spheres", "lines", "host", "numbers"):
            require_truth(f"{name} of a look", vars(self)[name])
        require_words("fields of a look", self.fields)
        object.__setattr__(self, "fields", tuple(self.fields))

    def require_known(self, offered: Sequence[str]) -> None:
        """Refuse fields that a simulation does not offer."""
        for name in self.fields:
            if name not in offered:
                raise UnknownName("field", name, offered)


@dataclass(frozen=True, repr=False)
class Snapshot(Described):
    """One moment of a simulation.

    Attributes:
        time: Simulated time [s].
        step: Steps taken since the beginning.
        parts: Geometry to draw.
        numbers: Named scalars (energies, distances...) of this moment.
    """

    time: float
    step: int = 0
    parts: tuple[Part, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=lambda: _NOTHING)

    def facts(self) -> Mapping[str, str]:
        """When it was taken, what there is to draw, and its numbers."""
        parts = ", ".join(f"{part.name} ({type(part).__name__})" for part in self.parts)
        numbers = {name: f"{number.value:.6g} {number.unit}".strip() for name, number in self.numbers.items()}
        return {"at": f"{self.time:.6g} s", "step": str(self.step), "parts": parts or "none", **numbers}

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner of all finite geometry [m], two arrays of shape [3]; planes are left out."""
        extents = [_extent(part) for part in self.parts if not isinstance(part, Plane)]
        corners = [pair for pair in extents if pair is not None]
        if not corners:
            return np.full(3, -1.0), np.full(3, 1.0)
        return np.min([low for low, _ in corners], axis=0), np.max([high for _, high in corners], axis=0)


def host_array(values: Array) -> np.ndarray:
    """The values as a NumPy array, copied from the device if need be."""
    return values.numpy() if isinstance(values, wp.array) else np.asarray(values)


def _extent(part: Mesh | Spheres | Lines) -> tuple[np.ndarray, np.ndarray] | None:
    if isinstance(part, Spheres):
        points = host_array(part.centers)
        margin = float(np.max(host_array(part.radii))) if len(points) else 0.0
    else:
        points = host_array(part.vertices if isinstance(part, Mesh) else part.points)
        margin = 0.0
    if len(points) == 0:
        return None
    return points.min(axis=0) - margin, points.max(axis=0) + margin
