"""Worlds side by side: rows of some of them brought back."""

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def begin_again(mask: wp.array[wp.bool], clock: wp.array[wp.int64], begun_out: wp.array[wp.int64]):
    """Note the step at which masked worlds begin."""
    world = wp.tid()
    if mask[world]:
        begun_out[world] = clock[0]


@functools.cache
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
