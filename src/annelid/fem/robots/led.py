"""Solutions with the stiffness of now, led by an old factor: what Newton's method of a large robot works with.

Conjugate gradients need an iteration for every way in which the stiffness has changed. Elements that a cable crushes,
or that snap, are few, so that some iterations do what a factorisation would, at a fraction of its cost. They end early:
a rough direction is as good as an exact one while forces are far from linear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import warp as wp

from annelid.fem.kernels.iteration import shifted
from annelid.fem.linalg.gradients import ConjugateGradients, Map
from annelid.fem.linalg.unknowns import NotPositiveDefinite, columns_of
from annelid.fem.model import Model

_ROUGH = 0.05  # of the force: what may be left of it, as the old factor measures it
_ITERATIONS = 20  # at most
_OLD = 12  # iterations that tell that the factor is of no use any more


class LedSolver:
    """Solves with one matrix after the other, roughly.

    Args:
        model: The model.
        improve: Solves with the old factor.
        renew: Makes a factor of the matrix at hand, for which it is called.
    """

    def __init__(self, model: Model, improve: Map, renew: Callable[[], None]) -> None:
        self._model, self._renew = model, renew
        self._values, self._shift, self._old = model.assembly.values, 0.0, False
        self._gradients = ConjugateGradients(model.held, self._multiply, improve)
        self._found = wp.zeros((model.node_count, 1), dtype=wp.vec3d, device=model.device)
        self._halfway = False

    def forget(self) -> None:
        """Try the old factor again, however little it was of use."""
        self._old = False

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix."""
        self._values, self._shift = values, shift
        self._halfway = self._halfway and shift > 0.0
        if self._old and not self._halfway:
            self._old = False
            self._renew()

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """A rough solution for a nodal vector, vec3d of shape [n].

        Raises:
            NotPositiveDefinite: The matrix is not positive definite, and not shifted. The same matrix, shifted, gives
                what was found until that showed, a direction that descends.
        """
        result = wp.zeros_like(right) if out is None else out
        if not self._halfway:
            definite = self._gradients.descend(columns_of(right), self._found, _ROUGH, _ITERATIONS)
            self._old = self._gradients.last_iterations >= _OLD
            if not definite and self._shift == 0.0:
                self._halfway = True
                raise NotPositiveDefinite
        self._halfway = False
        wp.copy(columns_of(result), self._found)
        return result

    def _multiply(self, vectors: wp.array[Any], products: wp.array[Any]) -> None:
        model = self._model
        model.assembly.multiply(vectors, products, self._values)
        arguments = [wp.float64(self._shift), model.held, vectors, products]
        wp.launch(shifted, products.shape, arguments, device=model.device)
