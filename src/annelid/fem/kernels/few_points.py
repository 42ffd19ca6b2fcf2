"""What a few points need to know of contacts of many, side by side."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

OWN, PAIR = 7, 7
"""Numbers of a point, and of a pair of it with an obstacle."""


@wp.kernel
def tell_points(
    # Parameters:
    obstacles: int, nodes: wp.array[wp.int32],
    # State in:
    positions: wp.array[wp.vec3d], starts: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d],
    strengths: wp.array[f64], normals: wp.array[wp.vec3d], tangent: wp.array3d[wp.mat33d],
    # State out:
    told_out: wp.array2d[f64],
):  # fmt: skip
    """Where a point was and is and whether it resists; then stretch, strength and normal of each of its pairs."""
    i = wp.tid()
    touches = f64(0.0)
    for a in range(3):
        told_out[i, a] = starts[nodes[i]][a]
        told_out[i, 3 + a] = positions[nodes[i]][a]
        for b in range(3):
            if tangent[i, 0, 0][a, b] != f64(0.0):
                touches = f64(1.0)
    told_out[i, 6] = touches
    for b in range(obstacles):
        pair = i * obstacles + b
        first = wp.static(OWN) + wp.static(PAIR) * b
        for a in range(3):
            told_out[i, first + a] = stretches[pair][a]
            told_out[i, first + 4 + a] = normals[pair][a]
        told_out[i, first + 3] = strengths[pair]
