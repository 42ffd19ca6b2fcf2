"""Paths of targets: straight from point to point at a steady speed, in steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number


@dataclass(frozen=True, eq=False, repr=False)
class Path(Brief):
    """Points that a target goes to one after the other, straight, each leg in its own time.

    Attributes:
        points: The points, the first where it starts [m], shape [p, 3].
        times: When it is at each [s], rising, shape [p].
    """

    points: np.ndarray
    times: np.ndarray

    def __post_init__(self) -> None:
        points, times = _places(self.points), as_numbers("the times of a path", self.times)
        if times.shape != (len(points),) or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise InvalidValue(f"a path of {len(points)} points needs as many times that rise.")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "times", times)

    @classmethod
    def at_speed(cls, points: ArrayLike, speed: float) -> Path:
        """A path at a steady speed [m/s]."""
        where = _places(points)
        if not (is_number(speed) and speed > 0.0):
            raise InvalidValue(f"speed = {speed!r} cannot be used; give a finite number above 0 [m/s].")
        legs = np.linalg.norm(np.diff(where, axis=0), axis=1)
        return cls(where, np.concatenate([[0.0], np.cumsum(np.maximum(legs, 1e-12) / speed)]))

    @property
    def duration(self) -> float:
        """When it ends [s]."""
        return float(self.times[-1])

    def at(self, time: float) -> np.ndarray:
        """Where the target is at a time [s], shape [3]; it waits at both ends."""
        if not is_number(time):
            raise InvalidValue(f"time = {time!r:.60} cannot be used; give a finite number [s].")
        return np.array([np.interp(time, self.times, self.points[:, axis]) for axis in range(3)])

    def steps(self, length: float) -> Iterator[np.ndarray]:
        """Targets along the path that are at most a length [m] apart, its corners among them."""
        if not (is_number(length) and length > 0.0):
            raise InvalidValue(f"length = {length!r} cannot be used; give a finite length above 0 [m].")
        for begin, end in zip(self.points[:-1], self.points[1:], strict=True):
            count = max(1, int(np.ceil(np.linalg.norm(end - begin) / length - 1e-9)))
            for i in range(count):
                yield begin + (end - begin) * (i + 1) / count


def _places(points: ArrayLike) -> np.ndarray:
    """The points of a path [m], shape [p, 3]."""
    try:
        found = np.asarray(points, float)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.ndim != 2 or len(found) == 0 or found.shape[1] != 3 or not np.isfinite(found).all():
        raise InvalidValue(
            f"the points of a path must be finite numbers of shape [p, 3], where it starts first, not {points!r:.60}."
        )
    return found
