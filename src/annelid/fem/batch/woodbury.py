"""Contacts in what leads conjugate gradients, see `kernels.batch_woodbury`: launches of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.fem.batch.bodies import FreeBodies, Vectors
from annelid.fem.batch.inverse import Multiplier
from annelid.fem.kernels import batch_woodbury as kernels


class Woodbury:
    """Corrects answers of the shared inverse for contacts.

    Args:
        inverse: The shared inverse, float32 of shape [rows, rows].
        multiply: What multiplies with it.
        outer: Nodes that can touch, shape [k].
        room: Nodes of a world that are taken in, at most.
        bodies: Free bodies.
        worlds: Number of worlds, filled up to a multiple of a tile.
    """

    def __init__(
        self,
        inverse: wp.array[Any],
        multiply: Multiplier,
        outer: np.ndarray,
        room: int,
        bodies: FreeBodies,
        worlds: int,
    ) -> None:
        self.device, self._inverse, self._multiply = bodies.device, inverse, multiply
        self._bodies, self._worlds, self._room = bodies, worlds, room
        self._outer = wp.array(outer, dtype=wp.int32, device=self.device)
        springs: Any = kernels.Springs()
        springs.room, springs.count = room, wp.zeros(worlds, dtype=wp.int32, device=self.device)
        springs.places, springs.nodes, springs.bodies = (self._grid(room, wp.int32) for _ in range(3))
        springs.roots, springs.inverses, springs.answers = (self._grid(n) for n in (6 * room, 9 * room**2, 3 * room))
        self._springs = springs
        self._forces, self._corrections = (self._grid(inverse.shape[0]) for _ in range(2))

    def begin(self, running: Any, touches: Any, turns: Any) -> None:
        """Find the springs of an iteration of Newton's method."""
        self._launch(kernels.list_springs, self._worlds, [self._outer, running, touches, self._springs, self._forces])
        inputs = [self._inverse, running, turns, touches, self._bodies.own, self._springs]
        self._launch(kernels.couple_springs, (self._room**2, self._worlds), inputs)
        self._launch(kernels.invert_springs, self._worlds, [running, self._springs])

    def correct(self, count: int, running: Any, touches: Any, turns: Any, vectors: Vectors, parts: Any) -> None:
        """Correct so many rows of the answers of the shared inverse; parts of their product with the residual."""
        answers = vectors["answers"]
        inputs = [running, turns, touches, answers, self._springs, self._forces]
        self._launch(kernels.answer_springs, (self._room, self._worlds), inputs)
        if self.device.is_cpu:
            inputs = [self._inverse, self._springs, self._forces, self._corrections]
            self._launch(kernels.multiply_springs, self._corrections.shape, inputs)
        else:
            self._multiply(self._forces, self._corrections)
        if self._bodies.count:
            inputs = [self._bodies.known, running, touches, self._springs, self._forces]
            self._launch(kernels.answer_spring_bodies, (self._bodies.count, self._worlds), inputs)
            self._bodies.answer(running, self._forces, self._corrections)
        inputs = [count, running, vectors["turned"], self._corrections, answers, parts]
        self._launch(kernels.correct_rows, parts.shape, inputs)

    def _grid(self, rows: int, dtype: Any = wp.float32) -> wp.array[Any]:
        return wp.zeros((rows, self._worlds), dtype=dtype, device=self.device)

    def _launch(self, kernel: Any, size: Any, inputs: list[Any]) -> None:
        wp.launch(kernel, size, inputs, device=self.device)
