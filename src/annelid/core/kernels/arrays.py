"""Arrays from elsewhere, brought into the shape that is needed."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def repeat_row(
    row: wp.array[Any],
    rows_out: wp.array2d[Any],
):
    """One row as many times as there is room for; one thread a number."""
    i, k = wp.tid()
    rows_out[i, k] = row[k]


@once
def points_kernel(dtype: Any) -> wp.Kernel:
    """A kernel for vectors of one type: the first three numbers of chosen ones, in single precision."""

    @wp.kernel(module="unique", enable_backward=False)
    def pick_points(chosen: wp.array[wp.int32], vectors: wp.array[dtype], points_out: wp.array[wp.vec3]):
        i = wp.tid()
        p = vectors[chosen[i]]
        points_out[i] = wp.vec3(wp.float32(p[0]), wp.float32(p[1]), wp.float32(p[2]))

    return pick_points


# All overloads at once: one that is first needed later would compile this module again.
for _real in (wp.float32, wp.float64):
    wp.overload(repeat_row, {"row": wp.array[_real], "rows_out": wp.array2d[_real]})
