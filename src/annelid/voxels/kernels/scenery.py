"""Where plates over voxels and boxes are, in space."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def plates_kernel(real: type) -> wp.Kernel:
    """Eight corners of each plate: four in front, then the four behind them; one thread a corner."""
    vec4 = layout(real).vec4

    @wp.kernel(module="unique", enable_backward=False)
    def plates(
        bodies: wp.array[wp.int32],  # four corners a plate: the body that each hangs on
        arms: wp.array[wp.vec2d],  # and where, in the frame of the body [m]
        half: float,  # thickness [m]
        positions: wp.array[vec4],
        points_out: wp.array[wp.vec3],
    ):
        i = wp.tid()
        corner = 4 * (i // 8) + i % 4
        p, arm = wp.vec4d(positions[bodies[corner]]), arms[corner]
        x = p[0] + p[2] * arm[0] - p[3] * arm[1]
        z = p[1] + p[3] * arm[0] + p[2] * arm[1]
        points_out[i] = wp.vec3(wp.float32(x), wp.where(i % 8 < 4, half, -half), wp.float32(z))

    return plates
