"""Solution with an old factor, which brings sensitivities along, for real-time control of large solids.

An inverse problem needs the response K⁻¹Jᵀ to many directions, each as dear as a step may be. Here they are found in
the background together with a new factor, and both are put to use a fixed number of steps later, whether they took long
or not: timing never changes a result. Until then the old ones are turned by how far each node has rotated. They choose
the efforts; the move that follows from these is solved for with the stiffness of the moment.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid.fem.kernels.iteration import conjugate, descend, start, turn_forth
from annelid.fem.kernels.motion import add_scaled
from annelid.fem.linear import NotPositiveDefinite, columns_of
from annelid.fem.linear_band import BandSolver
from annelid.fem.linear_stale import StaleSolver
from annelid.fem.model import Model


class LaggedSolver(StaleSolver):
    """Solves by conjugate gradients with a factor that is renewed now and then, and keeps sensitivities.

    Args:
        model: The model, on the CPU.
        directions: Directions whose responses are wanted, vec3d of shape [n, c]; what they are when a matrix is
            given counts.
        every: Steps after which factor and sensitivities are renewed.
    """

    def __init__(self, model: Model, directions: wp.array, *, every: int) -> None:
        super().__init__(model.unknowns, model.assembly, model.tetrahedra, every=every, iterations=_ITERATIONS)
        self.directions = directions
        self._right, self._solved, self._fresh = (wp.zeros_like(directions) for _ in range(3))
        self._stored = wp.zeros(model.assembly.pattern.block_count, dtype=wp.mat33d, device=self.device)

    def sensitivities(self, out: wp.array) -> None:
        """The latest responses to the directions, turned with the nodes, vec3d of shape [n, c]."""
        self._launch(turn_forth, [self.unknowns.order.held, self._then, self._now, self._solved, out])

    def move(self, right: wp.array, guess: wp.array, close: float) -> wp.array:
        """Displacements under nodal forces, vec3d of shape [n], to within a distance that counts as close [m].

        Raises `NotPositiveDefinite` where the matrix turns out not to be.

        Args:
            right: Forces [N].
            guess: Displacements to begin with [m]; they become the result.
            close: What the old factor would still correct is at most as large [m].
        """
        vectors, solution = columns_of(right), columns_of(guess)
        rest, better, directions, products, parts, scalars = self._buffers_for(1)
        self._multiply(solution, products)
        self._launch(start, [self.unknowns.order.held, vectors, products, rest])
        self._improve(rest, better)
        self._dot(rest, better, parts, scalars, 0)
        wp.copy(directions, better)
        for count in range(self.iterations):
            self.last_iterations = count
            if self._largest_of(better) < close:
                break
            self._multiply(directions, products)
            self._dot(directions, products, parts, scalars, 1)
            if not scalars.numpy()[1, 0] > 0.0:
                raise NotPositiveDefinite
            self._launch(descend, [scalars, directions, products, solution, rest])
            self._improve(rest, better)
            self._dot(rest, better, parts, scalars, 2)
            self._launch(conjugate, [scalars, better, directions])
            wp.copy(scalars, scalars, dest_offset=0, src_offset=2, count=1)
        wp.launch(add_scaled, len(guess), [wp.float64(1.0), guess, better[:, 0], guess], device=self.device)
        return guess

    def _largest_of(self, vectors: wp.array) -> float:
        return float(np.abs(vectors.numpy()).max())

    def _factor_now(self) -> None:
        super()._factor_now()
        self._used.solve(self.directions, self._solved)

    def _renew(self) -> None:
        wp.copy(self._stored, self._values)
        wp.copy(self._right, self.directions)
        wp.copy(self._next, self._now)
        self._job = self._pool.submit(self._prepare)

    def _prepare(self) -> bool:
        """Factor the matrix that was stored and find the responses; in the background."""
        assert isinstance(self._spare, BandSolver)
        try:
            self._spare.factor(self._stored)
        except NotPositiveDefinite:
            return False
        self._spare.round()
        self._spare.solve(self._right, self._fresh)
        return True

    def _adopt(self) -> None:
        before = self._used
        super()._adopt()
        if self._used is not before:
            self._solved, self._fresh = self._fresh, self._solved


_ITERATIONS = 25
