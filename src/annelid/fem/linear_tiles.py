"""Direct solution on CUDA: a Cholesky factorisation in a band of square tiles, launched out of captured graphs.

It runs on the CPU too, slowly, so that it can be tested there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from annelid.core.banded import NotPositiveDefinite
from annelid.fem.kernels.linear import fill_kernel
from annelid.fem.kernels.tiles import check_pivots, complete_diagonal, factor_kernels, solve_kernels
from annelid.fem.linear import Unknowns, columns_of

_MANY = 8  # right-hand sides of a group: a tile's width
_THREADS = 128


class TileSolver:
    """Factors each matrix that it is given, on the device.

    Args:
        unknowns: The unknowns.
        tile: Edge of a tile: larger ones take fewer stages, each of which takes longer.
    """

    def __init__(self, unknowns: Unknowns, *, tile: int = 64) -> None:
        self.unknowns, self.device, self.tile = unknowns, unknowns.crew.device, tile
        self.stages = -(-unknowns.count // tile)
        self.reach = min(-(-unknowns.width // tile), self.stages - 1)  # tiles below that of the diagonal
        rows = self.stages * tile
        self._matrix = self._zeros((rows, (self.reach + 1) * tile))
        self._inverse = self._zeros((rows, tile))
        self._bad = wp.zeros(1, dtype=wp.int32, device=self.device)
        self._unit = wp.array(np.eye(tile), dtype=wp.float64, device=self.device)
        self._rows: dict[int, tuple[wp.array, wp.array]] = {}
        self._graphs: dict[str, Any] = {}

    def factor(self, values: wp.array, *, shift: float = 0.0) -> None:
        """Take a matrix; raises `NotPositiveDefinite` if it is not positive definite."""
        unknowns = self.unknowns
        self._matrix.zero_()
        arguments = [0, wp.float64(shift), unknowns.order, values, self._matrix]
        wp.launch(fill_kernel(self.tile), unknowns.pattern.block_count, arguments, device=self.device)
        extra = self.stages * self.tile - unknowns.count
        if extra:
            corner = self._matrix[(self.stages - 1) * self.tile :, : self.tile]
            wp.launch(complete_diagonal, extra, [self.tile - extra, corner], device=self.device)
        self._repeat("factor", self._factor_stages)
        if int(self._bad.numpy()[0]):
            raise NotPositiveDefinite

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
        vectors = columns_of(right)
        groups = -(-vectors.shape[1] // _MANY)
        if groups not in self._rows:
            shape = (self.stages * self.tile, groups * _MANY)
            self._rows[groups] = (self._zeros(shape), self._zeros(shape))
        first, second = self._rows[groups]
        first.zero_()
        self.unknowns.packed(vectors, first.transpose())
        self._repeat(f"solve-{groups}", lambda: self._solve_stages(groups, first, second))
        self.unknowns.unpacked(first.transpose(), columns_of(result))
        return result

    def _factor_stages(self) -> None:
        diagonal, below, rest = factor_kernels(self.tile)
        self._bad.zero_()
        for k in range(self.stages):
            count = min(self.reach, self.stages - 1 - k)
            self._launch(diagonal, 1, [k, self._unit, self._matrix, self._inverse])
            if count:
                self._launch(below, count, [k, self._inverse, self._matrix])
                self._launch(rest, count * (count + 1) // 2, [k, self._matrix])
        arguments = [self.tile, self._matrix, self._bad]
        wp.launch(check_pivots, self.stages * self.tile, arguments, device=self.device)

    def _solve_stages(self, groups: int, first: wp.array, second: wp.array) -> None:
        forward, backward = solve_kernels(self.tile, _MANY)
        for k in range(self.stages):
            count = min(self.reach, self.stages - 1 - k)
            self._launch(forward, (count + 1, groups), [k, self._inverse, self._matrix, first, second])
        for k in reversed(range(self.stages)):
            count = min(self.reach, k)
            self._launch(backward, (count + 1, groups), [k, self._inverse, self._matrix, second, first])

    def _repeat(self, name: str, work: Callable[[], None]) -> None:
        """Do some launches; on CUDA they are captured the second time and replayed from then on."""
        if not self.device.is_cuda:
            work()
        elif name in self._graphs:
            if self._graphs[name] is None:
                with wp.ScopedCapture(device=self.device) as capture:
                    work()
                self._graphs[name] = capture.graph
            wp.capture_launch(self._graphs[name])
        else:
            work()  # loads the kernels, which cannot happen during capture
            self._graphs[name] = None

    def _launch(self, kernel: Any, blocks: int | tuple[int, ...], arguments: list[Any]) -> None:
        wp.launch_tiled(kernel, dim=blocks, inputs=arguments, block_dim=_THREADS, device=self.device)

    def _zeros(self, shape: int | tuple[int, ...]) -> wp.array:
        return wp.zeros(shape, dtype=wp.float64, device=self.device)
