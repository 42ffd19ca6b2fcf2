"""Worlds side by side: those that begin again."""

import warp as wp

from annelid.grains.kernels.layout import FLAGS, STALE

wp.set_module_options({"enable_backward": False})


@wp.kernel
def make_stale(
    mask: wp.array[wp.bool],
    # State out:
    flags_out: wp.array[wp.int32],
):
    """The lists of worlds that begin again must be made."""
    world = wp.tid()
    if mask[world]:
        flags_out[wp.static(FLAGS) + world] = 1
        flags_out[wp.static(STALE)] = 1
