"""Corrections with an old factor, made faster: conjugate gradients for forces that need not be linear in positions.

A move d that changed what is left of the forces by Δr has shown the stiffness along d. Each correction first goes
back to where the forces have no share left along all moves that were seen, then on by what the factor makes of the
rest. Were the forces linear, this would be the method of conjugate gradients, led by the factor. Vectors stay on the
device; the host reads their products, once a correction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.fem.kernels.corrections import KEPT, Shares, begin_with, correct_better, dot_moves, note_move

_PARTS_ON_CUDA = 256  # of each sum
_INDEPENDENT = 1e-6
"""Least eigenvalue of the scaled products of moves: below, they say the same, or the forces do not fall along them."""


class Accelerator:
    """The moves of one search for balance.

    Args:
        count: Number of nodes.
        device: Where they are.
    """

    def __init__(self, count: int, device: wp.Device) -> None:
        self._count, self._launcher = count, Launcher(device)
        self._last = [wp.zeros(count, dtype=wp.vec3d, device=device) for _ in range(3)]  # forces, made of them, move
        self._moves, self._changes, self._made = (wp.zeros((KEPT, count), dtype=wp.vec3d, device=device) for _ in "abc")
        parts = _PARTS_ON_CUDA if device.is_cuda else 1
        self._sums = wp.zeros((2, KEPT, parts), dtype=wp.float64, device=device)
        self._products, self._stiffness = Mirror(self._sums), np.zeros((KEPT, KEPT))
        self._seen, self._moved = 0, False

    def begin(self) -> None:
        """Forget all moves."""
        self._seen, self._moved = 0, False

    def begin_with(self, shares: wp.array[Any], right: wp.array[Any], move: wp.array[Any]) -> None:
        """Forget all moves but one that the factor made of forces, all of it.

        Args:
            shares: How much of each right-hand side the forces are, shape [c].
            right: Right-hand sides [N], vec3d of shape [n, c].
            move: The move [m], vec3d of shape [n].
        """
        self._seen, self._moved = 0, True
        self._launcher.launch(begin_with, self._count, [shares, right, move, *self._last])

    def improve(self, forces: wp.array[Any], step: wp.array[Any]) -> None:
        """Make a correction better, in place.

        Args:
            forces: What is left of the forces [N], vec3d of shape [n].
            step: What the factor makes of them [m], vec3d of shape [n]; how far to move afterwards.
        """
        shares = self._shares(forces, step) if self._moved else np.zeros(0)
        padded = Shares(*np.pad(shares, (0, KEPT - len(shares))).tolist())
        arguments = [len(shares), padded, forces, self._moves, self._made, step, *self._last]
        self._launcher.launch(correct_better, self._count, arguments)
        self._moved = True

    def _shares(self, forces: wp.array[Any], step: wp.array[Any]) -> np.ndarray:
        """How much of each move that was seen to make again for the forces; none where moves say the same."""
        slot, self._seen = self._seen % KEPT, self._seen + 1
        used = min(self._seen, KEPT)
        known = [self._moves, self._changes]
        self._launcher.launch(note_move, self._count, [slot, forces, step, *self._last, *known, self._made])
        self._launcher.launch(dot_moves, self._sums.shape[1:], [slot, forces, *known, self._sums])
        both, work = self._products.read().sum(axis=2)[:, :used]
        self._stiffness[slot, :used] = self._stiffness[:used, slot] = 0.5 * both
        stiffness = self._stiffness[:used, :used]
        scale = np.sqrt(np.maximum(np.diag(stiffness), 0.0))
        if not (np.isfinite(stiffness).all() and (scale > 0.0).all()):
            return np.zeros(0)
        if np.linalg.eigvalsh(stiffness / np.outer(scale, scale))[0] < _INDEPENDENT:
            return np.zeros(0)
        return np.asarray(np.linalg.solve(stiffness, work))
