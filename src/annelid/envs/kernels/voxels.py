"""Voxel robots as environments: actions become control values, sensors observations, way becomes reward."""

import warp as wp

from annelid.voxels.kernels.totals import CENTER_X

wp.set_module_options({"enable_backward": False})


@wp.kernel
def nudge(
    mask: wp.array[wp.bool],
    seeds: wp.array[wp.int32],
    episodes: wp.array[wp.int32],
    bodies: int,  # of a world
    sigma: float,  # [m/s]
    clock: wp.array[wp.int64],
    # State:
    velocities: wp.array[wp.vec4],
    # State out:
    origin_out: wp.array[wp.int64],
    trouble_out: wp.array[wp.int64],
):
    """Throw a robot a little, as the seed says, and let its clock begin now."""
    w = wp.tid()
    if not mask[w]:
        return
    random = wp.rand_init(seeds[w], episodes[w])
    x = sigma * wp.randn(random)
    y = sigma * wp.randn(random)
    for b in range(w * bodies, (w + 1) * bodies):
        v = velocities[b]
        velocities[b] = wp.vec4(v[0] + x, v[1] + y, v[2], v[3])
    origin_out[w] = clock[0]
    trouble_out[w] = wp.int64(-1)


@wp.kernel
def judge_way(
    totals: wp.array2d[wp.float64],
    before: wp.array[wp.float64],
    trouble: wp.array[wp.int64],
    # Out:
    reward_out: wp.array[wp.float32],
    terminated_out: wp.array[wp.bool],
):
    """The way of the centre along x [m]; a robot that diverged gets nothing more."""
    w = wp.tid()
    x = totals[w, wp.static(CENTER_X)]
    reward_out[w] = wp.float32(x - before[w])
    before[w] = x
    if trouble[w] >= wp.int64(0):
        reward_out[w] = 0.0
        terminated_out[w] = True


@wp.kernel
def note_start(mask: wp.array[wp.bool], totals: wp.array2d[wp.float64], before_out: wp.array[wp.float64]):
    w = wp.tid()
    if mask[w]:
        before_out[w] = totals[w, wp.static(CENTER_X)]


@wp.kernel
def show_inputs(
    mask: wp.array[wp.bool],
    inputs: wp.array[wp.float32],
    actions: wp.array2d[wp.float32],
    # Out:
    observation_out: wp.array2d[wp.float32],
):
    """Readings of the sensors, then the last action."""
    w, k = wp.tid()
    if mask[w]:
        sensors = observation_out.shape[1] - actions.shape[1]
        if k < sensors:
            value = inputs[w * sensors + k]
            if not wp.isfinite(value):
                value = 0.0
            observation_out[w, k] = value
        else:
            observation_out[w, k] = actions[w, k - sensors]
