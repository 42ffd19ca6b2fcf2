"""Elimination of a column of square tiles: Cholesky's factor of the one on the diagonal, by which others are divided.

First the columns to the left, in the same panel, are taken out of it. A block takes some tiles of a column, one a warp;
one more warp factors the tile on the diagonal in registers, column after column, and inverts all columns of the factor
at once. Every block does that again rather than wait for another launch. Warp's own routines for tiles wait for the
whole block at every column and take ten times as long.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.tile_products import tile_source

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

PANEL = 4
"""Columns of tiles in a panel: what they take out of the rest is found at once."""
DIVIDED = 4
"""Tiles of a block besides that on the diagonal."""

_BLOCKS = 2  # of a multiprocessor: more would have too few registers

_DIVIDE = """
    const double* diagonal = tiles.data + (size_t)items.data[4 * item] * (TILE * TILE);
    const int begin = items.data[4 * item + 1], end = items.data[4 * item + 2], left_of = items.data[4 * item + 3];
#if defined(__CUDA_ARCH__)
    constexpr int PITCH = TILE + 2;  // pairs stay aligned, neighbouring rows begin in other banks
    __shared__ __align__(16) double columns[TILE * PITCH];
    __shared__ __align__(16) double inverse[TILE * PITCH];
    __shared__ double scales[TILE];
    const int lane = thread % 32, warp = thread / 32, r = lane / 4, q = lane % 4;
    if (warp < TILE / 8) {  // a row of squares each
        double c[TILE / 8][2];
        #pragma unroll
        for (int n = 0; n < TILE / 8; ++n) c[n][0] = c[n][1] = 0.0;
        for (int s = 1; s <= left_of; ++s) {
            const double* left = diagonal - s * (TILE * TILE);
            #pragma unroll
            for (int k = 0; k < TILE / 8; ++k) {
                const double2 a = PAIR(left, warp, k);
                #pragma unroll
                for (int n = 0; n < TILE / 8; ++n) {
                    const double2 b = PAIR(left, n, k);
                    ADD_PRODUCT(c[n], a.x, b.x);
                    ADD_PRODUCT(c[n], a.y, b.y);
                }
            }
        }
        #pragma unroll
        for (int n = 0; n < TILE / 8; ++n) {
            const double2 before = PAIR(diagonal, warp, n);
            double* row = columns + (8 * warp + r) * PITCH + 8 * n + 2 * q;
            row[0] = before.x - c[n][0];
            row[1] = before.y - c[n][1];
        }
    }
    __syncthreads();
    double2 a[TILE / 8][TILE / 8];
    const int part = begin + warp - 1;
    double* to = tiles.data;
    if (warp == 0) {
        const int i = lane < TILE ? lane : TILE - 1;
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
    } else if (part < end) {
        to += (size_t)parts.data[WIDTH * part] * (TILE * TILE);
        if (left_of > 0) {
            double c[TILE / 8][TILE / 8][2];
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m)
                #pragma unroll
                for (int n = 0; n < TILE / 8; ++n) {
                    const double2 before = PAIR(to, m, n);
                    c[m][n][0] = before.x;
                    c[m][n][1] = before.y;
                }
            for (int s = 1; s <= left_of; ++s) {
                const int number = parts.data[WIDTH * part + s];
                if (number < 0) continue;
                const double* left = tiles.data + (size_t)number * (TILE * TILE);
                const double* right = diagonal - s * (TILE * TILE);
                #pragma unroll
                for (int k = 0; k < TILE / 8; ++k)
                    #pragma unroll
                    for (int m = 0; m < TILE / 8; ++m) {
                        const double2 mine = PAIR(left, m, k);
                        const double even = -mine.x, odd = -mine.y;
                        #pragma unroll
                        for (int n = 0; n < TILE / 8; ++n) {
                            const double2 b = PAIR(right, n, k);
                            ADD_PRODUCT(c[m][n], even, b.x);
                            ADD_PRODUCT(c[m][n], odd, b.y);
                        }
                    }
            }
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m)
                #pragma unroll
                for (int n = 0; n < TILE / 8; ++n) a[m][n] = make_double2(c[m][n][0], c[m][n][1]);
        } else {
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m)
                #pragma unroll
                for (int k = 0; k < TILE / 8; ++k) a[m][k] = PAIR(to, m, k);
        }
    }
    __syncthreads();
    if (warp == 0 || part >= end) return;
    #pragma unroll
    for (int n = 0; n < TILE / 8; ++n) {
        double c[TILE / 8][2];
        #pragma unroll
        for (int m = 0; m < TILE / 8; ++m) c[m][0] = c[m][1] = 0.0;
        #pragma unroll
        for (int k = 0; k <= n; ++k) {
            const double* b = inverse + (8 * n + r) * PITCH + 8 * k + 2 * q;
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m) {
                ADD_PRODUCT(c[m], a[m][k].x, b[0]);
                ADD_PRODUCT(c[m], a[m][k].y, b[1]);
            }
        }
        #pragma unroll
        for (int m = 0; m < TILE / 8; ++m)
            *(double2*)(to + (m * (TILE / 8) + n) * 64 + 2 * lane) = make_double2(c[m][0], c[m][1]);
    }
