"""What follows steps of a team whose next ones are taken without a look by the host."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def hand_over_kernel(real: Any) -> wp.Kernel:
    """Bring the state back to where steps begin, a thread a mass, and count the steps."""
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4

    @wp.kernel(module="unique", enable_backward=False)
    def hand_over(
        first: int,
        steps: int,
        x: wp.array[vec4],
        v: wp.array[vec3],
        clock: wp.array[wp.int64],
        x_out: wp.array[vec4],
        v_out: wp.array[vec3],
    ):
        i = first + wp.tid()
        if i == 0:
            clock[0] = clock[0] + wp.int64(steps)
        if steps % 2 == 1:
            x_out[i] = x[i]
            v_out[i] = v[i]

    return hand_over
