"""Sums over the members of a group, in parts and in a fixed order, and readings of sensors that follow from them."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

PARTS = 64
"""Parts in which a group is summed, whatever the device: the same bits everywhere."""

Sums = wp.types.vector(length=9, dtype=wp.float64)


@wp.struct
class Selected:
    """Rows of a state that are read in each world; see `core.state_view.Members`."""

    begins: wp.array[wp.int32]  # where the rows of each world begin, and their number
    rows: wp.array[wp.int32]  # negative where one that is read by itself is gone
    stride: int  # rows of a world, where the rows above are those of the first one
    each: int  # 1: rows are read by themselves
    weights: wp.array[wp.float64]  # empty: 1
    scales: wp.array[wp.float64]  # of sums, one for all worlds, or one for each
    rests: wp.array[wp.vec3d]
    origins: wp.array[wp.vec3d]  # of all rows; empty: 0


@once
def vector_kernel(vector: Any, size: int, turned: bool) -> wp.Kernel:
    """Weighted sums of vectors, or of their products with where they were at rest, or the vectors one by one.

    Args:
        vector: Type of the vectors.
        size: How many of their numbers count.
        turned: Whether they are multiplied by where they were at rest: the rotation of these sums is that of the part.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def read(
        selected: Selected,
        vectors: wp.array[vector],
        first: int,
        sums_out: wp.array2d[Sums],  # empty: sums are readings
        readings_out: wp.array2d[wp.float32],
    ):
        world, part = wp.tid()
        own = wp.where(selected.stride > 0, 0, world)
        total = Sums()
        begin = selected.begins[own] + part
        end = wp.where(selected.each == 1, begin + 1, selected.begins[own + 1])
        for k in range(begin, end, wp.max(sums_out.shape[1], 1)):
            found = wp.vec3d(wp.float64(wp.nan))
            if selected.rows[k] >= 0:
                i = world * selected.stride + selected.rows[k]
                for axis in range(wp.static(size)):
                    found[axis] = wp.float64(vectors[i][axis])
                if selected.origins.shape[0] > 0:
                    found = selected.origins[i] + found
            if selected.weights.shape[0] > 0:
                found = selected.weights[k] * found
            for row in range(wp.static(size)):
                if wp.static(turned):
                    for column in range(wp.static(size)):
                        moment = found[row] * selected.rests[k][column]
                        total[3 * row + column] = total[3 * row + column] + moment
                else:
                    total[row] = total[row] + found[row]
        if sums_out.shape[0] > 0:
            sums_out[world, part] = total
        else:
            scale = selected.scales[wp.min(world, selected.scales.shape[0] - 1)]
            for axis in range(wp.static(size)):
                readings_out[world, first + wp.static(size) * part + axis] = wp.float32(scale * total[axis])

    return read


@wp.func
def whole(sums: wp.array2d[Sums], world: int) -> Sums:
    """Sum of the parts of a world."""
    total = Sums()
    for part in range(sums.shape[1]):
        total += sums[world, part]
    return total


@wp.kernel(enable_backward=False)
def finish_sum(
    sums: wp.array2d[Sums],
    scales: wp.array[wp.float64],  # one for all worlds, or one for each
    start: int,
    count: int,
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """Write `count` of the sums from `start` on, times a scale."""
    world = wp.tid()
    total = whole(sums, world)
    scale = scales[wp.min(world, scales.shape[0] - 1)]
    for k in range(count):
        readings_out[world, first + k] = wp.float32(scale * total[start + k])


@wp.kernel(enable_backward=False)
def finish_mean(
    sums: wp.array2d[Sums],
    start: int,
    count: int,
    over: int,
    of_nothing: wp.float64,
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """Write `count` of the sums from `start` on over another, which counts or weighs; of nothing what is given."""
    world = wp.tid()
    total = whole(sums, world)
    for k in range(count):
        mean = of_nothing
        if total[over] > wp.float64(0.0):
            mean = (wp.float64(1.0) / total[over]) * total[start + k]
        readings_out[world, first + k] = wp.float32(mean)


@wp.kernel(enable_backward=False)
def finish_angle(sums: wp.array2d[Sums], first: int, readings_out: wp.array2d[wp.float32]):
    """Write the angle of the rotation in a plane that is nearest to a sum of moments [rad]."""
    world = wp.tid()
    t = whole(sums, world)
    readings_out[world, first] = wp.float32(wp.atan2(t[3] - t[1], t[0] + t[4]))


@wp.kernel(enable_backward=False)
def finish_turn(sums: wp.array2d[Sums], first: int, readings_out: wp.array2d[wp.float32]):
    """Write the rotation that is nearest to a sum of moments, as a quaternion x, y, z, w with w not negative.

    Of moments that are not finite it is not a number, where the decomposition would say that nothing has turned.
    """
    world = wp.tid()
    t = whole(sums, world)
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
