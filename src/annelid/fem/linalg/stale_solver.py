"""Solution with an old factor, for solids whose factorisation takes longer than a step may.

Conjugate gradients solve with the matrix at hand; the factor of an earlier one, turned by how far each node has rotated
since, makes their directions good. On the CPU a new factor is made in the background and put to use a fixed number of
matrices later, whether it took long or not: timing never changes a result.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.core.pool import Job, Pool
from annelid.core.state import new_state
from annelid.fem.assembly import Assembly
from annelid.fem.kernels.iteration import shifted
from annelid.fem.linalg.direct import direct_solver
from annelid.fem.linalg.frames import NodeFrames
from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.gradients import ConjugateGradients
from annelid.fem.linalg.memory import FactorMemory
from annelid.fem.linalg.tile_solver import TileSolver
from annelid.fem.linalg.unknowns import Unknowns, columns_of
from annelid.fem.tetrahedra import Tetrahedra


class StaleSolver:
    """Solves by conjugate gradients, led by a factor that is renewed now and then.

    Args:
        unknowns: The unknowns.
        assembly: The sum whose matrices are solved with.
        tetrahedra: Elements that tell how nodes have rotated.
        every: Matrices after which a factor is renewed.
        tolerance: Residual, as a part of the right-hand side [-].
        iterations: Most iterations before the matrix at hand is factored instead.

    Attributes:
        last_iterations: Iterations of the last solution.
        factorings: Factors made while others waited for them.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        assembly: Assembly,
        tetrahedra: Tetrahedra,
        *,
        every: int = 8,
        tolerance: float = 1e-9,
        iterations: int = 60,
    ) -> None:
        self.unknowns, self.device = unknowns, assembly.device
        self.every, self.tolerance, self.iterations = every, tolerance, iterations
        self._assembly = assembly
        self._used = self._made()
        self._spare = None if isinstance(self._used, TileSolver) else self._made()
        self._values, self._stored, self._factored = (wp.zeros_like(assembly.values) for _ in range(3))
        self._frames = NodeFrames(tetrahedra, unknowns.order.held)
        self._next = self._frames.units()
        self._shift, self._factored_shift, self._age, self._direct = 0.0, 0.0, -1, False
        self._pool = Pool(1, "annelid-factor")
        self._job: Job[bool] | None = None
        self._gradients = ConjugateGradients(unknowns.order.held, self._multiply, self._improve)
        self.last_iterations = self.factorings = 0

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix; the first one, and one that is shifted, is factored at once."""
        wp.copy(self._values, values)
        self._shift = shift
        self._frames.find()
        if self._age < 0 or shift:
            self._factor_now()
            return
        self._direct = False
        self._age += 1
        if self._age >= self.every:
            self._adopt()
        if self._job is None:
            self._renew()

    def solve(
        self,
        right: wp.array[Any],
        out: wp.array[Any] | None = None,
        *,
        guess: wp.array[Any] | None = None,
        tolerance: float | None = None,
    ) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k].

        Args:
            right: Right-hand sides.
            out: Where to put the solutions.
            guess: Solutions to begin with, such as those of a matrix before.
            tolerance: Residual, as a part of the right-hand side; the solver's unless told.
        """
        result = wp.empty_like(right) if out is None else out
        if self._direct:
            self.last_iterations = 0
            return self._used.solve(right, result)
        vectors, solution = columns_of(right), columns_of(result)
        if guess is None:
            solution.zero_()
        else:
            wp.copy(solution, columns_of(guess))
        enough = self.tolerance if tolerance is None else tolerance
        good = self._gradients.solve(vectors, solution, enough, self.iterations)
        self.last_iterations = self._gradients.last_iterations
        if not good:
            self._factor_now()
            self._used.solve(right, result)
        return result

    # --- what states hold ---

    def memory(self, device: wp.Device) -> FactorMemory:
        """A memory of nothing, as before the first matrix."""
        counts = {"factor": 1, "block": len(self._values), "node": self.unknowns.node_count}
        found = new_state(FactorMemory, counts, device)
        found.age.fill_(-1)
        return found

    def remember(self, memory: FactorMemory) -> None:
        """Write the matrices and rotations of the factor at hand and of the next one; nothing else counts."""
        memory.age.fill_(self._age)
        memory.pending.fill_(int(self._job is not None))
        memory.shift.fill_(self._factored_shift)
        for target, source in self._pairs(memory):
            wp.copy(target, source)

    def recall(self, memory: FactorMemory) -> None:
        """Make the factors again, unless they are those at hand."""
        age, pending, shift = (array.numpy()[0] for array in (memory.age, memory.pending, memory.shift))
        same = (age, bool(pending), shift) == (self._age, self._job is not None, self._factored_shift)
        if same and all(np.array_equal(a.numpy(), b.numpy()) for a, b in self._pairs(memory)):
            return
        self._settle_job()
        for target, source in self._pairs(memory):
            wp.copy(source, target)
        self._factored_shift = float(shift)
        if age >= 0:
            self._used.factor(self._factored, shift=self._factored_shift)
        self._age = int(age)
        if pending and self._spare is not None:
            self._job = self._pool.submit(partial(self._prepare, self._spare))

    def _pairs(self, memory: FactorMemory) -> list[tuple[wp.array[Any], wp.array[Any]]]:
        """Arrays of a memory and those that they stand for."""
        now = [(memory.matrix, self._factored), (memory.rotations, self._frames.then)]
        return [*now, (memory.next_matrix, self._stored), (memory.next_rotations, self._next)]

    # --- factors ---

    def _made(self) -> FrontSolver | TileSolver:
        """A solver for the factor."""
        return direct_solver(self.unknowns)

    def _factor_now(self) -> None:
        self._settle_job()
        self.factorings += 1
        self._age = -1  # a factor that fails leaves none
        self._used.factor(self._values, shift=self._shift)
        wp.copy(self._factored, self._values)
        self._factored_shift = self._shift
        wp.copy(self._frames.then, self._frames.now)
        self._age, self._direct = 0, True

    def _renew(self) -> None:
        """Begin to factor the matrix at hand."""
        if self._spare is None:
            return  # on CUDA it is made when it is adopted: nothing else could make it meanwhile
        wp.copy(self._next, self._frames.now)
        wp.copy(self._stored, self._values)
        self._job = self._pool.submit(partial(self._prepare, self._spare))

    def _prepare(self, solver: FrontSolver | TileSolver) -> bool:
        """Factor the matrix that was stored, in the background; whether that could be done."""
        try:
            solver.factor(self._stored)
        except NotPositiveDefinite:
            return False
        return True

    def _adopt(self) -> None:
        """Put the new factor to use, waiting for it if need be."""
        if self._spare is None:
            self._factor_now()
            return
        if self._job is not None and self._job.result():
            self._used, self._spare = self._spare, self._used
            self._frames.then, self._next = self._next, self._frames.then
            self._factored, self._stored = self._stored, self._factored
            self._factored_shift = 0.0
        self._job, self._age = None, 0

    def _settle_job(self) -> None:
        if self._job is not None:
            self._job.result()
            self._job = None

    # --- what conjugate gradients need ---

    def _multiply(self, vectors: wp.array[Any], products: wp.array[Any]) -> None:
        self._assembly.multiply(vectors, products, self._values)
        arguments = [wp.float64(self._shift), self.unknowns.order.held, vectors, products]
        wp.launch(shifted, products.shape, arguments, device=self.device)

    def _improve(self, rest: wp.array[Any], better: wp.array[Any]) -> None:
        """Solve with the old factor, in the frames that nodes had when it was made."""
        self._frames.back(rest, better)
        self._used.solve(better, better)
        self._frames.forth(better, better)
