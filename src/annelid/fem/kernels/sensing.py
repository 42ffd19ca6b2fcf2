"""What sensors read of actuators and cavities."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def copy_number(
    count: int,  # of numbers in a world
    place: int,
    first: int,
    numbers: wp.array[wp.float64],
    readings_out: wp.array2d[wp.float32],
):
    """One number of each world as it is."""
    world = wp.tid()
    readings_out[world, first] = wp.float32(numbers[world * count + place])
