"""Threads that reinforce a solid: what a user gives, and how a thread lies in the tetrahedra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_word
from annelid.fem.reinforcing.embedding import Embedded, embedded

_OFF = 0.2
"""How far outside a path may be, of the mean side of the nearest face: the polyhedron of a round body cuts corners."""
_FAR = 0.1
"""Sizes of the solid that a point may be outside of the box around it before anything else is looked at."""
_MOST_POINTS = 200_000


@dataclass(frozen=True, eq=False)
class Thread(Named):
    """An elastic thread along a path on the surface of a solid or inside it, bonded to it all the way.

    A segment of length l, L at rest, has the energy EA/2 (l - L)²/L. Threads have no mass and no stiffness in bending.

    Attributes:
        path: Points in order [m], shape [p, 3], or several such paths of threads that are alike. A path whose last
            point is its first is a loop. Points just outside, as on a circle around a polygon, go to the surface.
        stiffness: EA, the force that would double its length [N]; or give `modulus` and `diameter`.
        modulus: Young's modulus of the thread [Pa].
        diameter: Diameter of the thread [m].
        one_sided: Whether it only pulls and goes slack where it would be compressed.
        spacing: Longest segment [m]; longer ones are divided. By default the mean side of the solid's boundary faces.
        name: Name, for messages and pictures.
    """

    path: Any
    stiffness: float | None = None
    modulus: float | None = None
    diameter: float | None = None
    one_sided: bool = True
    spacing: float | None = None
    name: str = "thread"

    def __post_init__(self) -> None:
        require_word("the name of a thread", self.name)
        object.__setattr__(self, "path", tuple(_as_path(each, self.name) for each in _paths(self.path, self.name)))
        given = {"stiffness": self.stiffness, "modulus": self.modulus, "diameter": self.diameter}
        for name, value in {**given, "spacing": self.spacing}.items():
            if value is not None and not (is_number(value) and value > 0.0):
                raise InvalidValue(f"{name} of {self.name} = {value!r} cannot be used; give a number above 0.")
        pair = self.modulus is not None and self.diameter is not None
        if (self.stiffness is None) != pair or (self.modulus is None) != (self.diameter is None):
            raise InvalidValue(f"{self.name} needs its stiffness EA [N], or its modulus [Pa] and its diameter [m].")
        if not isinstance(self.one_sided, (bool, np.bool_)):
            raise InvalidValue(f"one_sided of {self.name} must be True or False, not {self.one_sided!r}.")

    @property
    def axial_stiffness(self) -> float:
        """EA [N]."""
        if self.modulus is not None and self.diameter is not None:
            return self.modulus * 0.25 * math.pi * self.diameter**2
        return float(self.stiffness or 0.0)


@dataclass(frozen=True, eq=False)
class LaidThread:
    """A thread in the tetrahedra of a solid.

    Attributes:
        thread: The thread.
        points: Its points, embedded.
        segments: Points at the ends of each segment, shape [s, 2].
        lengths: Length of each segment at rest [m], shape [s].
    """

    thread: Thread
    points: Embedded
    segments: np.ndarray
    lengths: np.ndarray

    @property
    def stiffest(self) -> float:
        """Stiffness of its stiffest segment [N/m]."""
        return self.thread.axial_stiffness / float(self.lengths.min())

    def places(self, positions: np.ndarray) -> np.ndarray:
        """Where its points are [m], shape [p, 3], when the nodes of the solid are at these positions [m]."""
        return self.points.places(positions)

    def strains(self, positions: np.ndarray) -> np.ndarray:
        """How much longer each segment is, as a part of its length at rest, shape [s]; below 0 where it is slack."""
        ends = self.places(positions)[self.segments]
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / self.lengths - 1.0)

    def tensions(self, positions: np.ndarray) -> np.ndarray:
        """Tension of each segment [N], shape [s]."""
        strains = self.strains(positions)
        return self.thread.axial_stiffness * (np.maximum(strains, 0.0) if self.thread.one_sided else strains)


def laid(thread: Thread, nodes: np.ndarray, elements: np.ndarray, boundary: np.ndarray) -> LaidThread:
    """Lay a thread into a solid, whose arrays are those of `embedded`; one that leaves it is refused."""
    for path in thread.path:
        _require_near(thread, nodes, elements, boundary, path)
    corners = nodes[boundary[:, :3]]
    spacing = thread.spacing or float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).mean())
    parts = [_divided(path, spacing, thread.name) for path in thread.path]
    where, origin = (np.concatenate([part[i] for part in parts]) for i in range(2))
    points = embedded(nodes, elements, boundary, where)
    _require_inside(thread, points, where, origin)
    first = np.concatenate([[0], np.cumsum([len(part) for part, _ in parts])])
    starts = np.concatenate([np.arange(low, high - 1) for low, high in zip(first[:-1], first[1:], strict=True)])
    segments = np.column_stack([starts, starts + 1])
    ends = points.places(nodes)[segments]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    if lengths.min() <= 1e-9 * lengths.max():
        raise InvalidValue(f"{thread.name} passes one point of the solid twice in a row; leave it out once.")
    return LaidThread(thread, points, segments, lengths)


def _paths(given: Any, name: str) -> Sequence[Any]:
    """One path or several, as several."""
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str):
        raise InvalidValue(f"the path of {name} must be points of shape [p, 3], or several such, not {given!r:.60}.")
    if len(given) == 0:
        raise InvalidValue(f"{name} has no path; give at least two points.")
    return list(given) if np.ndim(given[0]) == 2 else [given]


def _as_path(given: Any, name: str) -> np.ndarray:
    try:
        path = np.array(given, float)
    except (TypeError, ValueError, OverflowError):  # words, or points of different lengths
        path = np.empty(0)
    if path.ndim != 2 or path.shape[1] != 3 or len(path) < 2 or not np.isfinite(path).all():
        raise InvalidValue(f"the path of {name} must be at least two points of three finite numbers [m], shape [p, 3].")
    return path


def _divided(path: np.ndarray, spacing: float, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A path with segments no longer than the spacing, and where on the path its points are, counted in its points."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    pieces = np.maximum(np.ceil(lengths / spacing * (1.0 - 1e-9)), 1.0)
    if pieces.sum() > _MOST_POINTS:
        raise InvalidValue(
            f"{name} of {lengths.sum():.3g} m would be divided into {pieces.sum():.0f} segments of {spacing:.3g} m; "
            "check that its path is in metres, or give a larger spacing."
        )
    count = pieces.astype(int)
    segment = np.repeat(np.arange(len(count)), count)
    share = (np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)) / count[segment]
    origin = np.append(segment + share, len(path) - 1.0)
    knots = np.arange(len(path))
    return np.column_stack([np.interp(origin, knots, path[:, i]) for i in range(3)]), origin


def _require_near(
    thread: Thread, nodes: np.ndarray, elements: np.ndarray, boundary: np.ndarray, path: np.ndarray
) -> None:
    """Refuse a path that is far off, as one in millimetres is, before it is divided into very many segments."""
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    away = np.linalg.norm(path - np.clip(path, low, high), axis=1)
    worst = int(away.argmax())
    if away[worst] > _FAR * float((high - low).max()):
        place = path[worst : worst + 1]
        _require_inside(thread, embedded(nodes, elements, boundary, place), place, np.array([float(worst)]))


def _require_inside(thread: Thread, points: Embedded, where: np.ndarray, origin: np.ndarray) -> None:
    """Refuse a thread that leaves the body."""
    worst = int(np.argmax(points.outside - _OFF * points.sides))
    if points.outside[worst] <= _OFF * points.sides[worst]:
        return
    number = origin[worst]
    place = f"point {number:.0f}" if number == round(number) else f"between points {int(number)} and {int(number) + 1}"
    raise InvalidValue(
        f"{thread.name} leaves the body: {place} of its path, at {np.round(where[worst], 9).tolist()} m, is "
        f"{points.outside[worst]:.3g} m outside; keep the path in the body or within "
        f"{_OFF * points.sides[worst]:.2g} m of its surface."
    )
