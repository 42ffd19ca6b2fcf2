"""Cholesky factorisation of a matrix in a band of square tiles, and solution with it, column of tiles by column.

Tile (i, j), i >= j, stands at rows i T and columns (i - j) T. Each kernel is one stage for one column of tiles, one
block a tile; the host launches a stage a column, on CUDA out of a captured graph.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@functools.cache
def factor_kernels(tile: int) -> tuple[Any, Any, Any]:
    """Stages of the factorisation: the tile on the diagonal, those below it, what they take out of the rest."""

    @wp.kernel(module="unique", enable_backward=False)
    def factor_diagonal(
        k: int,
        unit: wp.array2d(dtype=f64),
        matrix: wp.array2d(dtype=f64),
        inverse_out: wp.array2d(dtype=f64),
    ):
        square = wp.tile_load(matrix, shape=(tile, tile), offset=(k * tile, 0))
        lower = wp.tile_cholesky(square)
        identity = wp.tile_load(unit, shape=(tile, tile), offset=(0, 0))
        inverse = wp.tile_lower_solve(lower, identity)
        wp.tile_store(inverse_out, inverse, offset=(k * tile, 0))
        wp.tile_store(matrix, lower, offset=(k * tile, 0))

    @wp.kernel(module="unique", enable_backward=False)
    def factor_below(
        k: int,
        inverse: wp.array2d(dtype=f64),
        matrix: wp.array2d(dtype=f64),
    ):
        j = 1 + wp.tid()
        right = wp.tile_transpose(wp.tile_load(inverse, shape=(tile, tile), offset=(k * tile, 0)))
        here = wp.tile_load(matrix, shape=(tile, tile), offset=((k + j) * tile, j * tile))
        wp.tile_store(matrix, wp.tile_matmul(here, right), offset=((k + j) * tile, j * tile))

    @wp.kernel(module="unique", enable_backward=False)
    def factor_rest(k: int, matrix: wp.array2d(dtype=f64)):
        pair = wp.tid()
        i = int(0)
        while (i + 1) * (i + 2) // 2 <= pair:
            i += 1
        j = pair - i * (i + 1) // 2
        i += 1
        j += 1
        left = wp.tile_load(matrix, shape=(tile, tile), offset=((k + i) * tile, i * tile))
        right = wp.tile_transpose(wp.tile_load(matrix, shape=(tile, tile), offset=((k + j) * tile, j * tile)))
        rest = wp.tile_load(matrix, shape=(tile, tile), offset=((k + i) * tile, (i - j) * tile))
        wp.tile_matmul(left, right, rest, alpha=-1.0)
        wp.tile_store(matrix, rest, offset=((k + i) * tile, (i - j) * tile))

    return factor_diagonal, factor_below, factor_rest


@functools.cache
def solve_kernels(tile: int, many: int) -> tuple[Any, Any]:
    """Stages of the solution, forwards and backwards, for groups of `many` right-hand sides."""

    @wp.kernel(module="unique", enable_backward=False)
    def forward(
        k: int,
        inverse: wp.array2d(dtype=f64),
        factor: wp.array2d(dtype=f64),
        right: wp.array2d(dtype=f64),
        halfway_out: wp.array2d(dtype=f64),
    ):
        j, group = wp.tid()
        diagonal = wp.tile_load(inverse, shape=(tile, tile), offset=(k * tile, 0))
        here = wp.tile_load(right, shape=(tile, many), offset=(k * tile, group * many))
        solved = wp.tile_matmul(diagonal, here)
        if j == 0:
            wp.tile_store(halfway_out, solved, offset=(k * tile, group * many))
        else:
            below = wp.tile_load(factor, shape=(tile, tile), offset=((k + j) * tile, j * tile))
            rest = wp.tile_load(right, shape=(tile, many), offset=((k + j) * tile, group * many))
            wp.tile_matmul(below, solved, rest, alpha=-1.0)
            wp.tile_store(right, rest, offset=((k + j) * tile, group * many))

    @wp.kernel(module="unique", enable_backward=False)
    def backward(
        k: int,
        inverse: wp.array2d(dtype=f64),
        factor: wp.array2d(dtype=f64),
        halfway: wp.array2d(dtype=f64),
        solution_out: wp.array2d(dtype=f64),
    ):
        j, group = wp.tid()
        diagonal = wp.tile_transpose(wp.tile_load(inverse, shape=(tile, tile), offset=(k * tile, 0)))
        here = wp.tile_load(halfway, shape=(tile, many), offset=(k * tile, group * many))
        solved = wp.tile_matmul(diagonal, here)
        if j == 0:
            wp.tile_store(solution_out, solved, offset=(k * tile, group * many))
        else:
            across = wp.tile_transpose(wp.tile_load(factor, shape=(tile, tile), offset=(k * tile, j * tile)))
            rest = wp.tile_load(halfway, shape=(tile, many), offset=((k - j) * tile, group * many))
            wp.tile_matmul(across, solved, rest, alpha=-1.0)
            wp.tile_store(halfway, rest, offset=((k - j) * tile, group * many))

    return forward, backward


@wp.kernel
def check_pivots(tile: int, factor: wp.array2d(dtype=f64), bad_out: wp.array(dtype=wp.int32)):
    """Tell whether a pivot is not a positive number; every thread that finds one writes the same."""
    i = wp.tid()
    pivot = factor[i, i % tile]
    if not (pivot > f64(0.0) and pivot < f64(1.0e300)):
        bad_out[0] = 1


@wp.kernel
def complete_diagonal(first: int, matrix_out: wp.array2d(dtype=f64)):
    """Ones for the rows that fill up the last tile."""
    i = first + wp.tid()
    matrix_out[i, i % matrix_out.shape[0]] = f64(1.0)
