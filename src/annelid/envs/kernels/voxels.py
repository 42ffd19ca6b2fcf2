"""Voxel robots as environments: sensors and the last action are observed, way is rewarded."""

import warp as wp

from annelid.voxels.kernels.totals import CENTER_X

wp.set_module_options({"enable_backward": False})


@wp.kernel
def way(totals: wp.array2d[wp.float64], before: wp.array2d[wp.float64], reward_out: wp.array[wp.float32]):
    """The way of the centre along x [m]."""
    w = wp.tid()
    reward_out[w] = wp.float32(totals[w, wp.static(CENTER_X)] - before[w, wp.static(CENTER_X)])


@wp.kernel
def show_inputs(
    mask: wp.array[wp.bool],
    inputs: wp.array2d[wp.float32],
    actions: wp.array2d[wp.float32],
    # Out:
    observation_out: wp.array2d[wp.float32],
):
    """Readings of the sensors, then the last action."""
    w, k = wp.tid()
    if mask[w]:
        sensors = inputs.shape[1]
        if k < sensors:
            value = inputs[w, k]
            observation_out[w, k] = wp.where(wp.isfinite(value), value, 0.0)
        else:
            observation_out[w, k] = actions[w, k - sensors]
