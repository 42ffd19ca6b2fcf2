"""Motions of driven bodies that are functions of time, tabulated for the steps to come."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.grains.model import Model
from annelid.grains.rigid import Solid
from annelid.shapes.motions import ROWS, frames


class PathTable:
    """Poses and velocities of the bodies that follow a path.

    Args:
        model: The model.
        bodies: The structure of the kernels, whose tables are set.
    """

    def __init__(self, model: Model, bodies: Any) -> None:
        self.model, self._bodies = model, bodies
        self._columns = len(model.paths)
        self._key: tuple[int, float] | None = None
        device, size = model.device, (ROWS + 1) * self._columns
        bodies.path_start = wp.zeros(1, dtype=wp.int64, device=device)
        bodies.path_velocities = wp.zeros(2 * size, dtype=wp.vec3, device=device)
        bodies.path_places = wp.zeros(size, dtype=wp.vec3, device=device)
        bodies.path_turns = wp.zeros(size, dtype=wp.quat, device=device)

    def poses(self, number: int, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres of mass [m], shape [k, 3], and turns of the frame of the kernels, shape [k, 4], at times [s]."""
        body = self.model.bodies[number]
        assert isinstance(body, Solid)
        return body.form.pose(*frames(body.rigid, times))

    def reach(self, clock: int, dt: float, origin: float | None = None) -> int:
        """Steps that the table covers from `clock` on; it is made anew when few are left.

        Args:
            clock: Steps done.
            dt: Time step [s].
            origin: Time of that step [s], where steps are not all of one length.
        """
        if not self._columns:
            return ROWS
        if origin is not None:
            self._tabulate(clock, origin + dt * np.arange(ROWS + 2), dt)
            return ROWS
        first = clock - clock % (ROWS // 2)  # tables begin at the same steps whenever they are made: the same bits
        if self._key != (first, dt):
            self._tabulate(first, dt * (first + np.arange(ROWS + 2)), dt)
            self._key = (first, dt)
        return ROWS - (clock - first)

    def _tabulate(self, clock: int, times: np.ndarray, dt: float) -> None:
        """Make the table from a step on."""
        places = np.empty((ROWS + 1, self._columns, 3), np.float32)
        turns = np.empty((ROWS + 1, self._columns, 4), np.float32)
        velocities = np.empty((ROWS + 1, self._columns, 2, 3), np.float32)
        for column, number in enumerate(self.model.paths):
            where, how = self.poses(number, times)
            places[:, column], turns[:, column] = where[1:], how[1:]
            velocities[:, column, 0] = np.diff(where, axis=0) / dt
            turned = Rotation.from_quat(how)
            velocities[:, column, 1] = (turned[1:] * turned[:-1].inv()).as_rotvec() / dt
        bodies = self._bodies
        bodies.path_places.assign(places.reshape(-1, 3))
        bodies.path_turns.assign(turns.reshape(-1, 4))
        bodies.path_velocities.assign(velocities.reshape(-1, 3))
        bodies.path_start.assign(np.array([clock], np.int64))
        self._key = None
