"""Names for arrays and vectors, and the checks of numbers that all shapes share."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annelid.core.errors import InvalidValue
from annelid.core.options import Auto

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int32]
Vector: TypeAlias = tuple[float, float, float]


def as_points(points: ArrayLike) -> Floats:
    """The points as floats of shape [n, 3]; anything else, and numbers that are not finite, are refused."""
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"points must be numbers of shape [n, 3], not {type(points).__name__}.") from None
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidValue(f"points must have the shape [n, 3], not {list(array.shape)}.")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidValue(f"point {row} is {array[row].tolist()}; every coordinate must be finite.")
    return array


def as_vector(name: str, value: ArrayLike) -> Vector:
    """Three finite numbers as a tuple."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidValue(f"{name} = {value!r} cannot be used; give three finite numbers.")
    x, y, z = array.tolist()
    return x, y, z


def as_axis(value: str | ArrayLike) -> Vector:
    """A unit vector from 'x', 'y', 'z' or three numbers that are not all zero."""
    if isinstance(value, str):
        if value not in ("x", "y", "z"):
            raise InvalidValue(f"axis = {value!r} cannot be used; give 'x', 'y', 'z' or three numbers.")
        value = np.eye(3)["xyz".index(value)]
    x, y, z = as_vector("axis", value)
    length = math.hypot(x, y, z)
    if length == 0.0:
        raise InvalidValue(
            "axis = (0, 0, 0) has no direction; give 'x', 'y', 'z' or three numbers that are not all zero."
        )
    return x / length, y / length, z / length


def require_step(name: str, value: float | Auto) -> float | Auto:
    """The value as a float if it is finite and above 0, or "auto" as it is."""
    if isinstance(value, str):
        if value == "auto":
            return value
        raise InvalidValue(f"{name} = {value!r} cannot be used; give a time in seconds, or 'auto'.")
    return require_positive(name, value)


def require_positive(name: str, value: float) -> float:
    """The value as a float if it is finite and above 0."""
    try:
        number = math.nan if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0.0):
        raise InvalidValue(f"{name} = {value!r} cannot be used; give a finite number above 0.")
    return number


def require_count(name: str, value: int, *, least: int, most: int) -> int:
    """The value as an int if it is a whole number between the limits."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise InvalidValue(f"{name} = {value!r} cannot be used; give a whole number from {least} to {most}.")
    return int(value)


def seeded(seed: int) -> np.random.Generator:
    """The random numbers of a seed, a whole number of 0 or more."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidValue(f"seed = {seed!r} cannot be used; give a whole number of 0 or more.")
    return np.random.default_rng(int(seed))


def frame(axis: ArrayLike) -> Floats:
    """A rotation matrix whose third column is the unit vector, shape [3, 3]; a permutation for a coordinate axis."""
    along = np.asarray(axis, dtype=np.float64)
    helper = np.eye(3)[(int(np.argmax(np.abs(along))) + 1) % 3]
    first = helper - along * (helper @ along)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(along, first), along])
