"""What commands ask of actuators, in the order of the channels."""

import warp as wp

from annelid.core.kernels.controls import held

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def values_at(step: wp.float64, commands: wp.array[wp.vec4d], values_out: wp.array[wp.float64]):
    """The value of each channel after so many steps."""
    channel = wp.tid()
    values_out[channel] = held(commands[channel], step)
