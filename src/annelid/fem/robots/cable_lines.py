"""Cables of a solid or a robot as pictures show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annelid.core.snapshot import Lines
from annelid.fem.robots.drives import CableDrive, Drive

_CABLE = (0.15, 0.15, 0.18)


def cable_lines(drives: Sequence[Drive], positions: np.ndarray) -> list[Lines]:
    """A line along each of the cables among drives, where nodes are at positions [m], shape [n, 3]."""
    return [_line(drive, positions) for drive in drives if isinstance(drive, CableDrive)]


def _line(drive: CableDrive, positions: np.ndarray) -> Lines:
    points = drive.points(positions).astype(np.float32)
    numbers = np.arange(len(points), dtype=np.int32)
    return Lines(drive.actuator.name, points, np.column_stack([numbers[:-1], numbers[1:]]), color=_CABLE)
