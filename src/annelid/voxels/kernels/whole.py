"""What sensors read of a robot: where its masses are, how high it has been, what its voxels sense."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.totals import CENTER_Y

wp.set_module_options({"enable_backward": False})


@once
def places_kernel(real: type, moving: bool) -> wp.Kernel:
    """Means of so many masses in a row each, of their places [m] or, where `moving`, of their velocities [m/s]."""
    types = layout(real)
    vec2, vec4 = types.vec2, types.vec4

    @wp.func
    def place_of(p: wp.vec4d, arm: wp.vec2d) -> wp.vec2d:
        return wp.vec2d(p[0] + p[2] * arm[0] - p[3] * arm[1], p[1] + p[3] * arm[0] + p[2] * arm[1])

    @wp.func
    def speed_of(p: wp.vec4d, v: wp.vec4d, arm: wp.vec2d) -> wp.vec2d:
        x, y = p[2] * arm[0] - p[3] * arm[1], p[3] * arm[0] + p[2] * arm[1]
        return wp.vec2d(v[0] - v[2] * y, v[1] + v[2] * x)

    @wp.kernel(module="unique", enable_backward=False)
    def places(
        bodies: wp.array[wp.int32],  # of each mass
        arms: wp.array[vec2],  # in their frames [m]
        width: int,  # masses of a mean
        positions: wp.array[vec4],
        velocities: wp.array[vec4],
        means_out: wp.array[wp.vec2d],
    ):
        i = wp.tid()
        total = wp.vec2d()
        for k in range(width * i, width * (i + 1)):
            p, arm = wp.vec4d(positions[bodies[k]]), wp.vec2d(arms[k])
            if wp.static(moving):
                total += speed_of(p, wp.vec4d(velocities[bodies[k]]), arm)
            else:
                total += place_of(p, arm)
        means_out[i] = total / wp.float64(width)

    return places


@wp.kernel(module="unique", enable_backward=False)
def read_peaks(
    peaks: wp.array[wp.vec4d],
    totals: wp.array2d[wp.float64],
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """The highest centre; before the first step, that of now."""
    world = wp.tid()
    readings_out[world, first] = wp.float32(wp.max(peaks[world][0], totals[world, wp.static(CENTER_Y)]))


@once
def inputs_kernel(real: type) -> wp.Kernel:
    """Readings of the sensors of one robot a world."""

    @wp.kernel(module="unique", enable_backward=False)
    def pick(starts: wp.array[wp.int32], inputs: wp.array[real], first: int, readings_out: wp.array2d[wp.float32]):
        world, k = wp.tid()
        readings_out[world, first + k] = wp.float32(inputs[starts[world] + k])

    return pick
