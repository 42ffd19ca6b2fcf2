"""Corrections with an old factor, made faster: conjugate gradients for forces that need not be linear in positions.

A move d that changed what is left of the forces by Δr has shown the stiffness along d. Each correction first goes
back to where the forces have no share left along all moves that were seen, then on by what the factor makes of the
rest. Were the forces linear, this would be the method of conjugate gradients, led by the factor.
"""

from __future__ import annotations

import numpy as np


class Accelerator:
    """The moves of one search for balance. Vectors have any shape, always the same.

    Args:
        capacity: Moves that are remembered.
    """

    def __init__(self, capacity: int = 6) -> None:
        self.capacity = capacity
        self._pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def begin(self, forces: np.ndarray | None = None, move: np.ndarray | None = None) -> None:
        """Forget all moves but one, if told: a move that the factor made of some forces [N], all of it [m]."""
        self._pairs.clear()
        self._last = None
        if forces is not None and move is not None:
            self._last = forces.ravel().copy(), move.ravel().copy(), move.ravel().copy()

    def step(self, forces: np.ndarray, solved: np.ndarray) -> np.ndarray:
        """How far to move [m].

        Args:
            forces: What is left of the forces [N].
            solved: What the factor makes of them [m].
        """
        rest, made = forces.ravel().copy(), solved.ravel().copy()
        if self._last is not None:
            before, made_before, move = self._last
            self._pairs = [*self._pairs, (move, rest - before, made - made_before)][-self.capacity :]
        step = made + self._share(rest)
        self._last = rest, made, step
        return step.reshape(solved.shape)

    def _share(self, rest: np.ndarray) -> np.ndarray | float:
        """What the moves that were seen can do about the forces, and what the factor then makes of the difference."""
        if not self._pairs:
            return 0.0
        moves, changes, made = (np.array(side) for side in zip(*self._pairs, strict=True))
        stiffness = -np.einsum("ik,jk->ij", moves, changes)
        stiffness = 0.5 * (stiffness + stiffness.T)
        scale = np.sqrt(np.maximum(np.diag(stiffness), 0.0))
        if not (scale > 0.0).all() or np.linalg.eigvalsh(stiffness / np.outer(scale, scale))[0] < _INDEPENDENT:
            return 0.0
        shares = np.linalg.solve(stiffness, np.einsum("ik,k->i", moves, rest))
        return np.asarray(np.einsum("i,ik->k", shares, moves + made))


_INDEPENDENT = 1e-6
"""Least eigenvalue of the scaled products of moves: below, they say the same, or the forces do not fall along them."""
