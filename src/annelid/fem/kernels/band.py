"""Solution with a banded Cholesky factor for eight right-hand sides at once, on the CPU.

BLAS is slow for so few columns. Here four columns of the factor are used for each pass over the band below them, with
the eight right-hand sides side by side in vector registers: as fast as memory brings the factor.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

MANY = 8
"""Right-hand sides of a group."""

_SOLVE = """
    typedef TYPE eight __attribute__((ext_vector_type(8), aligned(sizeof(TYPE))));
    const int stride = factor.shape[1];
    const TYPE* band = factor.data;
    eight* r = (eight*)(right.data + (size_t)group * size * 8);
    int j = 0;
    while (j < size) {
        // Columns are padded with zeros, so that all four may be read over the same rows.
        const int columns = j + 4 <= size ? 4 : 1;
        const int rows = width + columns < size - j ? width + columns : size - j;
        const TYPE* l0 = band + (size_t)j * stride;
        eight* here = r + j;
        const eight y0 = here[0] / l0[0];
        here[0] = y0;
        if (columns == 1) {
            for (int i = 1; i < rows; ++i) here[i] -= l0[i] * y0;
        } else {
            const TYPE *l1 = l0 + stride - 1, *l2 = l1 + stride - 1, *l3 = l2 + stride - 1;
            const eight y1 = (here[1] - l0[1] * y0) / l1[1];
            const eight y2 = (here[2] - l0[2] * y0 - l1[2] * y1) / l2[2];
            const eight y3 = (here[3] - l0[3] * y0 - l1[3] * y1 - l2[3] * y2) / l3[3];
            here[1] = y1;
            here[2] = y2;
            here[3] = y3;
            for (int i = 4; i < rows; ++i) here[i] -= l0[i] * y0 + l1[i] * y1 + l2[i] * y2 + l3[i] * y3;
        }
        j += columns;
    }
    while (j > 0) {
        const int columns = j % 4 == 0 ? 4 : 1;
        j -= columns;
        const int rows = width + columns < size - j ? width + columns : size - j;
        const TYPE* l0 = band + (size_t)j * stride;
        eight* here = r + j;
        eight s0 = 0;
        if (columns == 1) {
            for (int i = 1; i < rows; ++i) s0 += l0[i] * here[i];
        } else {
            const TYPE *l1 = l0 + stride - 1, *l2 = l1 + stride - 1, *l3 = l2 + stride - 1;
            eight s1 = 0, s2 = 0, s3 = 0;
            for (int i = 4; i < rows; ++i) {
                const eight x = here[i];
                s0 += l0[i] * x;
                s1 += l1[i] * x;
                s2 += l2[i] * x;
                s3 += l3[i] * x;
            }
            here[3] = (here[3] - s3) / l3[3];
            here[2] = (here[2] - s2 - l2[3] * here[3]) / l2[2];
            here[1] = (here[1] - s1 - l1[2] * here[2] - l1[3] * here[3]) / l1[1];
            s0 += l0[1] * here[1] + l0[2] * here[2] + l0[3] * here[3];
        }
        here[0] = (here[0] - s0) / l0[0];
    }
"""


@functools.cache
def band_kernel(single: bool) -> Any:
    """Replaces right-hand sides [groups, size, 8] by solutions with a factor in band storage, in either precision."""
    real = wp.float32 if single else wp.float64

    @wp.func_native(_SOLVE.replace("TYPE", "float" if single else "double"))
    def solve_group(
        group: int, size: int, width: int, factor: wp.array2d(dtype=real), right: wp.array3d(dtype=real)
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def solve_groups(offset: int, size: int, width: int, factor: wp.array2d(dtype=real), right: wp.array3d(dtype=real)):
        solve_group(offset + wp.tid(), size, width, factor, right)

    return solve_groups
