"""Where the camera of a page stands: near enough for the scene to fill what the panel leaves free."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from annelid.view.camera.camera import Camera

FOV = math.radians(40.0)
PANEL = 0.42  # width of the panel over the height of a window, roughly
_ROOM = 1.12  # around the scene, 1 for none
_OBLIQUE = (0.45, -0.78, 0.42)
_FRONT = (0.12, -1.0, 0.18)


def framed(low: np.ndarray, high: np.ndarray, aspect: float) -> Camera:
    """A camera that sees what lies between two corners [m] beside the panel; what is flat it sees from the front.

    Args:
        low: Lowest corner [m].
        high: Highest corner [m].
        aspect: Width of the window over its height.
    """
    size, middle = np.maximum(high - low, 1e-3), 0.5 * (low + high)
    outward = np.array(_FRONT if size[1] < 0.12 * size.max() else _OBLIQUE)
    probe = Camera(tuple(middle + outward), tuple(middle), (0.0, 0.0, 1.0), FOV)
    axes = np.stack(probe.axes())
    corners = np.array(list(product((-0.5, 0.5), repeat=3))) * size
    side, rise, ahead = axes @ corners.T
    up = math.tan(0.5 * FOV) / _ROOM
    right = up * max(aspect - 2.0 * PANEL, 0.25 * aspect)
    distance = max(_least_distance(side, ahead, up * aspect, right), _least_distance(rise, ahead, up, up))
    x, y = _middle(side, ahead + distance, up * aspect, right), _middle(rise, ahead + distance, up, up)
    target = middle + x * axes[0] + y * axes[1]
    return Camera(tuple(target - distance * axes[2]), tuple(target), (0.0, 0.0, 1.0), FOV)


def _least_distance(across: np.ndarray, ahead: np.ndarray, before: float, behind: float) -> float:
    """From how far points fit between an edge of slope `before` on one side and one of slope `behind` on the other."""
    return float((across - behind * ahead).max() - (across + before * ahead).min()) / (before + behind)


def _middle(across: np.ndarray, depth: np.ndarray, before: float, behind: float) -> float:
    """Where the camera stands between the first place from which no point is beyond an edge and the last one."""
    return 0.5 * float((across - behind * depth).max() + (across + before * depth).min())
