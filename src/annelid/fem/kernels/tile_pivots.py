"""Cholesky's factor of square tiles, as its inverse: what the other tiles of a column are multiplied with.

One warp a tile, in registers: column after column, and then all columns of the inverse at once. Warp's own routines for
tiles wait for the whole block at every column and take ten times as long.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

WARP = 32
"""Threads of a warp: a tile cannot be larger."""

_INVERT = """
    const double* from = tiles.data + (size_t)items.data[2 * item] * (TILE * TILE);
    double* to = inverse_out.data + (size_t)items.data[2 * item + 1] * (TILE * TILE);
#if defined(__CUDA_ARCH__)
    constexpr int PITCH = TILE + 2;  // pairs stay aligned, neighbouring rows begin in other banks
    __shared__ __align__(16) double columns[TILE * PITCH];
    __shared__ double inverses[TILE];
    const int i = lane < TILE ? lane : TILE - 1;
    for (int r = 0; r < TILE; ++r)
        if (lane < TILE) columns[r * PITCH + lane] = from[r * TILE + lane];
    __syncwarp();
    double row[TILE];
    #pragma unroll
    for (int k = 0; k < TILE; ++k) row[k] = columns[i * PITCH + k];
    __syncwarp();
    bool good = true;
    #pragma unroll
    for (int j = 0; j < TILE; ++j) {
        const double pivot = __shfl_sync(0xffffffffu, row[j], j);
        good = good && pivot > 0.0 && pivot < 1.0e300;
        const double scale = rsqrt(pivot);
        const double mine = i >= j ? row[j] * scale : 0.0;
        if (lane < TILE) columns[j * PITCH + lane] = mine;
        if (lane == j) inverses[j] = scale;
        __syncwarp();
        #pragma unroll
        for (int k = j + 1; k < TILE; ++k) row[k] -= mine * columns[j * PITCH + k];
    }
    if (!good && lane == 0) bad_out.data[0] = 1;
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < TILE; ++k) row[k] = k == i ? 1.0 : 0.0;
    #pragma unroll
    for (int k = 0; k < TILE; ++k) {
        row[k] *= inverses[k];
        #pragma unroll
        for (int r = k + 1; r < TILE; ++r) row[r] -= columns[k * PITCH + r] * row[k];
        if (lane < TILE) to[k * TILE + lane] = row[k];
    }
#else
    double lower[TILE * TILE];
    for (int n = 0; n < TILE * TILE; ++n) lower[n] = from[n];
    for (int j = 0; j < TILE; ++j) {
        const double pivot = lower[j * TILE + j];
        if (!(pivot > 0.0 && pivot < 1.0e300)) bad_out.data[0] = 1;
        const double scale = 1.0 / __builtin_sqrt(pivot);
        for (int r = j; r < TILE; ++r) lower[r * TILE + j] *= scale;
        for (int r = j + 1; r < TILE; ++r)
            for (int k = j + 1; k <= r; ++k) lower[r * TILE + k] -= lower[r * TILE + j] * lower[k * TILE + j];
    }
    for (int c = 0; c < TILE; ++c)
        for (int r = 0; r < TILE; ++r) {
            double sum = r == c ? 1.0 : 0.0;
            for (int k = c; k < r; ++k) sum -= lower[r * TILE + k] * to[k * TILE + c];
            to[r * TILE + c] = r < c ? 0.0 : sum / lower[r * TILE + r];
        }
#endif
"""


@functools.cache
def pivot_kernel(tile: int) -> Any:
    """Inverses of Cholesky's factors of tiles of one size."""

    @wp.func_native(_INVERT.replace("TILE", str(tile)))
    def invert(
        item: int, lane: int, items: wp.array2d[wp.int32], tiles: wp.array2d[f64],
        inverse_out: wp.array2d[f64], bad_out: wp.array[wp.int32],
    ) -> None: ...  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False)
    def invert_pivots(
        first: int,
        items: wp.array2d[wp.int32],
        tiles: wp.array2d[f64],
        inverse_out: wp.array2d[f64],
        bad_out: wp.array[wp.int32],
    ):
        """Items are a tile and the place of the inverse; whether a pivot is not a positive number is told."""
        item, lane = wp.tid()
        invert(first + item, lane, items, tiles, inverse_out, bad_out)

    return invert_pivots
