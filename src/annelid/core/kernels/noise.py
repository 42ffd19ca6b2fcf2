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
    keys: wp.array[wp.int32], salt: int, sigma: float, first: int, readings: wp.array2d[wp.float32]
):  # fmt: skip
    """Add normal noise to the numbers of a sensor from column `first` on."""
    world, k = wp.tid()
    random = wp.rand_init(keys[world] ^ salt, k)
    readings[world, first + k] = readings[world, first + k] + sigma * wp.randn(random)
