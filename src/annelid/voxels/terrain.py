"""Ground: a line of points from left to right, with the named terrains of the original program."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import require_kind

_LENGTH, _BORDER, _WALL = 2000.0, 10.0, 100.0  # of the named terrains [m]
_BUCKET = 4.0  # width of a bucket [m], more than a body is wide


@dataclass(frozen=True, eq=False)
class Terrain:
    """Ground below a line of points.

    Attributes:
        points: Points from left to right [m], shape [n, 2].
        friction: Coulomb friction; a pair of surfaces has the geometric mean of its two.
        restitution: Restitution; a pair of surfaces has the larger of its two.
    """

    points: np.ndarray
    friction: float = 0.2
    restitution: float = 0.0

    def __post_init__(self) -> None:
        points = np.array(as_numbers("points of a terrain", self.points))
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2 or not np.isfinite(points).all():
            raise InvalidValue(f"a terrain needs at least two finite points (x, y), not shape {points.shape}.")
        if (back := np.flatnonzero(np.diff(points[:, 0]) <= 0.0)).size:
            i = int(back[0])
            raise InvalidValue(
                f"the terrain goes backwards: point {i + 1} at x = {points[i + 1, 0]:g} m must be to the right of "
                f"point {i} at x = {points[i, 0]:g} m."
            )
        plain = is_number(self.friction) and is_number(self.restitution)
        if not plain or self.friction < 0.0 or not 0.0 <= self.restitution <= 1.0:
            raise InvalidValue("friction of a terrain must not be negative, and its restitution must be in [0, 1].")
        points.setflags(write=False)
        object.__setattr__(self, "points", points)

    def height(self, x: Any) -> np.ndarray:
        """Height of the ground at x [m]; its first and last piece go on for ever."""
        x = np.asarray(x, float)
        xs, ys = self.points.T
        piece = np.clip(np.searchsorted(xs, x, side="right") - 1, 0, len(xs) - 2)
        return ys[piece] + (x - xs[piece]) * (ys[piece + 1] - ys[piece]) / (xs[piece + 1] - xs[piece])

    @property
    def uneven(self) -> bool:
        """Whether it has more than one height."""
        return bool(np.ptp(self.points[:, 1]) > 0.0)

    @property
    def start(self) -> float:
        """Where robots are placed: their left end, 1 m behind the second point [m]."""
        return float(self.points[1, 0] if len(self.points) > 2 else self.points[0, 0]) + 1.0

    def pieces(self) -> np.ndarray:
        """Left end [m] and normal of each piece of ground, shape [n - 1, 4]."""
        along = np.diff(self.points, axis=0)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        return np.concatenate([self.points[:-1], np.stack([-along[:, 1], along[:, 0]], axis=1)], axis=1)

    def buckets(self) -> tuple[np.ndarray, np.ndarray]:
        """For each stretch of 4 m: the piece of ground at its left end, and the highest ground within 4 m of it."""
        xs = self.points[:, 0]
        count = max(1, int(math.ceil((xs[-1] - xs[0]) / _BUCKET)))
        edges = xs[0] + _BUCKET * np.arange(-1, count + 2)
        starts = np.clip(np.searchsorted(xs, edges[1:-2], side="right") - 1, 0, len(xs) - 2)
        peaks = np.full(count + 2, -np.inf)
        which = np.clip(np.floor((xs - xs[0]) / _BUCKET).astype(int) + 1, 0, count + 1)
        np.maximum.at(peaks, which, self.points[:, 1])
        ends = self.height(edges)
        peaks = np.maximum(peaks, np.maximum(ends[:-1], ends[1:]))
        tops = np.maximum(np.maximum(peaks[:-2], peaks[1:-1]), peaks[2:])
        # Beyond the ends the ground may rise without limit.
        tops[0] = np.inf if self.points[0, 1] > self.points[1, 1] else tops[0]
        tops[-1] = np.inf if self.points[-1, 1] > self.points[-2, 1] else tops[-1]
        return starts.astype(np.int32), tops

    @property
    def bucket(self) -> float:
        """Width of a bucket [m]."""
        return _BUCKET


def terrain(name: str = "flat", **surface: Any) -> Terrain:
    """A terrain of the original by its name.

    Args:
        name: "flat"; "uneven-HEIGHT"; "hilly-HEIGHT-WIDTH-SEED"; "steppy-HEIGHT-WIDTH-SEED"; "uphill-DEGREES";
            "downhill-DEGREES". All end in steep walls, the left one just behind where robots start.
        surface: Friction and restitution.
    """
    require_kind("the name of a terrain", name, str, "a text; of points of your own make a voxels.Terrain(points)")
    for pattern, make in _NAMED.items():
        if match := re.fullmatch(pattern.replace("#", r"(\d+(?:\.\d+)?)"), name):
            return Terrain(make(*(float(number) for number in match.groups())), **surface)
    raise UnknownName("terrain", name, [pattern.replace("#", "N") for pattern in _NAMED])


def _flat() -> np.ndarray:
    return np.array([[0.0, _WALL], [_BORDER, 0.0], [_LENGTH - _BORDER, 0.0], [_LENGTH, _WALL]])


def _uneven(height: float) -> np.ndarray:
    """50 points of random height, 40 m apart."""
    count, draws = 50, _java_random(1)
    xs = 1.0 + np.arange(count) * (_LENGTH - 2.0) / count
    ys = height * np.array([next(draws) for _ in range(count)])
    return np.array([[0.0, _WALL], *np.stack([xs, ys], axis=1), [_LENGTH, _WALL]])


def _rough(height: float, width: float, seed: float, steps: bool) -> np.ndarray:
    draws = _java_gaussian(int(seed))
    points = [(0.0, _WALL), (_BORDER, 0.0)]
    while points[-1][0] < _LENGTH - _BORDER:
        x, y = points[-1]
        ahead = x + max(1.0, (next(draws) * 0.25 + 1.0) * width)
        if steps:
            points.append((ahead, y))
            ahead += 0.5
        points.append((ahead, y + next(draws) * height))
    return np.array([*points, (points[-1][0] + _BORDER, _WALL)])


def _hilly(height: float, width: float, seed: float) -> np.ndarray:
    return _rough(height, width, seed, steps=False)


def _steppy(height: float, width: float, seed: float) -> np.ndarray:
    return _rough(height, width, seed, steps=True)


def _slope(degrees: float, sign: float) -> np.ndarray:
    rise = (_LENGTH - 2.0 * _BORDER) * math.sin(math.radians(degrees))
    left, right = (0.0, rise) if sign > 0 else (rise, 0.0)
    return np.array(
        [[0.0, _WALL + left], [_BORDER, 5.0 + left], [_LENGTH - _BORDER, 5.0 + right], [_LENGTH, _WALL + right]]
    )


_NAMED: dict[str, Callable[..., np.ndarray]] = {
    "flat": _flat,
    "uneven-?#": _uneven,
    "hilly-#-#-#": _hilly,
    "steppy-#-#-#": _steppy,
    "uphill-#": lambda degrees: _slope(degrees, 1.0),
    "downhill-#": lambda degrees: _slope(degrees, -1.0),
}


def _java_bits(seed: int) -> Iterator[tuple[int, int]]:
    """States of Java's linear congruential generator, in pairs, so that terrains are those of the original."""
    state = (seed ^ 0x5DEECE66D) & (2**48 - 1)
    while True:
        pair = []
        for _ in range(2):
            state = (state * 0x5DEECE66D + 0xB) & (2**48 - 1)
            pair.append(state)
        yield pair[0], pair[1]


def _java_random(seed: int) -> Iterator[float]:
    """Uniform numbers in [0, 1[ of `java.util.Random`."""
    for first, second in _java_bits(seed):
        yield ((first >> 22 << 27) + (second >> 21)) / 2.0**53


def _java_gaussian(seed: int) -> Iterator[float]:
    """Normal numbers of `java.util.Random`: Marsaglia's polar method, in pairs."""
    draws = _java_random(seed)
    while True:
        x, y = 2.0 * next(draws) - 1.0, 2.0 * next(draws) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            scale = math.sqrt(-2.0 * math.log(square) / square)
            yield x * scale
            yield y * scale
