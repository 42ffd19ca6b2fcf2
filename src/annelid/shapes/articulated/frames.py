"""Frames as matrices of shape [4, 4]: rotation and place [m]."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.shapes.placed import Quaternion
from annelid.shapes.values import Floats, Vector


def frame_of(place: Vector | Floats = (0.0, 0.0, 0.0), turn: Rotation | None = None) -> Floats:
    """The frame at a place [m], turned."""
    frame = np.eye(4)
    frame[:3, 3] = place
    if turn is not None:
        frame[:3, :3] = turn.as_matrix()
    return frame


def moved_along(axis: Floats, values: Floats, *, sliding: bool) -> Floats:
    """What a joint adds to its frame at values [rad] or [m], shape [k], as frames of shape [k, 4, 4]."""
    motion = np.tile(np.eye(4), (len(values), 1, 1))
    if sliding:
        motion[:, :3, 3] = values[:, None] * axis
    else:
        motion[:, :3, :3] = Rotation.from_rotvec(values[:, None] * axis).as_matrix()
    return motion


def place_and_turn(frame: Floats) -> tuple[Vector, Quaternion]:
    """The place [m] and the quaternion (x, y, z, w) of a frame."""
    x, y, z = frame[:3, 3].tolist()
    a, b, c, w = Rotation.from_matrix(frame[:3, :3]).as_quat().tolist()
    return (x, y, z), (a, b, c, w)
