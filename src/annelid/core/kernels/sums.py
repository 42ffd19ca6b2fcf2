"""Sums over the members of a group, in parts and in a fixed order, and readings of sensors that follow from them."""

import warp as wp

wp.set_module_options({"enable_backward": False})

PARTS = 64
"""Parts in which a group is summed, whatever the device: the same bits everywhere."""

Sums = wp.types.vector(length=9, dtype=wp.float64)


@wp.func
def _whole(sums: wp.array2d[Sums], world: int) -> Sums:
    total = Sums()
    for part in range(wp.static(PARTS)):
        total += sums[world, part]
    return total


@wp.kernel(enable_backward=False)
def finish_sum(
    sums: wp.array2d[Sums], scale: wp.float64, start: int, count: int, first: int, readings_out: wp.array2d[wp.float32]
):
    """Write `count` of the sums from `start` on, times `scale`."""
    world = wp.tid()
    total = _whole(sums, world)
    for k in range(count):
        readings_out[world, first + k] = wp.float32(scale * total[start + k])


@wp.kernel(enable_backward=False)
def finish_mean(sums: wp.array2d[Sums], first: int, readings_out: wp.array2d[wp.float32]):
    """Write the first of the sums over the second, which counts; the mean of nothing is not a number."""
    world = wp.tid()
    total = _whole(sums, world)
    mean = wp.float32(wp.nan)
    if total[1] > wp.float64(0.0):
        mean = wp.float32((wp.float64(1.0) / total[1]) * total[0])
    readings_out[world, first] = mean


@wp.kernel(enable_backward=False)
def finish_turn(sums: wp.array2d[Sums], first: int, readings_out: wp.array2d[wp.float32]):
    """Write the rotation that is nearest to a sum of moments, as a quaternion x, y, z, w with w not negative.

    Of moments that are not finite it is not a number, where the decomposition would say that nothing has turned.
    """
    world = wp.tid()
    t = _whole(sums, world)
    moment = wp.mat33d(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8])
    u, _, v = wp.svd3(moment)
    turn = u * wp.transpose(v)
    if wp.determinant(turn) < wp.float64(0.0):
        flip = wp.diag(wp.vec3d(wp.float64(1.0), wp.float64(1.0), wp.float64(-1.0)))
        turn = u * flip * wp.transpose(v)
    q = wp.quat_from_matrix(turn)
    sign = wp.where(q[3] < wp.float64(0.0), wp.float64(-1.0), wp.float64(1.0))
    for k in range(4):
        readings_out[world, first + k] = wp.where(wp.isfinite(t), wp.float32(sign * q[k]), wp.float32(wp.nan))
