"""Noise of sensors: normal numbers that depend on nothing but a key of the world, the sensor, and the number in it."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def step_keys(
    seeds: wp.array[wp.int32],
    clock: wp.array[wp.int64],
    begun: wp.array[wp.int64],  # step at which each world began; empty where all began at 0
    keys_out: wp.array[wp.int32],
):
    """A key for each world from its seed and the steps since it began."""
    world = wp.tid()
    step = clock[0]
    if begun.shape[0] > 0:
        step = step - begun[world]
    keys_out[world] = wp.randi(wp.rand_init(seeds[world], int(step)))


@wp.kernel(enable_backward=False)
def add_noise(
    keys: wp.array[wp.int32],
    salt: int,
    sigma: float,
    first: int,
    parameters: wp.array[wp.float64],  # of worlds, the last of each a factor on noise; empty where they do not differ
    readings: wp.array2d[wp.float32],
):
    """Add normal noise to the numbers of a sensor from column `first` on."""
    world, k = wp.tid()
    random = wp.rand_init(keys[world] ^ salt, k)
    spread = sigma
    if parameters.shape[0] > 0:
        spread *= wp.float32(parameters[(world + 1) * (parameters.shape[0] // keys.shape[0]) - 1])
    readings[world, first + k] = readings[world, first + k] + spread * wp.randn(random)
