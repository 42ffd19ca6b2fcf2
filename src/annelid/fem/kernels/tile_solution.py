"""Solution with many fronts at once, whose tiles lie one below the other: sums of tiles times rows of vectors.

A block makes one row of tiles: each thread one row of numbers, and each warp some of the tiles, which are added up at
the end, in one order.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.tile_products import tile_source
from annelid.fem.kernels.tiles import place_in_tile

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

SHARES = 8
"""Shares that the tiles of a row are split into, one a warp."""

_SUM = """
    const int stride = vectors.shape[1], column = group * MANY;
    double* numbers = vectors.data + column;
    const int to = items.data[4 * item] * TILE, on_edge = items.data[4 * item + 1];
    const int begin = items.data[4 * item + 2], end = items.data[4 * item + 3];
#if defined(__CUDA_ARCH__)
    __shared__ double shared[SHARES * TILE * MANY];
    const int lane = thread % TILE, share = thread / TILE;
    // Threads of a share wait for each other alone: of small tiles a warp has several shares, some with more parts.
    const unsigned sharing = (0xffffffffu >> (32 - TILE)) << (thread % 32 / TILE * TILE);
    double* here = shared + share * TILE * MANY;
    double total[MANY];
    for (int c = 0; c < MANY; ++c) total[c] = 0.0;
    for (int p = begin + share; p < end; p += SHARES) {
        const double* tile = tiles.data + (size_t)parts.data[2 * p] * (TILE * TILE);
        const double* from = numbers + (size_t)rows.data[parts.data[2 * p + 1] * TILE + lane] * stride;
        double factors[TOGETHER];
        __syncwarp(sharing);
        for (int c = 0; c < MANY; ++c) here[lane * MANY + c] = from[c];
        __syncwarp(sharing);
        for (int first = 0; first < TILE; first += TOGETHER) {
            #pragma unroll
            for (int k = 0; k < TOGETHER; ++k) factors[k] = tile[PLACE(first + k, lane)];
            #pragma unroll
            for (int k = 0; k < TOGETHER; ++k)
                for (int c = 0; c < MANY; ++c) total[c] += factors[k] * here[(first + k) * MANY + c];
        }
    }
    __syncwarp(sharing);
    for (int c = 0; c < MANY; ++c) here[lane * MANY + c] = total[c];
    __syncthreads();
    for (int n = thread; n < TILE * MANY; n += SHARES * TILE) {
        double sum = 0.0;
        for (int s = 0; s < SHARES; ++s) sum += shared[s * TILE * MANY + n];
        const int row = to + n / MANY, c = n % MANY;
        if (on_edge)
            for (int s = begins.data[row]; s < begins.data[row + 1]; ++s)
                sum += numbers[(size_t)sources.data[s] * stride + c];
        numbers[(size_t)(on_edge ? row : row + halfway) * stride + c] = sum;
    }
#else
    for (int r = 0; r < TILE; ++r)
        for (int c = 0; c < MANY; ++c) {
            double sum = 0.0;
            for (int p = begin; p < end; ++p) {
                const double* tile = tiles.data + (size_t)parts.data[2 * p] * (TILE * TILE);
                const int* from = rows.data + parts.data[2 * p + 1] * TILE;
                for (int k = 0; k < TILE; ++k) sum += tile[PLACE(k, r)] * numbers[(size_t)from[k] * stride + c];
            }
            const int row = to + r;
            if (on_edge)
                for (int s = begins.data[row]; s < begins.data[row + 1]; ++s)
                    sum += numbers[(size_t)sources.data[s] * stride + c];
            numbers[(size_t)(on_edge ? row : row + halfway) * stride + c] = sum;
        }
#endif
"""


@once
def sum_kernel(tile: int, many: int) -> Any:
    """Sums for groups of `many` right-hand sides."""
    together = tile if many == 1 else min(tile, 16)  # numbers that a thread asks for at once: registers are few
    names = {"MANY": many, "SHARES": SHARES, "TOGETHER": together}
    source = tile_source(functools.reduce(lambda text, name: text.replace(name, str(names[name])), names, _SUM), tile)

    @wp.func_native(source)
    def sum_row(
        item: int, group: int, thread: int, halfway: int,
        items: wp.array2d[wp.int32], parts: wp.array2d[wp.int32], rows: wp.array[wp.int32],
        begins: wp.array[wp.int32], sources: wp.array[wp.int32],
        tiles: wp.array2d[f64], vectors: wp.array2d[f64],
    ) -> None: ...  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, launch_bounds=(SHARES * tile, 2))
    def sum_rows(
        # Parameters:
        first: int, halfway: int, items: wp.array2d[wp.int32], parts: wp.array2d[wp.int32], rows: wp.array[wp.int32],
        begins: wp.array[wp.int32], sources: wp.array[wp.int32], tiles: wp.array2d[f64],
        # State:
        vectors: wp.array2d[f64],
    ):  # fmt: skip
        """Items are a row of tiles, whether it is on an edge, and a stretch of parts: a tile and a row of `rows`.

        Rows on an edge get what children have left there too (`begins`, `sources`); others go `halfway` further.
        """
        item, group, thread = wp.tid()
        sum_row(first + item, group, thread, halfway, items, parts, rows, begins, sources, tiles, vectors)

    return sum_rows


@wp.kernel(module="unique", enable_backward=False)
def gather_rows(
    first: int,
    targets: wp.array[wp.int32],
    begins: wp.array[wp.int32],
    sources: wp.array[wp.int32],
    vectors: wp.array2d[f64],
):
    """Add to own rows what children have left there."""
    k, column = wp.tid()
    row = targets[first + k]
    total = vectors[row, column]
    for s in range(begins[row], begins[row + 1]):
        total += vectors[sources[s], column]
    vectors[row, column] = total


@wp.kernel(module="unique", enable_backward=False)
def transpose_tiles(tile: int, first: int, targets: wp.array[wp.int32], numbers: wp.array[f64]):
    """Tiles from `first` on, transposed into the room of others."""
    n, r, c = wp.tid()
    size = tile * tile
    numbers[targets[n] * size + place_in_tile(tile, r, c)] = numbers[(first + n) * size + place_in_tile(tile, c, r)]
