"""Springs that hold weighted sums of positions, the effectors of a robot, at places."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def hold_sums(
    # Parameters:
    wanted: int, nodes: wp.array2d[wp.int32], weights: wp.array2d[f64], stiffness: wp.array[wp.vec3d],
    # State in:
    places: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """One sum a thread: a spring along each axis between it and its place."""
    i = wp.tid()
    away = -places[i]
    for a in range(nodes.shape[1]):
        if nodes[i, a] >= 0:
            away += weights[i, a] * positions[nodes[i, a]]
    k = stiffness[i]
    pull = wp.cw_mul(k, away)
    energy_out[i] = f64(0.5) * wp.dot(pull, away)
    for a in range(nodes.shape[1]):
        forces_out[i, a] = -weights[i, a] * pull
        if wanted != 0:
            for b in range(nodes.shape[1]):
                tangent_out[i, a, b] = (weights[i, a] * weights[i, b]) * wp.diag(k)
