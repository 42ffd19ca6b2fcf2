"""Commands of a coupled simulation, given to the side that they are for."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def hand_on(
    first: int,  # channel of this side among all
    count: int,  # channels of all sides
    own: int,  # channels of this side
    steps: wp.float64,  # of this side in a step of the whole
    commands: wp.array[wp.vec4d],
    commands_out: wp.array[wp.vec4d],
):
    """Commands in the steps of a side: only when they begin and how long they take differs."""
    world, k = wp.tid()
    command = commands[world * count + first + k]
    commands_out[world * own + k] = wp.vec4d(command[0], command[1], command[2] * steps, command[3] * steps)
