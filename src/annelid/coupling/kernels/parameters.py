"""Parameters of a coupled world: what each side is given of them, and the masses of guests."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def hand_on_values(
    sources: wp.array[wp.int32],  # columns of the whole
    targets: wp.array[wp.int32],  # where they go among those of a side
    width: int,
    own_width: int,
    values: wp.array[wp.float64],
    values_out: wp.array[wp.float64],
):
    """Give a side its parameters of each world."""
    world, k = wp.tid()
    values_out[world * own_width + targets[k]] = values[world * width + sources[k]]


@wp.kernel(enable_backward=False)
def scale_guests(
    mask: wp.array[wp.bool],
    first_guest: int,
    column: int,
    width: int,
    before: wp.array[wp.float64],
    values: wp.array[wp.float64],
    names: wp.array[wp.vec2i],
    # State in and out:
    spins: wp.array[wp.vec4],
    turning: wp.array[wp.vec4],
):
    """Divide inverse masses of guests by how much the factor on the masses of their body has grown."""
    i = wp.tid()
    world = names[i][1]
    if mask[world] and names[i][0] >= first_guest:
        at = world * width + column
        spin = spins[i]
        spin[3] = wp.float32(wp.float64(spin[3]) * before[at] / values[at])
        spins[i] = spin
        turn = turning[i]
        turn[3] = spin[3]
        turning[i] = turn
