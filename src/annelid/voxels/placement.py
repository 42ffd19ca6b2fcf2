"""Where robots stand at the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.voxels.robot import Robot
from annelid.voxels.terrain import Terrain
from annelid.voxels.world import World

GAP = 1.0
"""Distance of a robot from the ground at the beginning, as in the original [m]."""


def place(worlds: Sequence[Sequence[Robot]], world: World, positions: np.ndarray | None) -> np.ndarray:
    """Place of the corner of each robot's grid [m], shape [robots, 2]."""
    robots = [robot for group in worlds for robot in group]
    if positions is not None:
        given = np.asarray(positions, float)
        if given.shape not in ((2,), (len(robots), 2)) or not np.isfinite(given).all():
            raise InvalidValue(f"positions need shape ({len(robots)}, 2) and finite numbers, not shape {given.shape}.")
        wanted = np.broadcast_to(given, (len(robots), 2))
    else:
        spots: dict[Any, list[tuple[float, float]]] = {}  # equal worlds stand alike
        keys = [tuple(robot.body_key for robot in group) for group in worlds]
        for key, group in zip(keys, worlds, strict=True):
            if key not in spots:
                spots[key] = _in_a_row(group, world.terrain)
        wanted = np.array([spot for key in keys for spot in spots[key]])
    empty = np.array([robot.empty_margin for robot in robots])
    return wanted - empty


def _in_a_row(robots: Sequence[Robot], terrain: Terrain | None) -> list[tuple[float, float]]:
    """Lower left corners of robots side by side, a voxel apart, above the ground."""
    x, spots = 0.0 if terrain is None else terrain.start, []
    for robot in robots:
        spots.append((x, 0.0 if terrain is None else _lowest(robot, terrain, x) + GAP))
        x += robot.size[0] + robot.side_length
    return spots


def _lowest(robot: Robot, terrain: Terrain, x: float) -> float:
    """Height at which a robot just clears the ground [m]."""
    side = robot.side_length
    cells = robot.cells - robot.cells.min(axis=0)
    left = x + cells[:, 0] * side
    at = left[:, None] + np.linspace(0.0, side, 9)
    inside = terrain.points[(terrain.points[:, 0] > x) & (terrain.points[:, 0] < x + robot.size[0])]
    peak = np.where((inside[:, 0] >= left[:, None]) & (inside[:, 0] <= left[:, None] + side), inside[:, 1], -np.inf)
    ground = np.maximum(terrain.height(at).max(axis=1), peak.max(axis=1, initial=-np.inf))
    return float((ground - cells[:, 1] * side).max())
