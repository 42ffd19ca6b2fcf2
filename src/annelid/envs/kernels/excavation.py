"""The excavator: joints follow commands, links and bucket follow the joints, and what pushes them is accounted for."""

import warp as wp

from annelid.envs.kernels.soil import SHARES
from annelid.envs.machines.kernels import Arm, joint_column, tool_frame

wp.set_module_options({"enable_backward": False})


@wp.struct
class Limits:
    """What joints can do, and how quickly they follow."""

    lower: wp.array[wp.float32]  # [rad]
    upper: wp.array[wp.float32]
    speed: wp.array[wp.float32]  # [rad/s]
    effort: wp.array[wp.float32]  # [N m]
    acceleration: wp.float32  # [rad/s²]
    memory: wp.float32  # time over which forces are smoothed [s]


@wp.struct
class Joints:
    """Joints of all worlds."""

    angles: wp.array2d[wp.float32]  # [worlds, joints]
    speeds: wp.array2d[wp.float32]
    goals: wp.array2d[wp.float32]  # angles at the end of the step to come
    rates: wp.array2d[wp.float32]  # speeds during it
    frames: wp.array2d[wp.transform]  # of the links and, last, the tool, at the goals
    torques: wp.array2d[wp.float32]  # smoothed load of each joint by the soil [N m]
    wrenches: wp.array[wp.spatial_vector]  # smoothed force [N] and torque [N m] on the bucket about the tool
    work: wp.array[wp.float64]  # of the arm on the soil since the beginning [J]
    peaks: wp.array[wp.float32]  # largest smoothed force on the bucket in this action [N]


@wp.struct
class Links:
    """Bodies that belong to the arm, in each world."""

    first: wp.int32  # number of the first among the bodies of a world
    count: wp.int32
    each: wp.int32  # bodies of a world
    frame_of: wp.array[wp.int32]  # frame that each moves with
    middles: wp.array[wp.vec3]  # centre of each in its frame [m]


@wp.func
def turn_between(now: wp.quat, goal: wp.quat) -> wp.vec3:
    """Rotation vector from one turn to another [rad]; they are close."""
    way = goal * wp.quat_inverse(now)
    sign = wp.where(way[3] < 0.0, -2.0, 2.0)
    return sign * wp.vec3(way[0], way[1], way[2])


@wp.func
def put_body(k: int, w: int, links: Links, joints: Joints) -> wp.transform:
    """Where a body of the arm is when the joints have reached their goals."""
    frame = joints.frames[w, links.frame_of[k]]
    return wp.transform(wp.transform_point(frame, links.middles[k]), wp.transform_get_rotation(frame))


@wp.kernel
def pose(
    mask: wp.array[wp.bool],
    chances: wp.array2d[wp.float32],  # from 0 to 1
    home: wp.array[wp.float32],
    spread: float,  # [rad]
    arm: Arm,
    links: Links,
    # State:
    joints: Joints,
    # Out, body by body:
    places_out: wp.array2d[wp.vec3],
    turns_out: wp.array2d[wp.quat],
):
    """Let the joints be where the seed says, at rest, and find the places of the links."""
    w = wp.tid()
    if not mask[w]:
        return
    for j in range(home.shape[0]):
        angle = home[j] + spread * (2.0 * chances[w, j] - 1.0)
        joints.angles[w, j] = angle
        joints.goals[w, j] = angle
        joints.speeds[w, j] = 0.0
        joints.rates[w, j] = 0.0
        joints.torques[w, j] = 0.0
    joints.wrenches[w] = wp.spatial_vector()
    joints.work[w] = wp.float64(0.0)
    joints.peaks[w] = 0.0
    tool_frame(arm, joints.goals, w, joints.frames)
    for k in range(links.count):
        put = put_body(k, w, links, joints)
        places_out[k, w] = wp.transform_get_translation(put)
        turns_out[k, w] = wp.transform_get_rotation(put)


@wp.kernel
def begin_action(joints: Joints):
    """The largest force of an action is at least that which it begins with."""
    w = wp.tid()
    joints.peaks[w] = wp.length(wp.spatial_top(joints.wrenches[w]))


@wp.kernel
def turn_joints(
    actions: wp.array2d[wp.float32],
    dt: float,
    arm: Arm,
    limits: Limits,
    # State:
    joints: Joints,
):
    """Choose where the joints will be after the next step."""
    w = wp.tid()
    most = limits.acceleration * dt
    for j in range(limits.lower.shape[0]):
        wish = actions[w, j] * limits.speed[j]
        speed = joints.speeds[w, j] + wp.clamp(wish - joints.speeds[w, j], -most, most)
        angle = joints.angles[w, j]
        goal = wp.clamp(angle + dt * speed, limits.lower[j], limits.upper[j])
        joints.goals[w, j] = goal
        joints.rates[w, j] = (goal - angle) / dt
    tool_frame(arm, joints.goals, w, joints.frames)


@wp.kernel
def drive(
    dt: float,
    links: Links,
    joints: Joints,
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # Velocity and spin of each body in the next step:
    command_out: wp.array2d[wp.float32],
):
    """Send a link to where the joints will be after the next step."""
    w, k = wp.tid()
    b = w * links.each + links.first + k
    put = put_body(k, w, links, joints)
    velocity = (wp.transform_get_translation(put) - places[b]) / dt
    spin = turn_between(turns[b], wp.transform_get_rotation(put)) / dt
    for axis in range(3):
        command_out[w, 6 * k + axis] = velocity[axis]
        command_out[w, 6 * k + 3 + axis] = spin[axis]


@wp.kernel
def account(
    dt: float,
    arm: Arm,
    limits: Limits,
    links: Links,
    places: wp.array[wp.vec3],
    velocities: wp.array[wp.vec3],
    spins: wp.array[wp.vec3],
    forces: wp.array[wp.vec3],
    torques: wp.array[wp.vec3],
    # State:
    joints: Joints,
):
    """After a step: the joints have arrived; their loads, and for all of them work and wrench on the bucket.

    A thread accounts for a joint of a world, and the two after the last for the work and for the wrench.
    """
    w, j = wp.tid()
    count = limits.lower.shape[0]
    share = dt / (limits.memory + dt)
    first = w * links.each + links.first
    if j < count:
        joints.angles[w, j] = joints.goals[w, j]
        joints.speeds[w, j] = joints.rates[w, j]
        load = float(0.0)
        for k in range(links.count):
            if links.frame_of[k] >= j:
                b = first + k
                column = joint_column(arm, joints.frames, w, j, places[b])
                load += wp.dot(column, wp.spatial_vector(forces[b], torques[b]))
        joints.torques[w, j] = joints.torques[w, j] + share * (load - joints.torques[w, j])
    elif j == count:
        work = wp.float64(0.0)
        for k in range(links.count):
            b = first + k
            power = wp.dot(forces[b], velocities[b]) + wp.dot(torques[b], spins[b])
            work -= wp.float64(power * dt)
        joints.work[w] = joints.work[w] + work
    else:
        bucket = first + links.count - 1
        arm_of = places[bucket] - wp.transform_get_translation(joints.frames[w, count])
        wrench = wp.spatial_vector(forces[bucket], torques[bucket] + wp.cross(arm_of, forces[bucket]))
        joints.wrenches[w] = joints.wrenches[w] + share * (wrench - joints.wrenches[w])
        joints.peaks[w] = wp.max(joints.peaks[w], wp.length(wp.spatial_top(joints.wrenches[w])))


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