#else
    double lower[TILE * TILE];
    for (int i = 0; i < TILE; ++i)
        for (int j = 0; j <= i; ++j) {
            lower[i * TILE + j] = diagonal[PLACE(i, j)];
            for (int s = 1; s <= left_of; ++s) {
                const double* left = diagonal - s * TILE * TILE;
                for (int k = 0; k < TILE; ++k) lower[i * TILE + j] -= left[PLACE(i, k)] * left[PLACE(j, k)];
            }
        }
    for (int j = 0; j < TILE; ++j) {
        const double pivot = lower[j * TILE + j];
        if (!(pivot > 0.0 && pivot < 1.0e300)) bad_out.data[0] = 1;
        const double scale = 1.0 / __builtin_sqrt(pivot);
        for (int r = j; r < TILE; ++r) lower[r * TILE + j] *= scale;
        for (int r = j + 1; r < TILE; ++r)
            for (int k = j + 1; k <= r; ++k) lower[r * TILE + k] -= lower[r * TILE + j] * lower[k * TILE + j];
    }
    for (int p = begin; p < end; ++p) {
        double* to = tiles.data + (size_t)parts.data[WIDTH * p] * (TILE * TILE);
        for (int r = 0; r < TILE; ++r)
            for (int j = 0; j < TILE; ++j) {
                double sum = to[PLACE(r, j)];
                for (int s = 1; s <= left_of; ++s) {
                    if (parts.data[WIDTH * p + s] < 0) continue;
                    const double* left = tiles.data + (size_t)parts.data[WIDTH * p + s] * (TILE * TILE);
                    for (int k = 0; k < TILE; ++k) sum -= left[PLACE(r, k)] * (diagonal - s * TILE * TILE)[PLACE(j, k)];
                }
                for (int k = 0; k < j; ++k) sum -= to[PLACE(r, k)] * lower[j * TILE + k];
                to[PLACE(r, j)] = sum / lower[j * TILE + j];
            }
    }
#endif
"""


@once
def column_kernel(tile: int) -> Any:
    """Elimination of columns of tiles of one size, at most 32."""

    @wp.func_native(tile_source(_DIVIDE, tile).replace("WIDTH", str(PANEL)))
    def divide(
        item: int, thread: int, items: wp.array2d[wp.int32], parts: wp.array2d[wp.int32],
        tiles: wp.array2d[f64], bad_out: wp.array[wp.int32],
    ) -> None: ...  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, launch_bounds=(32 * (1 + DIVIDED), _BLOCKS))
    def divide_columns(
        # Parameters:
        first: int, items: wp.array2d[wp.int32], parts: wp.array2d[wp.int32],
        # State:
        tiles: wp.array2d[f64],
        # Outputs:
        bad_out: wp.array[wp.int32],
    ):  # fmt: skip
        """A pivot that is not a positive number is told.

        Items are a tile on the diagonal, a stretch of parts, and how many columns of the panel are left of it, whose
        tiles of the same row lie before it. Parts are a tile of the column, and those left of it from right to left,
        -1 where there is none.
        """
        item, thread = wp.tid()
        divide(first + item, thread, items, parts, tiles, bad_out)

    return divide_columns
