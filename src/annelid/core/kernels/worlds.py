"""Worlds side by side: their clock, when they begin, and rows of some of them brought back."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def begin_again(mask: wp.array[wp.bool], clock: wp.array[wp.int64], begun_out: wp.array[wp.int64]):
    """Note the step at which masked worlds begin."""
    world = wp.tid()
    if mask[world]:
        begun_out[world] = clock[0]


@wp.kernel(enable_backward=False)
def begin_healthy(
    mask: wp.array[wp.bool],
    clock: wp.array[wp.int64],
    # State out:
    begun_out: wp.array[wp.int64],
    trouble_out: wp.array[wp.int64],
):
    """Masked worlds begin now, and have not diverged."""
    world = wp.tid()
    if mask[world]:
        begun_out[world] = clock[0]
        trouble_out[world] = wp.int64(-1)


@wp.kernel(enable_backward=False)
def advance_clock(steps: int, clock: wp.array[wp.int64]):
    """Count the steps of a batch that is done."""
    clock[0] = clock[0] + wp.int64(steps)


@once
def restore_kernel(dtype: Any) -> wp.Kernel:
    """Copy the rows of masked worlds, `each` rows for each thing that belongs to a world."""

    @wp.kernel(module="unique", enable_backward=False)
    def restore(
        mask: wp.array[wp.bool],
        world_of: wp.array[wp.int32],
        each: int,
        # State in:
        rows: wp.array[dtype],
        # State out:
        rows_out: wp.array[dtype],
    ):
        i = wp.tid()
        if mask[world_of[i // each]]:
            rows_out[i] = rows[i]

    return restore


@once
def kick_kernel(dtype: Any) -> wp.Kernel:
    """Add a velocity of each masked world to the rows of velocities that can change."""
    real = dtype._wp_scalar_type_

    @wp.kernel(module="unique", enable_backward=False)
    def kick(
        mask: wp.array[wp.bool],
        world_of: wp.array[wp.int32],
        movable: wp.array[wp.bool],
        kicks: wp.array2d[wp.float32],  # [m/s], for each world; axes that it does not have stay
        # State:
        velocities: wp.array[dtype],
    ):
        i = wp.tid()
        world = world_of[i]
        if mask[world] and movable[i]:
            velocity = velocities[i]
            for axis in range(kicks.shape[1]):
                velocity[axis] = velocity[axis] + real(kicks[world, axis])
            velocities[i] = velocity

    return kick
