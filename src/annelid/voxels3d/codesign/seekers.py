"""Bodies that a shared network steers to lights: the motion, its loss, and the gradient by the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.voxels3d.adjoint.kernels.course import COMMANDED
from annelid.voxels3d.adjoint.motion import Motion
from annelid.voxels3d.codesign.batch import CHANGE, STEP, Ground
from annelid.voxels3d.codesign.kernels.light import (
    INPUTS,
    loss_kernel,
    sense_kernel,
    slope_kernel,
    unsense_kernel,
)
from annelid.voxels3d.codesign.kernels.network import effort_kernel
from annelid.voxels3d.codesign.network import Network

BEAT = 24.0
"""Angular frequency of the clock [rad/s]: the one at which waves carry these bodies farthest."""


class Seekers:
    """Bodies, each in a world with a light, over some control intervals.

    Args:
        ground: The floor.
        grids: Cells that are filled, shape [bodies, x, y, z].
        lights: Places of the lights [m], shape [bodies, 2]; bodies begin at the origin.
        intervals: Number of control intervals.
        every: Steps of an interval.
        threads: CPU threads.
        keep: Whether states are kept for a way back.
    """

    def __init__(
        self,
        ground: Ground,
        grids: np.ndarray,
        lights: np.ndarray,
        *,
        intervals: int,
        every: int,
        threads: int,
        keep: bool = True,
    ) -> None:
        placed = ground.place(grids)
        self.bodies, self.device = placed.bodies, ground.device
        self._real, types = ground.real, self.bodies.types
        self._intervals, self._every, self._keep = intervals, every, keep
        steps = intervals * every
        origins = wp.zeros(self.bodies.worlds, dtype=wp.int64, device=self.device)
        self._motion = Motion(
            self.bodies, rows=steps + 1 if keep else every + 1, steps=steps, looks=np.array([steps]), origins=origins,
            threads=threads,
        )  # fmt: skip
        count = self.bodies.count
        self._cells = self._array(placed.cells, types.vec3)
        self._spreads = self._array(placed.spreads, types.vec3)
        self._lights = self._array(lights, wp.vec2d)
        calls = intervals if keep else 1
        self._table = wp.zeros((calls, count), dtype=self._real, device=self.device)
        self._inputs = wp.empty((calls, count, INPUTS + 1), dtype=self._real, device=self.device)
        self._slopes = wp.zeros((calls, self.bodies.worlds), dtype=types.vec3, device=self.device)
        self._losses = wp.zeros(self.bodies.worlds, dtype=wp.float64, device=self.device)
        waves = np.tile([CHANGE, 0.0, 0.0, 0.0], (count, 1))
        interval = every if keep else steps
        self._motion.actuate(np.full(count, COMMANDED), waves, self._table, interval)

    def gradient(self, network: Network, clip: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Loss of each world, shape [worlds], and rates of their mean by the weights, shape [p].

        A world that diverges has a loss that is not finite, and no part in the rates.

        Args:
            network: The network that commands voxels.
            clip: Times the median over worlds that the rates of one world by its commands may be at most; those of
                worlds beyond are scaled down. A few chaotic motions would have all the say without it. None leaves
                rates as they are.
        """
        losses = self.run(network)
        motion = self._motion
        motion.turn()
        network.turn(self.bodies.count)
        for interval in reversed(range(self._intervals)):
            row = interval * self._every
            motion.back(row, row, self._every)
            by_inputs = network.back(interval, self._table, motion.ledger.by_table, self._inputs)
            self._unsense(interval, row, by_inputs)
        by_table = motion.ledger.by_table
        shares = self._array(self._shares(by_table, clip), self._real)
        for interval in range(self._intervals):
            network.book(interval, shares, self._table, by_table, self._inputs)
        return losses, network.rates()

    def run(self, network: Network | None = None, commands: wp.array[Any] | None = None) -> np.ndarray:
        """Loss of each world, shape [worlds]: distance from its light at the end over that at the beginning.

        Args:
            network: The network that commands voxels.
            commands: Commands instead, of intervals and voxels.
        """
        motion, every = self._motion, self._every
        motion.begin(0)
        self._stand()
        if network is not None:
            network.begin(self.bodies.count, self._intervals if self._keep else 1)
        for interval in range(self._intervals):
            call, row = (interval, interval * every) if self._keep else (0, 0)
            if not self._keep and interval:
                self._again(every)
            if network is not None:
                self._sense(interval, call, row)
                network.act(call, self._inputs, self._table)
            elif commands is not None:
                wp.copy(self._table[call], commands[interval])
            motion.there(row, row, every)
        return self._judge(self._intervals * every if self._keep else every)

    @property
    def places(self) -> np.ndarray:
        """Where voxels are at the beginning [m], shape [voxels, 3]."""
        return np.array(self.bodies.tables.places.numpy())

    def state(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Displacements [m] and rotations of voxels after so many steps, where states are kept."""
        course = self._motion.course
        return np.array(course.us[row].numpy()), np.array(course.qs[row].numpy())

    # --- parts ---

    def _stand(self) -> None:
        """Put the bodies on the floor, at rest."""
        course = self._motion.course
        for rows in (course.us, course.vs, course.ws):
            rows[0].zero_()
        course.qs[0].fill_(self.bodies.types.quat(0.0, 0.0, 0.0, 1.0))

    def _again(self, row: int) -> None:
        """Go on from a row, where states are not kept."""
        course = self._motion.course
        for rows in (course.us, course.qs, course.vs, course.ws):
            wp.copy(rows[0], rows[row])

    def _sense(self, interval: int, call: int, row: int) -> None:
        tables, course = self.bodies.tables, self._motion.course
        given = [row, tables, course, self._cells, self._spreads, self._lights]
        self._launch(slope_kernel, self.bodies.worlds, [*given, self._slopes[call]])
        angle = (BEAT * STEP * self._every * interval) % (2.0 * np.pi)
        given = [call, row, angle, tables, course, self._cells, self._lights, self._slopes[call]]
        self._launch(sense_kernel, self.bodies.count, [*given, self._inputs])

    def _unsense(self, call: int, row: int, by_inputs: wp.array[Any]) -> None:
        tables, motion = self.bodies.tables, self._motion
        given = [row, tables, motion.course, self._cells, self._spreads, self._lights, self._slopes[call], by_inputs]
        self._launch(unsense_kernel, self.bodies.worlds, [*given, motion.ledger.u_bars])

    def _judge(self, row: int) -> np.ndarray:
        motion, worlds = self._motion, self.bodies.worlds
        given = [row, 1.0 / worlds, self.bodies.tables, motion.course, self._lights]
        self._launch(loss_kernel, worlds, [*given, self._losses, motion.sight.position_seeds])
        return np.array(self._losses.numpy())

    def _launch(self, kernel: Any, size: int, arguments: list[Any]) -> None:
        wp.launch(kernel(self._real), size, arguments, device=self.device)

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

    def _shares(self, by_table: wp.array[Any], clip: float | None) -> np.ndarray:
        """How much the rates of each voxel count, shape [voxels]."""
        squares = wp.zeros(self.bodies.count, dtype=wp.float64, device=self.device)
        self._launch(effort_kernel, self.bodies.count, [by_table, squares])
        sizes = np.sqrt(np.add.reduceat(squares.numpy(), self.bodies.first[:-1]))
        finite = np.isfinite(sizes)
        most = clip * float(np.median(sizes[finite])) if clip is not None and finite.any() else np.inf
        shares = np.where(finite, np.minimum(1.0, most / np.maximum(np.where(finite, sizes, 1.0), 1e-300)), 0.0)
        return np.repeat(shares, np.diff(self.bodies.first))
