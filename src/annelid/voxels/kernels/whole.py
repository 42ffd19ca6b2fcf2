"""What sensors read of a whole robot, or of some of its voxels, one thread a world."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.totals import CENTER_Y

wp.set_module_options({"enable_backward": False})


@once
def whole_kernel(real: type, quantity: str) -> wp.Kernel:
    """Mean position or velocity of masses, or the angle by which they have turned.

    Args:
        real: Scalar type.
        quantity: "position", "velocity" or "turn".
    """
    types = layout(real)
    Tables, vec4 = types.Tables, types.vec4
    moving, turning = quantity == "velocity", quantity == "turn"

    @wp.func
    def place_of(p: wp.vec4d, arm: wp.vec2d) -> wp.vec2d:
        return wp.vec2d(p[0] + p[2] * arm[0] - p[3] * arm[1], p[1] + p[3] * arm[0] + p[2] * arm[1])

    @wp.func
    def velocity_of(p: wp.vec4d, v: wp.vec4d, arm: wp.vec2d) -> wp.vec2d:
        x, y = p[2] * arm[0] - p[3] * arm[1], p[3] * arm[0] + p[2] * arm[1]
        return wp.vec2d(v[0] - v[2] * y, v[1] + v[2] * x)

    @wp.kernel(module="unique", enable_backward=False)
    def whole(
        begins: wp.array[wp.int32],  # per world: first of its masses below
        masses: wp.array[wp.int32],  # 4 voxel + corner, of the voxels of a world
        weights: wp.array[wp.float64],  # share of each in the mean
        rests: wp.array[wp.vec2d],  # where it is at rest, from the middle [m]
        tables: Tables,
        positions: wp.array[vec4],
        velocities: wp.array[vec4],
        first: int,
        readings_out: wp.array2d[wp.float32],
    ):
        number = wp.tid()
        world = tables.worlds[number]
        mean, along, across = wp.vec2d(), wp.float64(0.0), wp.float64(0.0)
        for k in range(begins[number], begins[number + 1]):
            mass = 4 * world.shape_voxel + masses[k]
            body, arm = world.body + tables.mass_body[mass], wp.vec2d(tables.mass_arm[mass])
            p = wp.vec4d(positions[body])
            if wp.static(moving):
                mean += weights[k] * velocity_of(p, wp.vec4d(velocities[body]), arm)
            elif wp.static(turning):
                place, rest = place_of(p, arm), rests[k]
                along += weights[k] * wp.dot(rest, place)
                across += weights[k] * (rest[0] * place[1] - rest[1] * place[0])
            else:
                mean += weights[k] * place_of(p, arm)
        if wp.static(turning):
            readings_out[number, first] = wp.float32(wp.atan2(across, along))
        else:
            readings_out[number, first] = wp.float32(mean[0])
            readings_out[number, first + 1] = wp.float32(mean[1])

    return whole


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
