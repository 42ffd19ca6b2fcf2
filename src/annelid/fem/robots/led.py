"""Solutions with the stiffness of now, led by an old factor: what Newton's method of a large robot works with.

Conjugate gradients need an iteration for every way in which the stiffness has changed. Elements that a cable crushes,
or that snap, are few, so that some iterations do what a factorisation would, at a fraction of its cost. They end early:
a rough direction is as good as an exact one while forces are far from linear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.linalg.unknowns import NotPositiveDefinite, columns_of
from annelid.fem.robots.sensitivities import LaggedSolver

_ROUGH = 0.05  # of the force: what may be left of it, as the old factor measures it
_ITERATIONS = 20  # at most
_OLD = 12  # iterations that tell that the factor is of no use any more


class LedSolver:
    """Solves with one matrix after the other, roughly.

    Args:
        lagged: The old factor.
        renew: Makes a factor of the matrix at hand, for which it is called.
    """

    def __init__(self, lagged: LaggedSolver, renew: Callable[[], None]) -> None:
        self._lagged, self._renew = lagged, renew
        self._values, self._shift, self._old = lagged.model.assembly.values, 0.0, False
        room, device = (lagged.model.node_count, 1), lagged.model.device
        self._direction, self._product, self._rest, self._better = (
            wp.zeros(room, dtype=wp.vec3d, device=device) for _ in range(4)
        )

    def forget(self) -> None:
        """Try the old factor again, however little it was of use."""
        self._old = False

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix."""
        self._values, self._shift = values, shift
        if self._old:
            self._old = False
            self._renew()

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """A rough solution for a nodal vector, vec3d of shape [n].

        Raises:
            NotPositiveDefinite: The matrix is not positive definite, and not shifted. One that is shifted gives what
                was found until that showed, a direction that descends.
        """
        result = wp.zeros_like(right) if out is None else out
        solution = columns_of(result).numpy()
        wp.copy(self._rest, columns_of(right))
        rest, better, direction, product = (
            each.numpy() for each in (self._rest, self._better, self._direction, self._product)
        )
        solution[:] = 0.0
        self._lagged.solve(self._rest, self._better)
        direction[:] = better
        left = first = _dot(rest, better)
        for count in range(_ITERATIONS):
            if not left > _ROUGH**2 * first:
                break
            self._lagged.multiply(self._values, self._direction, self._product)
            product += self._shift * direction
            curvature = _dot(direction, product)
            if not curvature > 0.0:
                if self._shift == 0.0:
                    raise NotPositiveDefinite
                if count == 0:
                    solution[:] = direction
                break
            solution += (left / curvature) * direction
            rest -= (left / curvature) * product
            self._lagged.solve(self._rest, self._better)
            before, left = left, _dot(rest, better)
            direction *= left / before
            direction += better
        self._old = count >= _OLD
        return result


def _dot(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.einsum("nkx,nkx->", first, second))
