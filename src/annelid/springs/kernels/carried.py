"""Points that hang on several masses, and values there."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@once
def carried_points_kernel(vec4: Any) -> wp.Kernel:
    """Positions of points in single precision, summed from one of the masses so that shares need not be exact."""

    @wp.kernel(module="unique", enable_backward=False)
    def carried_points(
        begins: wp.array[wp.int32],
        masses: wp.array[wp.int32],
        shares: wp.array[wp.float32],
        positions: wp.array[vec4],
        points_out: wp.array[wp.vec3],
    ):
        i = wp.tid()
        base = positions[masses[begins[i]]]
        x = wp.vec3(0.0, 0.0, 0.0)
        for k in range(begins[i], begins[i + 1]):
            d = positions[masses[k]] - base
            x += shares[k] * wp.vec3(wp.float32(d[0]), wp.float32(d[1]), wp.float32(d[2]))
        points_out[i] = wp.vec3(wp.float32(base[0]), wp.float32(base[1]), wp.float32(base[2])) + x

    return carried_points


@wp.kernel(enable_backward=False)
def carried_values(
    begins: wp.array[wp.int32],
    slots: wp.array[wp.int32],
    shares: wp.array[wp.float32],
    values: wp.array[wp.float32],
    values_out: wp.array[wp.float32],
):
    """Means of values, those of masses with negative shares left out, so that none is beyond those of the masses."""
    i = wp.tid()
    total = float(0.0)
    weight = float(0.0)
    for k in range(begins[i], begins[i + 1]):
        share = wp.max(shares[k], 0.0)
        total += share * values[slots[k]]
        weight += share
    values_out[i] = total / wp.max(weight, 1.0e-12)
