"""Conjugate gradients for several right-hand sides at once, led by whatever solves roughly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Launcher
from annelid.fem.kernels.iteration import collect_columns, conjugate, descend, dot_columns, start

_PARTS = 128

Map = Callable[[wp.array[Any], wp.array[Any]], object]
"""Something linear: from vectors, vec3d of shape [n, k], into others of the same shape."""


class ConjugateGradients:
    """Solves with a symmetric matrix.

    Args:
        held: Bits of the components of each node that do not move, int32 of shape [n].

    Attributes:
        last_iterations: Iterations of the last solution.
    """

    def __init__(self, held: wp.array[Any]) -> None:
        self._held = held
        self.device = wp.get_device(held.device)
        self._buffers: dict[int, tuple[wp.array[Any], ...]] = {}
        self._launcher = Launcher(self.device)
        self.last_iterations = 0

    def solve(
        self,
        multiply: Map,
        improve: Map,
        right: wp.array[Any],
        solution: wp.array[Any],
        tolerance: float,
        iterations: int,
    ) -> bool:
        """Improve solutions in place; False if they do not become good, or if the matrix is not positive definite.

        Args:
            multiply: Products with the matrix, without held components.
            improve: A rough solution, such as that of an old factor.
            right: Right-hand sides, vec3d of shape [n, k].
            solution: What to begin with.
            tolerance: Residual, as a part of the right-hand side [-].
            iterations: Most iterations.
        """
        rest, better, directions, products, parts, scalars = self._buffers_for(right.shape[1])
        multiply(solution, products)
        self._launch(start, [self._held, right, products, rest])
        self._dot(right, right, parts, scalars, 3)
        improve(rest, better)
        self._dot(rest, better, parts, scalars, 0)
        wp.copy(directions, better)
        for count in range(iterations + 1):
            self._dot(rest, rest, parts, scalars, 4)
            values = scalars.numpy()
            self.last_iterations = count
            if not np.isfinite(values[:5]).all() or (values[0] < 0.0).any():
                return False
            if (values[4] <= tolerance**2 * values[3]).all():
                return True
            multiply(directions, products)
            self._dot(directions, products, parts, scalars, 1)
            self._launch(descend, [scalars, directions, products, solution, rest])
            improve(rest, better)
            self._dot(rest, better, parts, scalars, 2)
            self._launch(conjugate, [scalars, better, directions])
            if (scalars.numpy()[1] < 0.0).any():  # the matrix is not positive definite
                return False
            wp.copy(scalars, scalars, dest_offset=0, src_offset=2 * right.shape[1], count=right.shape[1])
        return False

    def descend(
        self,
        multiply: Map,
        improve: Map,
        right: wp.array[Any],
        solution: wp.array[Any],
        tolerance: float,
        iterations: int,
    ) -> bool:
        """Find a direction in which to go, from nothing; False if the matrix is not positive definite.

        It is then what was found until that showed: along it the energy falls all the same.

        Args:
            multiply: Products with the matrix, without held components.
            improve: A rough solution, such as that of an old factor.
            right: The forces, vec3d of shape [n, 1].
            solution: The direction.
            tolerance: What may be left of the forces, as `improve` measures it, as a part of them [-].
            iterations: Most iterations.
        """
        rest, better, directions, products, parts, scalars = self._buffers_for(right.shape[1])
        solution.zero_()
        wp.copy(rest, right)
        self._dot(rest, rest, parts, scalars, 3)
        improve(rest, better)
        self._dot(rest, better, parts, scalars, 0)
        wp.copy(directions, better)
        for count in range(1, iterations + 1):
            multiply(directions, products)
            self._dot(directions, products, parts, scalars, 1)
            self._launch(descend, [scalars, directions, products, solution, rest])
            self._dot(rest, rest, parts, scalars, 4)
            _, curvature, _, first, left = scalars.numpy()[:, 0].tolist()
            self.last_iterations = count
            if not curvature > 0.0:
                if count == 1:
                    wp.copy(solution, better)
                return False
            if not left > tolerance**2 * first:
                break
            improve(rest, better)
            self._dot(rest, better, parts, scalars, 2)
            self._launch(conjugate, [scalars, better, directions])
            wp.copy(scalars, scalars, dest_offset=0, src_offset=2 * right.shape[1], count=right.shape[1])
        return True

    def _dot(
        self, first: wp.array[Any], second: wp.array[Any], parts: wp.array[Any], scalars: wp.array[Any], place: int
    ) -> None:
        self._launcher.launch(dot_columns, parts.shape, [first, second, parts])
        self._launcher.launch(collect_columns, parts.shape[1], [place, parts, scalars])

    def _launch(self, kernel: Any, arguments: list[Any]) -> None:
        self._launcher.launch(kernel, arguments[-1].shape, arguments)

    def _buffers_for(self, many: int) -> tuple[wp.array[Any], ...]:
        if many not in self._buffers:
            shape = (len(self._held), many)
            vectors = [wp.zeros(shape, dtype=wp.vec3d, device=self.device) for _ in range(4)]
            parts = wp.zeros((_PARTS, many), dtype=wp.float64, device=self.device)
            self._buffers[many] = (*vectors, parts, wp.zeros((5, many), dtype=wp.float64, device=self.device))
        return self._buffers[many]
