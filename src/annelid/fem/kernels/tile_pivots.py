"""Elimination of a column of square tiles: Cholesky's factor of the one on the diagonal, by which others are divided.

A block takes some tiles of a column, one a warp. The first warp factors the tile on the diagonal in registers, column
after column, and inverts all columns of the factor at once. Every block does that again rather than wait for another
launch. Warp's own routines for tiles wait for the whole block at every column and take ten times as long.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

from annelid.fem.kernels.tile_products import MULTIPLY_ADD

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

COLUMN_WARPS = 4
"""Tiles of a block."""

_DIVIDE = """
    const double* diagonal = tiles.data + (size_t)items.data[3 * item] * (TILE * TILE);
    const int begin = items.data[3 * item + 1], end = items.data[3 * item + 2];
#if defined(__CUDA_ARCH__)
    constexpr int PITCH = TILE + 2;  // pairs stay aligned, neighbouring rows begin in other banks
    __shared__ __align__(16) double columns[TILE * PITCH];
    __shared__ __align__(16) double inverse[TILE * PITCH];
    __shared__ double scales[TILE];
    const int lane = thread % 32, r = lane / 4, q = lane % 4, part = begin + thread / 32;
    double* to = tiles.data + (size_t)parts.data[part < end ? part : begin] * (TILE * TILE);
    if (thread < 32) {
        const int i = lane < TILE ? lane : TILE - 1;
        double row[TILE];
        for (int k = 0; k < TILE; ++k)
            if (lane < TILE) columns[k * PITCH + lane] = diagonal[k * TILE + lane];
        __syncwarp();
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
            if (lane == j) scales[j] = scale;
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
            row[k] *= scales[k];
            #pragma unroll
            for (int s = k + 1; s < TILE; ++s) row[s] -= columns[k * PITCH + s] * row[k];
            if (lane < TILE) inverse[k * PITCH + lane] = row[k];
        }
    }
    double a[TILE / 8][TILE / 4];
    #pragma unroll
    for (int m = 0; m < TILE / 8; ++m)
        #pragma unroll
        for (int k = 0; k < TILE / 4; ++k) a[m][k] = to[(8 * m + r) * TILE + 4 * k + q];
    __syncthreads();
    if (part >= end) return;
    #pragma unroll
    for (int n = 0; n < TILE / 8; ++n) {
        double c[TILE / 8][2];
        #pragma unroll
        for (int m = 0; m < TILE / 8; ++m) c[m][0] = c[m][1] = 0.0;
        #pragma unroll
        for (int k = 0; k < 2 * n + 2; ++k) {
            const double b = inverse[(8 * n + r) * PITCH + 4 * k + q];
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m) ADD_PRODUCT(c[m], a[m][k], b);
        }
        #pragma unroll
        for (int m = 0; m < TILE / 8; ++m)
            *(double2*)(to + (8 * m + r) * TILE + 8 * n + 2 * q) = make_double2(c[m][0], c[m][1]);
    }
#else
    double lower[TILE * TILE];
    for (int n = 0; n < TILE * TILE; ++n) lower[n] = diagonal[n];
    for (int j = 0; j < TILE; ++j) {
        const double pivot = lower[j * TILE + j];
        if (!(pivot > 0.0 && pivot < 1.0e300)) bad_out.data[0] = 1;
        const double scale = 1.0 / __builtin_sqrt(pivot);
        for (int r = j; r < TILE; ++r) lower[r * TILE + j] *= scale;
        for (int r = j + 1; r < TILE; ++r)
            for (int k = j + 1; k <= r; ++k) lower[r * TILE + k] -= lower[r * TILE + j] * lower[k * TILE + j];
    }
    for (int p = begin; p < end; ++p)
        for (int r = 0; r < TILE; ++r) {
            double* row = tiles.data + (size_t)parts.data[p] * (TILE * TILE) + r * TILE;
            for (int j = 0; j < TILE; ++j) {
                for (int k = 0; k < j; ++k) row[j] -= row[k] * lower[j * TILE + k];
                row[j] /= lower[j * TILE + j];
            }
        }
#endif
"""


@functools.cache
def column_kernel(tile: int) -> Any:
    """Elimination of columns of tiles of one size, at most 32."""

    @wp.func_native(MULTIPLY_ADD + _DIVIDE.replace("TILE", str(tile)))
    def divide(
        item: int, thread: int, items: wp.array2d[wp.int32], parts: wp.array[wp.int32],
        tiles: wp.array2d[f64], bad_out: wp.array[wp.int32],
    ) -> None: ...  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False)
    def divide_columns(
        # Parameters:
        first: int, items: wp.array2d[wp.int32], parts: wp.array[wp.int32],
        # State:
        tiles: wp.array2d[f64],
        # Outputs:
        bad_out: wp.array[wp.int32],
    ):  # fmt: skip
        """Items are a tile on the diagonal and a stretch of others; a pivot that is not a positive number is told."""
        item, thread = wp.tid()
        divide(first + item, thread, items, parts, tiles, bad_out)

    return divide_columns
