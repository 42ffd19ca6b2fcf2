"""The excavator counted and judged: what bucket and bin hold, what the arm shows of itself."""

import warp as wp

from annelid.envs.kernels.arm import Joints, Limits
from annelid.envs.kernels.soil import SHARES

wp.set_module_options({"enable_backward": False})


@wp.func
def in_hold(x: wp.vec3, sides: wp.array[wp.vec3], half: float) -> bool:
    """Whether a point in the frame of the tool is in the space that the bucket encloses."""
    inside = wp.abs(x[1]) < half
    for s in range(sides.shape[0]):
        side = sides[s]
        if side[0] * x[0] + side[1] * x[2] > side[2]:
            inside = False
    return inside


@wp.kernel
def share_counts(
    points: wp.array[wp.vec3],
    grains: int,
    tool: int,  # number of its frame
    frames: wp.array2d[wp.transform],
    sides: wp.array[wp.vec3],
    half: float,
    low: wp.vec3,  # of the bin [m]
    high: wp.vec3,
    # Out:
    share_out: wp.array2d[wp.vec3i],
):
    """Grains of a share that lie in the bucket, in the bin, and that are finite."""
    w, s = wp.tid()
    each = (grains + wp.static(SHARES - 1)) // wp.static(SHARES)
    back = wp.transform_inverse(frames[w, tool])
    found = wp.vec3i()
    for k in range(s * each, wp.min((s + 1) * each, grains)):
        x = points[w * grains + k]
        if in_hold(wp.transform_point(back, x), sides, half):
            found[0] = found[0] + 1
        if x[0] > low[0] and x[0] < high[0] and x[1] > low[1] and x[1] < high[1] and x[2] < high[2]:
            found[1] = found[1] + 1
        if wp.isfinite(x[0] + x[1] + x[2]):
            found[2] = found[2] + 1
    share_out[w, s] = found


@wp.kernel
def count_shares(
    shares: wp.array2d[wp.vec3i],
    mass: float,  # of a grain [kg]
    # Out:
    mass_out: wp.array[wp.vec3],
):
    w = wp.tid()
    found = wp.vec3i()
    for s in range(wp.static(SHARES)):
        found += shares[w, s]
    mass_out[w] = mass * wp.vec3(float(found[0]), float(found[1]), float(found[2]))


@wp.kernel
def judge(
    masses: wp.array[wp.vec3],
    before: wp.array[wp.vec3],
    peaks: wp.array[wp.float32],
    force_limit: float,  # [N]
    penalty: float,
    # Out:
    reward_out: wp.array[wp.float32],
):
    """Mass brought into the bin [kg], less what the bucket was pushed beyond its limit."""
    w = wp.tid()
    brought = masses[w][1] - before[w][1]
    beyond = wp.max(peaks[w] / force_limit - 1.0, 0.0)
    reward_out[w] = brought - penalty * beyond


@wp.kernel
def gives_in(
    masses: wp.array[wp.vec3],
    total: float,  # of all grains [kg]
    joints: Joints,
    limits: Limits,
    # Out:
    terminated_out: wp.array[wp.bool],
):
    """Whether the load of a joint is beyond its limit, or grains are nowhere."""
    w = wp.tid()
    ended = masses[w][2] < 0.9999 * total
    for j in range(limits.effort.shape[0]):
        if wp.abs(joints.torques[w, j]) > limits.effort[j]:
            ended = True
    terminated_out[w] = ended


@wp.kernel
def show(
    mask: wp.array[wp.bool],
    joints: Joints,
    masses: wp.array[wp.vec3],
    # Out:
    angle_out: wp.array2d[wp.float32],
    speed_out: wp.array2d[wp.float32],
    bucket_out: wp.array2d[wp.float32],
    wrench_out: wp.array2d[wp.float32],
    carried_out: wp.array2d[wp.float32],
):
    """What the arm knows of itself and feels; the wrench in the frame of the tool."""
    w = wp.tid()
    if not mask[w]:
        return
    count = joints.angles.shape[1]
    for j in range(count):
        angle_out[w, j] = joints.angles[w, j]
        speed_out[w, j] = joints.speeds[w, j]
    frame = joints.frames[w, count]
    turn = wp.transform_get_rotation(frame)
    place = wp.transform_get_translation(frame)
    force = wp.quat_rotate_inv(turn, wp.spatial_top(joints.wrenches[w]))
    torque = wp.quat_rotate_inv(turn, wp.spatial_bottom(joints.wrenches[w]))
    for c in range(3):
        bucket_out[w, c] = place[c]
        wrench_out[w, c] = force[c]
        wrench_out[w, 3 + c] = torque[c]
    for c in range(4):
        bucket_out[w, 3 + c] = turn[c]
    carried_out[w, 0] = masses[w][0]
