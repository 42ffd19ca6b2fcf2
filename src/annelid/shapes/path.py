"""Motions that are functions of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from annelid.core.errors import InvalidValue

Path = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""A function of times [s], shape [k]: what `position` and `rotation` are then, shapes [k, 3] [m] and [k, 4]."""


def followed(path: Path, times: np.ndarray, whose: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions [m], shape [k, 3], and quaternions, shape [k, 4], that a path gives for times [s], shape [k]."""
    count = len(times)
    wanted = f"the path of {whose} must give positions of shape [k, 3] and quaternions of shape [k, 4] for k times"
    try:
        positions, rotations = (np.asarray(part, float) for part in path(times))
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"{wanted}, and does not ({error}).") from error
    if positions.shape != (count, 3) or rotations.shape != (count, 4):
        raise InvalidValue(f"{wanted}, not {list(positions.shape)} and {list(rotations.shape)} for {count}.")
    if not (np.isfinite(positions).all() and np.isfinite(rotations).all()):
        raise InvalidValue(f"the path of {whose} is not finite between {times[0]:.4g} and {times[-1]:.4g} s.")
    if not rotations.any(axis=1).all():
        raise InvalidValue(f"the path of {whose} gives a quaternion of 0, which is no rotation.")
    return positions, rotations
