"""Elimination of many fronts at once in square tiles, and solution with what they leave.

All tiles lie one below the other in one array of the width of a tile; lists say which of them a stage works on, one
block each. Blocks of a stage never write what another one reads. Warp's own products of tiles are used rather than
those of MathDx, whose compilation takes minutes.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
_PLAIN = {"enable_mathdx_gemm": False, "enable_mathdx_solver": False}


@functools.cache
def factor_kernels(tile: int) -> tuple[Any, Any, Any]:
    """Stages of the factorisation: tiles on the diagonal, those below them, what they take out of the rest."""

    @wp.kernel(module="unique", enable_backward=False, module_options=_PLAIN)
    def factor_diagonal(
        first: int,
        items: wp.array2d[wp.int32],
        unit: wp.array2d[f64],
        tiles: wp.array2d[f64],
        inverse_out: wp.array2d[f64],
    ):
        """Items are a tile and the place of its inverse."""
        item = first + wp.tid()
        square = wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 0] * tile, 0))
        lower = wp.tile_cholesky(square)
        identity = wp.tile_load(unit, shape=(tile, tile), offset=(0, 0))
        inverse = wp.tile_lower_solve(lower, identity)
        wp.tile_store(inverse_out, inverse, offset=(items[item, 1] * tile, 0))
        wp.tile_store(tiles, lower, offset=(items[item, 0] * tile, 0))

    @wp.kernel(module="unique", enable_backward=False, module_options=_PLAIN)
    def factor_below(
        first: int,
        items: wp.array2d[wp.int32],
        inverse: wp.array2d[f64],
        tiles: wp.array2d[f64],
    ):
        """Items are a tile and the place of the inverse above it."""
        item = first + wp.tid()
        right = wp.tile_transpose(wp.tile_load(inverse, shape=(tile, tile), offset=(items[item, 1] * tile, 0)))
        here = wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 0] * tile, 0))
        wp.tile_store(tiles, wp.tile_matmul(here, right), offset=(items[item, 0] * tile, 0))

    @wp.kernel(module="unique", enable_backward=False, module_options=_PLAIN)
    def factor_rest(first: int, items: wp.array2d[wp.int32], tiles: wp.array2d[f64]):
        """Items are a tile and the two whose product is taken out of it."""
        item = first + wp.tid()
        left = wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 1] * tile, 0))
        right = wp.tile_transpose(wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 2] * tile, 0)))
        rest = wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 0] * tile, 0))
        wp.tile_matmul(left, right, rest, alpha=-1.0)
        wp.tile_store(tiles, rest, offset=(items[item, 0] * tile, 0))

    return factor_diagonal, factor_below, factor_rest


@functools.cache
def solve_kernels(tile: int, many: int) -> tuple[Any, Any, Any]:
    """Stages of the solution for groups of `many` right-hand sides: forwards, what edges take out, backwards."""

    @wp.kernel(module="unique", enable_backward=False, module_options=_PLAIN)
    def forward(
        first: int,
        items: wp.array2d[wp.int32],
        inverse: wp.array2d[f64],
        tiles: wp.array2d[f64],
        right: wp.array2d[f64],
        halfway_out: wp.array2d[f64],
    ):
        """Items are an inverse, its rows, a tile below it or -1, and the rows of that."""
        item, group = wp.tid()
        item += first
        diagonal = wp.tile_load(inverse, shape=(tile, tile), offset=(items[item, 0] * tile, 0))
        here = wp.tile_load(right, shape=(tile, many), offset=(items[item, 1] * tile, group * many))
        solved = wp.tile_matmul(diagonal, here)
        if items[item, 2] < 0:
            wp.tile_store(halfway_out, solved, offset=(items[item, 1] * tile, group * many))
        else:
            below = wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 2] * tile, 0))
            rest = wp.tile_load(right, shape=(tile, many), offset=(items[item, 3] * tile, group * many))
            wp.tile_matmul(below, solved, rest, alpha=-1.0)
            wp.tile_store(right, rest, offset=(items[item, 3] * tile, group * many))

    @wp.kernel(module="unique", enable_backward=False, module_options=_PLAIN)
    def take_edges(
        first: int,
        items: wp.array2d[wp.int32],
        parts: wp.array2d[wp.int32],
        tiles: wp.array2d[f64],
        solution: wp.array2d[f64],
        halfway: wp.array2d[f64],
    ):
        """Items are own rows and a stretch of parts, which are a tile and the rows on the edge that it is for."""
        item, group = wp.tid()
        item += first
        rest = wp.tile_load(halfway, shape=(tile, many), offset=(items[item, 0] * tile, group * many))
        for part in range(items[item, 1], items[item, 2]):
            across = wp.tile_transpose(wp.tile_load(tiles, shape=(tile, tile), offset=(parts[part, 0] * tile, 0)))
            solved = wp.tile_load(solution, shape=(tile, many), offset=(parts[part, 1] * tile, group * many))
            wp.tile_matmul(across, solved, rest, alpha=-1.0)
        wp.tile_store(halfway, rest, offset=(items[item, 0] * tile, group * many))

    @wp.kernel(module="unique", enable_backward=False, module_options=_PLAIN)
    def backward(
        first: int,
        items: wp.array2d[wp.int32],
        inverse: wp.array2d[f64],
        tiles: wp.array2d[f64],
        halfway: wp.array2d[f64],
        solution_out: wp.array2d[f64],
    ):
        """Items are an inverse, its rows, a tile left of it or -1, and the rows of that."""
        item, group = wp.tid()
        item += first
        diagonal = wp.tile_transpose(wp.tile_load(inverse, shape=(tile, tile), offset=(items[item, 0] * tile, 0)))
        here = wp.tile_load(halfway, shape=(tile, many), offset=(items[item, 1] * tile, group * many))
        solved = wp.tile_matmul(diagonal, here)
        if items[item, 2] < 0:
            wp.tile_store(solution_out, solved, offset=(items[item, 1] * tile, group * many))
        else:
            across = wp.tile_transpose(wp.tile_load(tiles, shape=(tile, tile), offset=(items[item, 2] * tile, 0)))
            rest = wp.tile_load(halfway, shape=(tile, many), offset=(items[item, 3] * tile, group * many))
            wp.tile_matmul(across, solved, rest, alpha=-1.0)
            wp.tile_store(halfway, rest, offset=(items[item, 3] * tile, group * many))

    return forward, take_edges, backward


@wp.kernel
def fill_entries(
    sources: wp.array[wp.int32],
    targets: wp.array[wp.int32],
    values: wp.array[wp.mat33d],
    numbers_out: wp.array[f64],
):
    """Numbers of the stored blocks to where they belong."""
    k = wp.tid()
    source = sources[k]
    within = source % 9
    value = values[source // 9]
    numbers_out[targets[k]] = value[within // 3, within % 3]


@wp.kernel
def add_at(targets: wp.array[wp.int32], amount: f64, numbers: wp.array[f64]):
    """Add a number to entries of which each is named once."""
    k = wp.tid()
    numbers[targets[k]] = numbers[targets[k]] + amount


@wp.func
def tile_entry(tile: int, base: int, row: int, column: int) -> int:
    """Where the entry of a front is, whose tiles on and below the diagonal begin with `base`, row by row."""
    i = row // tile
    j = column // tile
    return ((base + i * (i + 1) // 2 + j) * tile + row % tile) * tile + column % tile


@wp.kernel
def add_update(
    # Parameters:
    tile: int, first: int, items: wp.array2d[wp.int32], rows: wp.array[wp.int32],
    parent_rows: wp.array[wp.int32],
    # State:
    numbers: wp.array[f64],
):  # fmt: skip
    """What fronts leave of their edges, added to their parents; threads share the rows of a column.

    Items are the base of a front, that of its parent, a column among the rows on its edge, and where these end.
    """
    item, lane = wp.tid()
    item += first
    base, parent, column, end = items[item, 0], items[item, 1], items[item, 2], items[item, 3]
    for row in range(column + lane, end, 32):
        source = tile_entry(tile, base, rows[row], rows[column])
        target = tile_entry(tile, parent, parent_rows[row], parent_rows[column])
        numbers[target] = numbers[target] + numbers[source]


@wp.kernel
def add_rows(first: int, rows: wp.array[wp.int32], parent_rows: wp.array[wp.int32], vectors: wp.array2d[f64]):
    """Rows on edges, added to those of parents."""
    k, column = wp.tid()
    to = parent_rows[first + k]
    vectors[to, column] = vectors[to, column] + vectors[rows[first + k], column]


@wp.kernel
def fetch_rows(first: int, rows: wp.array[wp.int32], parent_rows: wp.array[wp.int32], vectors: wp.array2d[f64]):
    """Rows on edges, as parents have them."""
    k, column = wp.tid()
    vectors[rows[first + k], column] = vectors[parent_rows[first + k], column]


@wp.kernel
def check_pivots(tile: int, diagonals: wp.array2d[wp.int32], tiles: wp.array2d[f64], bad_out: wp.array[wp.int32]):
    """Tell whether a pivot is not a positive number; every thread that finds one writes the same."""
    item, i = wp.tid()
    pivot = tiles[diagonals[item, 0] * tile + i, i]
    if not (pivot > f64(0.0) and pivot < f64(1.0e300)):
        bad_out[0] = 1


@wp.kernel
def pull_at(nodes: wp.array[wp.int32], force_out: wp.array2d[wp.vec3d]):
    """Unit forces on nodes, along one axis after the other: three columns a node."""
    number, axis = wp.tid()
    force = wp.vec3d()
    force[axis] = f64(1.0)
    force_out[nodes[number], 3 * number + axis] = force


@wp.kernel
def pick(nodes: wp.array[wp.int32], vectors: wp.array2d[wp.vec3d], picked_out: wp.array2d[wp.vec3d]):
    """Rows of some nodes."""
    row, column = wp.tid()
    picked_out[row, column] = vectors[nodes[row], column]


@wp.kernel
def add_answers(
    first: int, count: int, pulls: wp.array[f64], answers: wp.array2d[wp.vec3d], vectors: wp.array2d[wp.vec3d]
):
    """Add what nodes answer to forces of which they know the answers to unit ones."""
    i = wp.tid()
    total = vectors[i, 0]
    for k in range(count):
        total += pulls[first + k] * answers[i, k]
    vectors[i, 0] = total
