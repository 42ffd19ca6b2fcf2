"""Solution with an old factor alone, for real-time control of solids whose factorisation takes longer than a step may.

Whoever asks corrects what is left, so that nothing iterates here. In the background a new factor is made together with
the sensitivities that an inverse problem needs; both are put to use a fixed number of steps later, whether they took
long or not: timing never changes a result. Until then the old ones are turned by how far each node has rotated.
"""

from __future__ import annotations

import warp as wp

from annelid.fem.kernels.iteration import turn_forth
from annelid.fem.linear import NotPositiveDefinite, columns_of
from annelid.fem.linear_band import BandSolver
from annelid.fem.linear_stale import StaleSolver
from annelid.fem.model import Model


class LaggedSolver(StaleSolver):
    """Solves roughly with a factor that is renewed now and then, and keeps sensitivities.

    Args:
        model: The model, on the CPU.
        columns: Number of sensitivities.
        every: Steps after which factor and sensitivities are renewed.
    """

    def __init__(self, model: Model, columns: int, *, every: int) -> None:
        super().__init__(model.unknowns, model.assembly, model.tetrahedra, every=every)
        shape = (model.node_count, columns)
        self._right, self._solved, self._fresh = (
            wp.zeros(shape, dtype=wp.vec3d, device=self.device) for _ in range(3)
        )
        self._stored = wp.zeros(model.assembly.pattern.block_count, dtype=wp.mat33d, device=self.device)

    @property
    def idle(self) -> bool:
        """Whether a new factor can be begun: the next assembly needs a tangent."""
        return self._job is None

    @property
    def empty(self) -> bool:
        """Whether there is no factor yet."""
        return self._age < 0

    def start(self, values: wp.array, directions: wp.array, *, shift: float = 0.0) -> None:
        """Factor a matrix now and find the sensitivities to directions, vec3d of shape [n, c]."""
        wp.copy(self._values, values)
        self._shift = shift
        self._find_rotations(self._now)
        self._factor_now()
        self._used.solve(directions, self._solved)

    def advance(self) -> None:
        """A step has passed: put new factors to use when it is time."""
        self._find_rotations(self._now)
        self._age += 1
        if self._age >= self.every and self._job is not None:
            self._adopt()

    def renew(self, values: wp.array, directions: wp.array) -> None:
        """Begin to factor a matrix, and to find sensitivities with it, in the background."""
        wp.copy(self._stored, values)
        wp.copy(self._right, directions)
        wp.copy(self._next, self._now)
        self._job = self._pool.submit(self._prepare)

    def sensitivities(self, out: wp.array) -> None:
        """The latest sensitivities, turned with the nodes, vec3d of shape [n, c]."""
        self._launch(turn_forth, [self.unknowns.order.held, self._then, self._now, self._solved, out])

    def solve_once(self, right: wp.array, out: wp.array) -> None:
        """One application of the old factor to nodal vectors, vec3d of shape [n]."""
        self._improve(columns_of(right), columns_of(out))

    def _prepare(self) -> bool:
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
