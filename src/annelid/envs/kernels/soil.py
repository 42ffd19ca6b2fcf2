"""Soil: vertices of bodies, depth images, and sums over the grains of a world."""

import warp as wp

wp.set_module_options({"enable_backward": False})

SHARES = 64
"""Parts that the grains of a world are summed in, side by side; their number and order never change."""


@wp.kernel
def place_vertices(
    owners: wp.array[wp.int32],
    local: wp.array[wp.vec3],
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # Out:
    vertex_out: wp.array[wp.vec3],
):
    i = wp.tid()
    b = owners[i]
    vertex_out[i] = places[b] + wp.quat_rotate(turns[b], local[i])


@wp.kernel
def clip_depth(near: float, far: float, depth: wp.array3d[wp.float32]):
    """Depth within the range of a camera [m]."""
    w, row, column = wp.tid()
    depth[w, row, column] = wp.clamp(depth[w, row, column], near, far)
