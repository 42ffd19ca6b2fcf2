"""Direct solution on the CPU: a banded Cholesky factorisation by LAPACK, after reordering."""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid.core.banded import band_storage, factor_band, solve_band
from annelid.fem.kernels.band import MANY, band_kernel
from annelid.fem.kernels.linear import fill_kernel
from annelid.fem.linear import Unknowns, columns_of


class BandSolver:
    """Factors each matrix that it is given.

    Args:
        unknowns: The unknowns.
    """

    def __init__(self, unknowns: Unknowns) -> None:
        self.unknowns = unknowns
        self._band = band_storage(unknowns.count, unknowns.width)
        self._rounded: np.ndarray | None = None
        nothing = wp.zeros(0, dtype=wp.mat33d, device="cpu")
        arguments = [wp.float64(0.0), unknowns.order, nothing, _view(self._band)]
        self._fill = unknowns.crew.command(fill_kernel(0), unknowns.pattern.block_count, arguments)

    def factor(self, values: wp.array, *, shift: float = 0.0) -> None:
        """Take a matrix; raises `NotPositiveDefinite` if it is not positive definite."""
        self.take(values, shift)
        self.finish()

    def take(self, values: wp.array, shift: float = 0.0) -> None:
        """Copy a matrix, to be factored later by `finish`, which another thread may call."""
        self._band[:] = 0.0
        self._fill((0, wp.float64(shift)), (2, values))

    def finish(self) -> None:
        """Factor what `take` took."""
        self._rounded = None
        factor_band(self._band)

    def round(self) -> None:
        """Keep the factor in single precision too, for `solve_roughly`."""
        self._rounded = self._band.astype(np.float32)

    def solve(
        self,
        right: wp.array,
        out: wp.array | None = None,
        *,
        guess: wp.array | None = None,
        tolerance: float | None = None,
    ) -> wp.array:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k]; exact, so that a guess would not help."""
        result = wp.empty_like(right) if out is None else out
        self._solve(self._band, columns_of(right), columns_of(result))
        return result

    def solve_roughly(self, right: wp.array, out: wp.array) -> None:
        """Solutions in single precision, in half the time: good enough to lead an iteration; shapes [n, k]."""
        if self._rounded is None:
            self.round()
        assert self._rounded is not None
        self._solve(self._rounded, right, out)

    def _solve(self, factor: np.ndarray, right: wp.array, out: wp.array) -> None:
        """One right-hand side by LAPACK, several in groups."""
        if right.shape[1] == 1:
            self._solve_one(factor, right, out)
        else:
            self._solve_groups(factor, right, out)

    def _solve_one(self, factor: np.ndarray, right: wp.array, out: wp.array) -> None:
        row = np.empty((1, self.unknowns.count))
        self.unknowns.packed(right, _view(row))
        rough, scale = _rounded_like(factor, row, 1)
        solve_band(factor, rough)
        row[:] = rough * scale
        self.unknowns.unpacked(_view(row), out)

    def _solve_groups(self, factor: np.ndarray, right: wp.array, out: wp.array) -> None:
        size, many = self.unknowns.count, right.shape[1]
        groups = np.zeros((-(-many // MANY), size, MANY))
        columns = [slice(first, min(first + MANY, many)) for first in range(0, many, MANY)]
        for chosen, group in zip(columns, groups, strict=True):
            self.unknowns.packed(right[:, chosen], _view(group).transpose())
        rough, scale = _rounded_like(factor, groups, (1, 2))
        arguments = [0, size, self.unknowns.width, _view(factor), _view(rough)]
        wp.launch(band_kernel(factor.itemsize == 4), len(groups), arguments, device="cpu")
        groups[:] = rough * scale
        for chosen, group in zip(columns, groups, strict=True):
            self.unknowns.unpacked(_view(group).transpose(), out[:, chosen])


def _view(array: np.ndarray) -> wp.array:
    """A Warp array that shares the memory of a NumPy array."""
    return wp.array(array, dtype=wp.float32 if array.itemsize == 4 else wp.float64, device="cpu", copy=False)


def _rounded_like(factor: np.ndarray, rows: np.ndarray, axes: int | tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Right-hand sides in the precision of a factor, and what they were divided by to stay in its range."""
    if factor.itemsize == 8:
        return rows, np.ones(1)
    scale = np.abs(rows).max(axis=axes, keepdims=True)
    scale[scale == 0.0] = 1.0
    return (rows / scale).astype(np.float32), scale
