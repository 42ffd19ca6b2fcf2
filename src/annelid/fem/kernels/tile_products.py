"""Products of square tiles by one warp each, on tensor cores where there are: C - A Bᵀ, added up over some A and B.

Numbers of a tile lie in squares of 8 x 8, one after the other, each row by row: so every lane of a warp reads two
neighbours, and all lanes what lies side by side, whether it is for A, B or C. Warp's own products of tiles wait for
shared memory; those of MathDx would do as well, but their compilation takes minutes.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

SQUARE = 8
"""Edge of the squares in a tile."""

BLOCK = 128
"""Threads of a block."""
_BLOCKS = 3  # of a multiprocessor: more would have too few registers

TILES = """
    #define PLACE(r, c) ((((r) / 8) * (TILE / 8) + (c) / 8) * 64 + ((r) % 8) * 8 + (c) % 8)
#if __CUDA_ARCH__ >= 800
    #define ADD_PRODUCT(c, a, b) asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" \\
                                     : "+d"((c)[0]), "+d"((c)[1]) : "d"(a), "d"(b))
#elif defined(__CUDA_ARCH__)
    #define ADD_PRODUCT(c, a, b) for (int s = 0; s < 4; ++s) { \\
            const double left = __shfl_sync(0xffffffffu, a, (lane & 28) + s); \\
            (c)[0] += left * __shfl_sync(0xffffffffu, b, 8 * (lane & 3) + s); \\
            (c)[1] += left * __shfl_sync(0xffffffffu, b, 8 * (lane & 3) + 4 + s); \\
        }
#endif
    #define PAIR(tile, m, n) (*(const double2*)((tile) + ((m) * (TILE / 8) + (n)) * 64 + 2 * lane))
"""
"""Where the numbers of a tile are, and products of squares.

C += A B of 8 x 4 by 4 x 8 numbers, of which a lane has A[lane / 4][lane % 4], B[lane % 4][lane / 4] and two of C. It
reads columns 2 q and 2 q + 1 of a square of A and of Bᵀ, q = lane % 4, and gives the even ones to one product, the odd
ones to another: what is added up does not depend on which column is called the first.
"""

_TAKE = """
    double* to = tiles.data + (size_t)items.data[3 * item] * (TILE * TILE);
    const int begin = items.data[3 * item + 1], end = items.data[3 * item + 2];
#if defined(__CUDA_ARCH__)
    double c[TILE / 8][TILE / 8][2];
    #pragma unroll
    for (int m = 0; m < TILE / 8; ++m)
        #pragma unroll
        for (int n = 0; n < TILE / 8; ++n) {
            const double2 before = PAIR(to, m, n);
            c[m][n][0] = before.x;
            c[m][n][1] = before.y;
        }
    for (int p = begin; p < end; ++p) {
        const double* left = tiles.data + (size_t)parts.data[2 * p] * (TILE * TILE);
        const double* right = tiles.data + (size_t)parts.data[2 * p + 1] * (TILE * TILE);
        #pragma unroll
        for (int k = 0; k < TILE / 8; ++k) {
            double2 a[TILE / 8], b[TILE / 8];
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m) a[m] = PAIR(left, m, k);
            #pragma unroll
            for (int n = 0; n < TILE / 8; ++n) b[n] = PAIR(right, n, k);
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m) {
                const double even = -a[m].x, odd = -a[m].y;
                #pragma unroll
                for (int n = 0; n < TILE / 8; ++n) {
                    ADD_PRODUCT(c[m][n], even, b[n].x);
                    ADD_PRODUCT(c[m][n], odd, b[n].y);
                }
            }
        }
    }
    #pragma unroll
    for (int m = 0; m < TILE / 8; ++m)
        #pragma unroll
        for (int n = 0; n < TILE / 8; ++n)
            *(double2*)(to + (m * (TILE / 8) + n) * 64 + 2 * lane) = make_double2(c[m][n][0], c[m][n][1]);
#else
    for (int p = begin; p < end; ++p) {
        const double* left = tiles.data + (size_t)parts.data[2 * p] * (TILE * TILE);
        const double* right = tiles.data + (size_t)parts.data[2 * p + 1] * (TILE * TILE);
        for (int i = 0; i < TILE; ++i)
            for (int j = 0; j < TILE; ++j)
                for (int k = 0; k < TILE; ++k) to[PLACE(i, j)] -= left[PLACE(i, k)] * right[PLACE(j, k)];
    }
#endif
"""


def tile_source(text: str, tile: int) -> str:
    """Source of a native function for tiles of one size."""
    return (TILES + text).replace("TILE", str(tile))


@once
def rest_kernel(tile: int) -> Any:
    """What products of tiles take out of others."""

    @wp.func_native(tile_source(_TAKE, tile))
    def take(
        item: int, lane: int, items: wp.array2d[wp.int32], parts: wp.array2d[wp.int32], tiles: wp.array2d[f64]
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, launch_bounds=(BLOCK, _BLOCKS))
    def take_products(first: int, items: wp.array2d[wp.int32], parts: wp.array2d[wp.int32], tiles: wp.array2d[f64]):
        """Items are a tile and a stretch of parts: the two tiles of a product that is taken out of it."""
        item, lane = wp.tid()
        take(first + item, lane, items, parts, tiles)

    return take_products
