"""Stresses of sand on many pieces of surface at once, in double precision."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.stress import resistance

wp.set_module_options({"enable_backward": False})


@once
def press_kernel() -> wp.Kernel:
    """Stresses [Pa] from normals, velocities [m/s] and depths [m], a thread each."""
    functions = resistance(wp.float64)
    stress, flow, Ground = functions.stress, functions.flow, functions.Ground

    @wp.kernel(module="unique", enable_backward=False)
    def press(
        ground: Ground,
        normals: wp.array[wp.vec3d],
        velocities: wp.array[wp.vec3d],
        depths: wp.array[wp.float64],
        stresses_out: wp.array[wp.vec3d],
    ):
        i = wp.tid()
        found = depths[i] * stress(ground, normals[i], velocities[i])
        stresses_out[i] = found + flow(ground, normals[i], velocities[i])

    return press
