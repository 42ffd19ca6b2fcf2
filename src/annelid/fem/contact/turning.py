"""Ways of obstacles that turn: kernels go straight in the frame of an obstacle, so large turns are made of legs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Launcher
from annelid.fem.contact.places import Pose
from annelid.fem.kernels.motion import add_scaled

_LEG = 0.2
"""Turn of a leg [rad]: a straight line leaves the arc by 1/200 of its radius."""
SLIGHT = 0.01
"""Turn below which a straight line and the arc are the same but for 1e-5 of the radius [rad]."""

Straight = Callable[["wp.array[Any]", "wp.array[Any]", Pose, Pose], float]


def largest_turn(start: Pose, end: Pose) -> float:
    """Largest angle by which an obstacle turns from one pose to another [rad]."""
    alike = np.abs((start.turns * end.turns).sum(axis=1))
    norms = np.linalg.norm(start.turns, axis=1) * np.linalg.norm(end.turns, axis=1)
    return float(2.0 * np.arccos(np.clip(alike / norms, 0.0, 1.0)).max(initial=0.0))


class Legs:
    """The way of nodes and obstacles in legs, each of which turns little.

    Args:
        nodes: Number of nodes.
        obstacles: Number of obstacles.
        device: Where it is computed.
    """

    def __init__(self, nodes: int, obstacles: int, device: wp.Device) -> None:
        self._at, self._step = (wp.zeros(nodes, dtype=wp.vec3d, device=device) for _ in range(2))
        self._begin, self._end = Pose(obstacles, device), Pose(obstacles, device)
        self._launcher = Launcher(device)

    def free_part(
        self, positions: wp.array[Any], step: wp.array[Any], start: Pose, end: Pose, straight: Straight
    ) -> float:
        """Part of a way that is free, at most 1.

        Args:
            positions: Where nodes are [m].
            step: How far they go [m].
            start: Where obstacles are.
            end: Where they go.
            straight: Finds the part of a straight way, from the same four.
        """
        count = int(np.ceil(largest_turn(start, end) / _LEG))
        if count <= 1:
            return straight(positions, step, start, end)
        self._add(step, step, 1.0 / count - 1.0, self._step)
        for leg in range(count):
            self._begin.between(start, end, leg / count)
            self._end.between(start, end, (leg + 1) / count)
            self._add(positions, step, leg / count, self._at)
            part = straight(self._at, self._step, self._begin, self._end)
            if part < 1.0:
                return (leg + part) / count
        return 1.0

    def along(self, positions: wp.array[Any], step: wp.array[Any], part: float) -> wp.array[Any]:
        """Where nodes are after a part of their step [m]; the next call overwrites it."""
        self._add(positions, step, part, self._at)
        return self._at

    def _add(self, here: wp.array[Any], step: wp.array[Any], scale: float, out: wp.array[Any]) -> None:
        self._launcher.launch(add_scaled, len(out), [wp.float64(scale), here, step, out])
