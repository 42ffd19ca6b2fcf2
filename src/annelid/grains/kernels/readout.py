"""Grains brought back from the order of cells to that of their bed."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def unsort(
    names: wp.array[wp.vec2i],
    rows: wp.array[wp.vec4],
    # Out:
    row_out: wp.array[wp.vec3],
):
    i = wp.tid()
    row = rows[i]
    row_out[names[i][0]] = wp.vec3(row[0], row[1], row[2])
