"""Products of square tiles by one warp each, on tensor cores where there are: C - A Bᵀ.

Warp's products of tiles wait for shared memory; here every lane reads the numbers that it multiplies. Those of MathDx
would do as well, but their compilation takes minutes.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

MULTIPLY_ADD = """
#if __CUDA_ARCH__ >= 800
    #define ADD_PRODUCT(c, a, b) asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" \\
                                     : "+d"((c)[0]), "+d"((c)[1]) : "d"(a), "d"(b))
#else
    #define ADD_PRODUCT(c, a, b) for (int s = 0; s < 4; ++s) { \\
            const double left = __shfl_sync(0xffffffffu, a, (lane & 28) + s); \\
            (c)[0] += left * __shfl_sync(0xffffffffu, b, 8 * (lane & 3) + s); \\
            (c)[1] += left * __shfl_sync(0xffffffffu, b, 8 * (lane & 3) + 4 + s); \\
        }
#endif
"""
"""C += A B of 8 x 4 by 4 x 8 numbers, of which a lane has A[lane / 4][lane % 4], B[lane % 4][lane / 4] and two of C."""

_TAKE = """
    double* to = tiles.data + (size_t)items.data[3 * item] * (TILE * TILE);
    const double* left = tiles.data + (size_t)items.data[3 * item + 1] * (TILE * TILE);
    const double* right = tiles.data + (size_t)items.data[3 * item + 2] * (TILE * TILE);
#if defined(__CUDA_ARCH__)
    const int r = lane / 4, q = lane % 4;
    double a[TILE / 8][TILE / 4];
    #pragma unroll
    for (int m = 0; m < TILE / 8; ++m)
        #pragma unroll
        for (int k = 0; k < TILE / 4; ++k) a[m][k] = -left[(8 * m + r) * TILE + 4 * k + q];
    #pragma unroll
    for (int n = 0; n < TILE / 8; ++n) {
        double b[TILE / 4], c[TILE / 8][2];
        #pragma unroll
        for (int k = 0; k < TILE / 4; ++k) b[k] = right[(8 * n + r) * TILE + 4 * k + q];
        #pragma unroll
        for (int m = 0; m < TILE / 8; ++m) {
            const double2 before = *(const double2*)(to + (8 * m + r) * TILE + 8 * n + 2 * q);
            c[m][0] = before.x;
            c[m][1] = before.y;
        }
        #pragma unroll
        for (int k = 0; k < TILE / 4; ++k)
            #pragma unroll
            for (int m = 0; m < TILE / 8; ++m) ADD_PRODUCT(c[m], a[m][k], b[k]);
        #pragma unroll
        for (int m = 0; m < TILE / 8; ++m)
            *(double2*)(to + (8 * m + r) * TILE + 8 * n + 2 * q) = make_double2(c[m][0], c[m][1]);
    }
#else
    for (int i = 0; i < TILE; ++i)
        for (int j = 0; j < TILE; ++j)
            for (int k = 0; k < TILE; ++k) to[i * TILE + j] -= left[i * TILE + k] * right[j * TILE + k];
#endif
"""


@functools.cache
def rest_kernel(tile: int) -> Any:
    """What products of tiles take out of others."""

    @wp.func_native(MULTIPLY_ADD + _TAKE.replace("TILE", str(tile)))
    def take(item: int, lane: int, items: wp.array2d[wp.int32], tiles: wp.array2d[f64]) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def take_products(first: int, items: wp.array2d[wp.int32], tiles: wp.array2d[f64]):
        """Items are a tile and the two whose product is taken out of it."""
        item, lane = wp.tid()
        take(first + item, lane, items, tiles)

    return take_products
