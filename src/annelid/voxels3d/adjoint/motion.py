"""The arrays of a motion of 3-D voxels that is run there and back, and the launches that do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.launch import Team
from annelid.voxels3d.adjoint.kernels.back import back_blocks, back_team
from annelid.voxels3d.adjoint.kernels.course import course_of, ledger_of, sight_of
from annelid.voxels3d.adjoint.kernels.there import there_blocks, there_team
from annelid.voxels3d.kernels.layout import Layout, layout
from annelid.voxels3d.kernels.program import BLOCK

_BARS = ("u_bars", "q_bars", "v_bars", "w_bars")


@dataclass(frozen=True, eq=False)
class Bodies:
    """Robots side by side, as kernels see them.

    Attributes:
        tables: Their tables.
        real: Type of numbers.
        device: Where they are.
        first: First voxel of each world, and their number, shape [worlds + 1].
    """

    tables: Any
    real: Any
    device: wp.Device
    first: np.ndarray

    @property
    def types(self) -> Layout:
        """Types of the kernels."""
        return layout(self.real)

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return len(self.first) - 1

    @property
    def count(self) -> int:
        """Number of voxels."""
        return int(self.first[-1])

    @property
    def largest(self) -> int:
        """Voxels of the largest world."""
        return int(np.diff(self.first).max())


class Motion:
    """Kept states and rates of robots, and steps there and back.

    Args:
        bodies: The robots.
        rows: States that are kept.
        steps: Steps of the whole motion.
        looks: Steps after which the loss looks, ascending.
        origins: Step at which each world began, shape [worlds].
        threads: CPU threads.

    Attributes:
        course: Kept states, and what actuates voxels.
        ledger: Rates.
        sight: What the loss looks at.
        work: What the kernels of plain simulations compute with.
    """

    def __init__(
        self, bodies: Bodies, *, rows: int, steps: int, looks: np.ndarray, origins: wp.array[Any], threads: int
    ) -> None:
        self.bodies, self.device, self.rows = bodies, bodies.device, rows
        self._team = None if self.device.is_cuda else Team(max(1, min(threads, bodies.worlds)))
        self._width = min(BLOCK, -(-bodies.largest // 32) * 32)
        self.course, self.ledger = self._new_course(rows), self._new_ledger()
        self.sight = self._new_sight(steps, looks)
        self.work = self._scratch(origins)

    def begin(self, clock: int) -> None:
        """Begin a motion after so many steps of the simulation."""
        self.work.clock.fill_(clock)
        self.work.trouble.fill_(-1)

    def actuate(self, drives: np.ndarray, waves: np.ndarray, table: wp.array[Any], interval: int) -> None:
        """Say what changes the sizes of voxels; see `course_of`."""
        course = self.course
        course.drives = wp.array(drives, dtype=wp.int32, device=self.device)
        course.waves = wp.array(waves, dtype=wp.vec4d, device=self.device)
        course.table, course.interval, course.actuated = table, interval, int(drives.any())

    def there(self, row: int, first: int, steps: int) -> None:
        """Take steps from the state in a row, the one after `first` steps of the motion; the rows after it are kept."""
        arguments = [row, first, steps, self.bodies.tables, self.work, self.course]
        self._run(there_team, there_blocks, arguments)

    def turn(self, *, moduli: bool = False) -> None:
        """Begin to run back: forget all rates; those by moduli are gathered where they are asked for."""
        ledger, count = self.ledger, self.bodies.count if moduli else 0
        ledger.by_links, ledger.by_moduli = self.zeros(3 * count, self.bodies.real), self.zeros(count, self.bodies.real)
        for rates in (ledger.u_bars, ledger.q_bars, ledger.v_bars, ledger.w_bars, ledger.size_bars, ledger.by_waves,
                      ledger.by_gravity):  # fmt: skip
            rates.zero_()
        ledger.by_table = self.zeros(self.course.table.shape, self.bodies.real)

    def back(self, row: int, first: int, steps: int) -> None:
        """Run steps back, as `there` took them."""
        arguments = [row, first, steps, self.bodies.tables, self.work, self.course, self.sight, self.ledger]
        self._run(back_team, back_blocks, arguments)

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are; waits for the device."""
        steps = self.work.trouble.numpy()
        bad = steps[steps >= 0]
        return int(bad.min()) if len(bad) else None

    def zeros(self, shape: Any, dtype: Any) -> wp.array[Any]:
        """An array on the device."""
        return wp.zeros(shape, dtype=dtype, device=self.device)

    def _run(self, team: Any, blocks: Any, arguments: Sequence[Any]) -> None:
        if self._team is not None:
            self._team.run(team(self.bodies.real), arguments)
            return
        size, width = self.bodies.worlds * self._width, self._width
        wp.launch(blocks(self.bodies.real), size, [width, *arguments], device=self.device, block_dim=width)

    def _new_course(self, rows: int) -> Any:
        types, count = self.bodies.types, self.bodies.count
        course = course_of(self.bodies.real)()
        for name, dtype in zip(("us", "qs", "vs", "ws"), (types.vec3, types.quat, types.vec3, types.vec3), strict=True):
            setattr(course, name, wp.empty((rows, count), dtype=dtype, device=self.device))
        touching = self.bodies.tables.obstacles.shape[0] > 0
        course.heads = wp.empty((rows if touching else 0, count), dtype=types.vec3, device=self.device)
        course.gravity = wp.full(self.bodies.worlds, self.bodies.tables.gravity, dtype=types.vec3, device=self.device)
        return course

    def _new_ledger(self) -> Any:
        types, count, real = self.bodies.types, self.bodies.count, self.bodies.real
        ledger = ledger_of(real)()
        for name in (*_BARS, "force_bars", "moment_bars", "by_gravity"):
            setattr(ledger, name, self.zeros(count, types.vec3))
        for name in ("size_bars", "sizes", "own_sizes"):
            setattr(ledger, name, self.zeros(count, real))
        ledger.own, ledger.ends = self.zeros((4, count), types.vec3), self.zeros((4, 3 * count + 3), types.vec3)
        ledger.end_sizes, ledger.by_waves = self.zeros(3 * count + 3, real), self.zeros(count, wp.vec3d)
        return ledger

    def _new_sight(self, steps: int, looks: np.ndarray) -> Any:
        sight, shape = sight_of(self.bodies.real)(), (len(looks), self.bodies.count)
        rows = np.full(steps + 1, -1, np.int32)
        rows[looks] = np.arange(len(looks))
        sight.rows = wp.array(rows, dtype=wp.int32, device=self.device)
        for name in ("position_seeds", "velocity_seeds"):
            setattr(sight, name, self.zeros(shape, self.bodies.types.vec3))
        return sight

    def _scratch(self, origins: wp.array[Any]) -> Any:
        types, count = self.bodies.types, self.bodies.count
        work = types.Motion()
        sizes = {
            "displacements": (count, types.vec3), "rotations": (count, types.quat), "velocities": (count, types.vec3),
            "spins": (count, types.vec3), "sizes": (count, types.real), "forces": (count, types.vec3),
            "moments": (count, types.vec3), "end_forces": (3 * count + 3, types.vec3),
            "end_moments": (3 * count + 3, types.vec3), "clock": (1, wp.int64),
            "trouble": (self.bodies.worlds, wp.int64),
        }  # fmt: skip
        for name, (length, dtype) in sizes.items():
            setattr(work, name, self.zeros(length, dtype))
        work.origins = origins
        return work
