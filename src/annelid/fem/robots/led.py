"""Solutions with the stiffness of now, led by an old factor: what Newton's method of a large robot works with.

Conjugate gradients need an iteration for every way in which the stiffness has changed. Elements that a cable crushes,
or that snap, are few, so that some iterations do what a factorisation would, at a fraction of its cost. They end early:
a rough direction is as good as an exact one while forces are far from linear. Nor need the stiffness be positive
definite, for which a factorisation would be tried again and again with larger shifts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import warp as wp

from annelid.fem.kernels.iteration import shifted
from annelid.fem.linalg.gradients import ConjugateGradients
from annelid.fem.linalg.unknowns import Linear, NotPositiveDefinite, columns_of
from annelid.fem.model import Model
from annelid.fem.robots.sensitivities import Base, LaggedSolver

_ROUGH = 0.2  # of the forces: what may be left of them
_ITERATIONS = 20  # at most
_OLD = 12  # iterations that tell that another factor would be worth its time, which some 20 of them take on a CPU
_OLD_IF_CHEAP, _OLD_IF_DEAR = 3, 5  # the same on a GPU, where so many take as long as a factor
_REFUSED = 3  # matrices after one that has no factor: those that follow it are likely to have none either
CHEAP = 5000
"""Nodes up to which a factor takes about as long as three solutions on a GPU."""


class Leader(Protocol):
    """A factor that leads.

    Attributes:
        old: Iterations that tell that another factor would be worth its time.
    """

    old: int

    def solve(self, right: wp.array[Any], out: wp.array[Any]) -> None:
        """Displacements under nodal forces, vec3d of shape [n, k], as far as the factor knows."""
        ...

    def renew(self, values: wp.array[Any]) -> bool:
        """Be led by a factor of the matrix at hand; False, and as before, where it is not positive definite."""
        ...

    def forget(self) -> None:
        """Go on as if none had been made."""
        ...


class LaggedLeader:
    """The factor that serves for several steps.

    Args:
        lagged: The factor.
        base: Where the robot stands.
    """

    old = _OLD

    def __init__(self, lagged: LaggedSolver, base: Callable[[], Base]) -> None:
        self.solve, self._lagged, self._base = lagged.solve, lagged, base

    def renew(self, values: wp.array[Any]) -> bool:
        """Factor the matrix at hand; where it is not positive definite the factor before leads on."""
        return self._lagged.renew(values, self._base())

    def forget(self) -> None:
        """Nothing is to be forgotten: what was made serves on."""


class FreshLeader:
    """The factor with which a step began, and another one in reserve: one that fails does not cost the first.

    Args:
        first: The factor with which steps begin.
        reserve: Another solver.
        nodes: Number of nodes.
    """

    def __init__(self, first: Linear, reserve: Linear, nodes: int) -> None:
        self._first, self._reserve, self._used = first, reserve, first
        self.old = _OLD_IF_CHEAP if nodes < CHEAP else _OLD_IF_DEAR

    def solve(self, right: wp.array[Any], out: wp.array[Any]) -> None:
        """Displacements under nodal forces, vec3d of shape [n, k], as far as the latest factor knows."""
        self._used.solve(right, out)

    def renew(self, values: wp.array[Any]) -> bool:
        """Factor the matrix at hand; where it is not positive definite the first factor leads on."""
        self._used = self._first
        try:
            self._reserve.factor(values)
        except NotPositiveDefinite:
            return False
        self._used = self._reserve
        return True

    def forget(self) -> None:
        """Be led by the first factor again."""
        self._used = self._first


class LedSolver:
    """Solves with one matrix after the other, roughly.

    Args:
        model: The model.
        leader: The factor that leads.
    """

    def __init__(self, model: Model, leader: Leader) -> None:
        self._model, self._leader = model, leader
        self._values, self._shift, self._old = model.assembly.values, 0.0, False
        self._gradients = ConjugateGradients(model.held)
        self._found = wp.zeros((model.node_count, 1), dtype=wp.vec3d, device=model.device)
        self._refused = 0  # matrices that are not factored, after one that could not be
        self._halfway = False  # whether a matrix has shown to be not positive definite

    def forget(self) -> None:
        """Try the factor with which a step begins, however little that before was of use."""
        self._old, self._halfway, self._refused = False, False, 0
        self._leader.forget()

    def rehearse(self, right: wp.array[Any]) -> None:
        """Do what solutions take, so that kernels are loaded and graphs captured, with any nodal vector."""
        values = self._model.assembly.values
        for _ in range(2):  # the second time out of graphs
            if self._model.device.is_cuda:
                self._leader.renew(values)
            self._descend(right, 0.0, 2)
        self.forget()

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix."""
        self._values, self._shift = values, shift
        self._halfway = self._halfway and shift > 0.0
        self._refused = max(self._refused - 1, 0)
        if self._old and not self._refused:
            self._old = False
            self._refused = 0 if self._leader.renew(values) else _REFUSED

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """A rough solution for a nodal vector, vec3d of shape [n].

        Raises:
            NotPositiveDefinite: The matrix is not positive definite, and not shifted. The same one, shifted, gives what
                was found until that showed, a direction that descends.
        """
        result = wp.zeros_like(right) if out is None else out
        if not self._halfway:
            definite = self._descend(right, _ROUGH, _ITERATIONS)
            self._old = definite and self._gradients.last_iterations >= self._leader.old
            if not definite and self._shift == 0.0:
                self._halfway = True
                raise NotPositiveDefinite
        self._halfway = False
        wp.copy(columns_of(result), self._found)
        return result

    def _descend(self, right: wp.array[Any], tolerance: float, iterations: int) -> bool:
        maps = self._multiply, self._leader.solve
        return self._gradients.descend(*maps, columns_of(right), self._found, tolerance, iterations)

    def _multiply(self, vectors: wp.array[Any], products: wp.array[Any]) -> None:
        model = self._model
        model.assembly.multiply(vectors, products, self._values)
        arguments = [wp.float64(self._shift), model.held, vectors, products]
        wp.launch(shifted, products.shape, arguments, device=model.device)
