"""Voxel robots as environments: distance along x is rewarded."""

import warp as wp

from annelid.voxels.kernels.totals import CENTER_X

wp.set_module_options({"enable_backward": False})


@wp.kernel
def way(totals: wp.array2d[wp.float64], before: wp.array2d[wp.float64], reward_out: wp.array[wp.float32]):
    """The way of the centre along x [m]."""
    w = wp.tid()
    reward_out[w] = wp.float32(totals[w, wp.static(CENTER_X)] - before[w, wp.static(CENTER_X)])
