"""Arrays from elsewhere, brought into the shape that is needed."""

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def repeat_row(
    row: wp.array[Any],
    rows_out: wp.array2d[Any],
):
    """One row as many times as there is room for; one thread a number."""
    i, k = wp.tid()
    rows_out[i, k] = row[k]


@wp.kernel(enable_backward=False)
def pick_points(chosen: wp.array[wp.int32], points: wp.array[wp.vec3], points_out: wp.array[wp.vec3]):
    """Points in another order."""
    i = wp.tid()
    points_out[i] = points[chosen[i]]


# All overloads at once: one that is first needed later would compile this module again.
for _real in (wp.float32, wp.float64):
    wp.overload(repeat_row, {"row": wp.array[_real], "rows_out": wp.array2d[_real]})
