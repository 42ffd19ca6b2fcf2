"""Contacts in what leads conjugate gradients, see `kernels.batch_woodbury`: launches of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.fem.batch.bodies import FreeBodies, Vectors
from annelid.fem.batch.inverse import filled, multiplier
from annelid.fem.batch.settings import Product
from annelid.fem.kernels import batch_woodbury as kernels


class Woodbury:
    """Leads conjugate gradients by the shared inverse, corrected for contacts.

    Args:
        inverse: The shared inverse, float32 of shape [rows, rows].
        product: What multiplies with it.
        outer: Nodes that can touch, shape [k].
        room: Nodes of a world that are taken in, at most.
        bodies: Free bodies.
        worlds: Number of worlds, filled up to a multiple of a tile.
        rounded: Whether products may be made of rounded numbers, see `inverse.multiplier`.
    """

    def __init__(
        self,
        inverse: wp.array[Any],
        product: Product,
        outer: np.ndarray,
        room: int,
        bodies: FreeBodies,
        worlds: int,
        *,
        rounded: bool,
    ) -> None:
        self.device, self._bodies, self._worlds, self._room = bodies.device, bodies, worlds, room
        self._outer = wp.array(outer, dtype=wp.int32, device=self.device)
        rows = np.zeros((filled(3 * len(outer), self.device), inverse.shape[1]), np.float32)
        rows[: 3 * len(outer)] = inverse.numpy()[(3 * outer[:, None] + np.arange(3)).ravel()]
        self._inverse = inverse
        self._outer_rows = wp.array(rows, dtype=wp.float32, device=self.device)
        self._follow = multiplier(self._outer_rows, product, self.device, rounded=rounded)
        self._followed = self._grid(len(rows) if self.device.is_cuda else 0)
        self._marks = self._grid(-(-len(outer) // kernels.AT_ONCE), wp.int32)
        springs: Any = kernels.Springs()
        springs.room, springs.count = room, wp.zeros(worlds, dtype=wp.int32, device=self.device)
        springs.places, springs.nodes, springs.bodies = (self._grid(room, wp.int32) for _ in range(3))
        springs.roots, springs.inverses = (self._grid(n) for n in (6 * room, 9 * room**2))
        springs.ways, springs.answers = (self._grid(3 * room) for _ in range(2))
        springs.kept = self._grid(3 * room + 6 * bodies.count)
        self._springs = springs

    def begin(self, running: Any, touches: Any, turns: Any) -> None:
        """Find the springs of an iteration of Newton's method."""
        self._launch(kernels.mark_springs, self._marks.shape, [running, touches, self._marks])
        inputs = [self._outer, running, touches, self._marks, self._springs]
        self._launch(kernels.list_springs, self._worlds, inputs)
        inputs = [self._inverse, running, turns, touches, self._bodies.own, self._springs]
        self._launch(kernels.couple_springs, (self._room**2, self._worlds), inputs)
        lanes = kernels.LANES if self.device.is_cuda else 1
        self._launch(kernels.invert_springs, (self._worlds, lanes), [running, self._springs], lanes)

    def take(self, running: Any, touches: Any, turns: Any, vectors: Vectors) -> None:
        """Take from the residual what springs do where nodes and bodies follow the shared inverse."""
        residual, answers, each = vectors["turned"], vectors["answers"], (self._room, self._worlds)
        if self.device.is_cpu:
            self._launch(kernels.follow_springs, each, [self._outer_rows, running, residual, self._springs])
        else:
            self._follow(residual, self._followed)
        if self._bodies.count:
            self._bodies.answer(running, residual, answers)
        inputs = [int(self.device.is_cpu), running, turns, touches, self._followed, answers, self._springs]
        self._launch(kernels.stretch_springs, each, inputs)
        self._launch(kernels.answer_springs, each, [running, turns, self._springs, residual])
        if self._bodies.count:
            inputs = [self._bodies.known, running, touches, self._springs, residual]
            self._launch(kernels.answer_spring_bodies, (self._bodies.count, self._worlds), inputs)

    def give_back(self, running: Any, vectors: Vectors) -> None:
        """Make the residual what it was."""
        inputs = [self._bodies.known, running, self._springs, vectors["turned"]]
        self._launch(kernels.restore_residual, (self._room + 2 * self._bodies.count, self._worlds), inputs)

    def _grid(self, rows: int, dtype: Any = wp.float32) -> wp.array[Any]:
        return wp.zeros((rows, self._worlds), dtype=dtype, device=self.device)

    def _launch(self, kernel: Any, size: Any, inputs: list[Any], block: int = 256) -> None:
        wp.launch(kernel, size, inputs, device=self.device, block_dim=block)
