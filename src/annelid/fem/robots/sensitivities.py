"""Solution with an old factor, which brings sensitivities along, for real-time control of large solids.

An inverse problem needs the response K⁻¹Jᵀ to many directions, each as dear as a step may be. Here they are found in
the background together with a new factor, and both are put to use a fixed number of steps later, whether they took long
or not: timing never changes a result. Until then the old ones choose the efforts, and the old factor corrects what
they leave out of balance, so that most steps need no matrix at all. Where the old responses promise what does not come
true, conjugate gradients with the matrix of now, led by the old factor, make better ones of them, which then serve on.

Nothing is turned with the nodes here, unlike in `linear_stale`. Neighbours that turn differently, by however little,
strain the solid, which spoils an old factor in the softest directions; over a few steps it serves better as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.pool import Job, Pool
from annelid.fem.kernels.iteration import free, start
from annelid.fem.kernels.motion import add_columns
from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.gradients import ConjugateGradients
from annelid.fem.linalg.unknowns import NotPositiveDefinite
from annelid.fem.model import Model

Room = tuple[wp.array[Any], wp.array[Any]]
"""Room for two blocks of vectors."""

_REFINED, _ITERATIONS = 0.03, 12  # residual of refined responses, and most iterations until then


@dataclass(frozen=True, eq=False)
class Base:
    """Where a robot stood when its stiffness and its directions were taken.

    Attributes:
        positions: Positions of the nodes at which the stiffness was taken [m], shape [n, 3].
        efforts: Efforts at which it was taken, shape [k].
        aimed_from: Positions at which the directions were taken [m], shape [n, 3].
    """

    positions: np.ndarray
    efforts: np.ndarray
    aimed_from: np.ndarray

    def same(self, other: Base) -> bool:
        """Whether both are one and the same, to the bit."""
        pairs = zip(self._arrays, other._arrays, strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.positions, self.efforts, self.aimed_from


class LaggedSolver:
    """Solves roughly with a factor that is renewed now and then, and keeps sensitivities.

    Args:
        model: The model, on the CPU.
        directions: Directions whose responses are wanted, vec3d of shape [n, c]; what they are when a matrix is
            given counts.
        every: Steps after which factor and sensitivities are renewed.
        sooner: The same where responses had to be refined meanwhile, or the factor was made out of turn: the solid
            changes faster there. `every` unless told.

    Attributes:
        age: Steps since the factor at hand was put to use, -1 where there is none.
        base: Where the robot stood when the factor at hand was made.
        next_base: Where it stood for the one that is being made; None where none is.
        shift: Added to the diagonal of the matrix that was factored [N/m].
        responses_age: Steps since the responses at hand were found.
        factorings: Factors made while others waited for them.
    """

    def __init__(self, model: Model, directions: wp.array[Any], *, every: int, sooner: int | None = None) -> None:
        self.model, self.directions = model, directions
        self.every, self.sooner = every, every if sooner is None else sooner
        self._used, self._spare = (FrontSolver(model.unknowns, single=True) for _ in range(2))
        self._reserve: FrontSolver | None = None  # for factors that may fail, made where the first one is needed
        self._stored = wp.zeros_like(model.assembly.values)
        self._right, self._solved, self._fresh = (wp.zeros_like(directions) for _ in range(3))
        self._room, self._spare_room = ((wp.zeros_like(directions), wp.zeros_like(directions)) for _ in range(2))
        self._gradients = ConjugateGradients(model.held)
        self.age, self.shift, self.responses_age = -1, 0.0, 0
        self.base: Base | None = None
        self.next_base: Base | None = None
        self._pool = Pool(1, "annelid-factor")
        self._job: Job[bool] | None = None
        self._given_up: Job[bool] | None = None  # nobody needs what it makes, but it still uses its arrays
        self._taken: tuple[np.ndarray, float] | None = None  # the matrix that was factored at once last, and its shift
        self.factorings = 0

    @property
    def of_now(self) -> bool:
        """Whether factor and responses were made in this step."""
        return self.age == 0 and self.responses_age == 0

    @property
    def due(self) -> bool:
        """Whether the next step needs the matrix where the robot stands, to make a factor of it."""
        changing = self.responses_age <= self.age  # those that come with a factor are older than it is in use
        return self.age < 0 or self.age + 1 >= (self.sooner if changing else self.every)

    def factor(self, values: wp.array[Any], base: Base, *, shift: float = 0.0) -> None:
        """Take a matrix, where one is due: the first one, and one that is shifted, is factored at once."""
        if self.age < 0 or shift:
            self.restart(values, base, shift=shift)
        else:
            self._adopt()
        self.prepare(values, base)

    def restart(self, values: wp.array[Any], base: Base, *, shift: float = 0.0) -> None:
        """Factor a matrix at once, unless that was done last; raises `NotPositiveDefinite` if it is not."""
        self.outdate()  # a factor that fails leaves none
        if self._taken is None or self._taken[1] != shift or not np.array_equal(self._taken[0], values.numpy()):
            self._taken = None
            self._used.factor(values, shift=shift)
            self._taken = values.numpy().copy(), shift
            self.factorings += 1
        _respond(self.model, self._used, self._room, values, self.directions, self._solved)
        self.age, self.base, self.shift, self.responses_age = 0, base, shift, 0

    def renew(self, values: wp.array[Any], base: Base) -> bool:
        """Put a factor of a matrix to use, and keep the responses at hand; False, and as before, if it has none."""
        if self._reserve is None:
            self._reserve = FrontSolver(self.model.unknowns, single=True)
        try:
            self._reserve.factor(values)
        except NotPositiveDefinite:
            return False
        self.factorings += 1
        self._used, self._reserve, self._taken = self._reserve, self._used, None
        self.outdate()
        self.age, self.base = self.every - 1, base  # the solid changes fast: the next step asks for another one
        return True

    def outdate(self) -> None:
        """Let the next matrix be factored at once."""
        self._given_up = self._job or self._given_up
        self._job, self.next_base = None, None
        self.age, self.base, self.shift = -1, None, 0.0

    def advance(self) -> None:
        """Go on to the next step with the factor at hand."""
        self.age += 1
        self.responses_age += 1

    def solve(self, right: wp.array[Any], out: wp.array[Any]) -> None:
        """Displacements under nodal forces, vec3d of shape [n] or [n, k], as far as the old factor knows."""
        self._used.solve(right, out)

    @property
    def responses(self) -> wp.array[Any]:
        """The latest responses to the directions, vec3d of shape [n, c]."""
        return self._solved

    def refine(self, values: wp.array[Any], right: wp.array[Any], out: wp.array[Any]) -> bool:
        """Displacements under forces and along directions of now with the matrix of now; False if that cannot be done.

        Args:
            values: The matrix.
            right: Forces, then the directions, vec3d of shape [n, 1 + c].
            out: Solutions; the latest responses are what they begin with, and become.
        """
        self._used.solve(right[:, :1], out[:, :1])
        wp.copy(out[:, 1:], self._solved)
        multiply = partial(self.multiply, values)
        if not self._gradients.solve(multiply, self._used.solve, right, out, _REFINED, _ITERATIONS):
            return False
        wp.copy(self._solved, out[:, 1:])
        self.responses_age = 0
        return True

    def multiply(self, values: wp.array[Any], vectors: wp.array[Any], products: wp.array[Any]) -> None:
        """Products of a matrix with vectors, vec3d of shape [n, k], without held components."""
        self.model.assembly.multiply(vectors, products, values)
        wp.launch(free, vectors.shape, [self.model.held, products], device="cpu")

    def prepare(self, values: wp.array[Any], base: Base) -> None:
        """Begin to factor a matrix and to find responses, in the background."""
        if self._given_up is not None:
            self._given_up.result()
            self._given_up = None
        self.next_base = base
        wp.copy(self._stored, values)
        wp.copy(self._right, self.directions)
        arrays = self._spare_room, self._stored, self._right, self._fresh
        self._job = self._pool.submit(partial(_prepared, self.model, self._spare, *arrays))

    def _adopt(self) -> None:
        """Put what was made in the background to use, waiting for it if need be."""
        if self._job is not None and self._job.result():
            self._used, self._spare, self._taken = self._spare, self._used, None
            if self.responses_age >= self.age:  # none were found since those of the new factor were asked for
                self._solved, self._fresh = self._fresh, self._solved
                self.responses_age = self.age
            self.base, self.shift = self.next_base, 0.0
        self.responses_age += 1
        self._job, self.next_base, self.age = None, None, 0


def _prepared(
    model: Model, solver: FrontSolver, room: Room, values: wp.array[Any], right: wp.array[Any], out: wp.array[Any]
) -> bool:
    """Factor a matrix and find responses; False if it is not positive definite."""
    try:
        solver.factor(values)
    except NotPositiveDefinite:
        return False
    _respond(model, solver, room, values, right, out)
    return True


def _respond(
    model: Model, solver: FrontSolver, room: Room, values: wp.array[Any], right: wp.array[Any], out: wp.array[Any]
) -> None:
    """Responses to directions; single precision leaves a part in a hundred, which is solved for again."""
    rest, better = room
    solver.solve(right, out)
    model.assembly.multiply(out, better, values)
    wp.launch(start, right.shape, [model.held, right, better, rest], device="cpu")
    solver.solve(rest, better)
    wp.launch(add_columns, out.shape, [better, out], device="cpu")
