"""Arms in soil: joints follow commands, links and bucket follow the joints, and what pushes them is accounted for.

These kernels run between any two steps of grains that take microseconds. Loops that load much and compute little are as
long for every arm: the compiler unrolls them, and all loads of a thread are under way at the same time.
"""

import warp as wp

from annelid.core.kernels.controls import Channels, command_channel
from annelid.envs.machines.kernels import Arm, joint_motion, tool_frame

wp.set_module_options({"enable_backward": False})

MOST_JOINTS = 8
"""Joints that an arm may have."""

vec_joints = wp.types.vector(length=MOST_JOINTS, dtype=wp.float32)


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
    """Bodies that belong to the arm, in each world: one for the frame of each joint, and the bucket for the tool."""

    first: wp.int32  # number of the first among the bodies of a world
    count: wp.int32
    each: wp.int32  # bodies of a world
    middles: wp.array[wp.vec3]  # centre of each in its frame [m]


@wp.func
def turn_between(now: wp.quat, goal: wp.quat) -> wp.vec3:
    """Rotation vector from one turn to another [rad]; they are close."""
    way = goal * wp.quat_inverse(now)
    sign = wp.where(way[3] < 0.0, -2.0, 2.0)
    return sign * wp.vec3(way[0], way[1], way[2])


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
        frame = joints.frames[w, k]
        places_out[k, w] = wp.transform_point(frame, links.middles[k])
        turns_out[k, w] = wp.transform_get_rotation(frame)


@wp.kernel
def begin_action(joints: Joints):
    """The largest force of an action is at least that which it begins with."""
    w = wp.tid()
    joints.peaks[w] = wp.length(wp.spatial_top(joints.wrenches[w]))


@wp.kernel
def steer(
    actions: wp.array2d[wp.float32],
    dt: float,
    arm: Arm,
    limits: Limits,
    links: Links,
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # State:
    joints: Joints,
    channels: Channels,  # velocity and spin of each link
):
    """Choose where the joints will be after the next step, and send the links there.

    A thread follows the whole chain for one number that a link is given: that is quicker than another launch, which
    waits for the frames, and than commanding one after the other.
    """
    w, k, n = wp.tid()
    count = limits.lower.shape[0]
    most = limits.acceleration * dt
    goals = vec_joints()
    for j in range(wp.static(MOST_JOINTS)):
        if j < count:
            wish = actions[w, j] * limits.speed[j]
            speed = joints.speeds[w, j] + wp.clamp(wish - joints.speeds[w, j], -most, most)
            angle = joints.angles[w, j]
            goals[j] = wp.clamp(angle + dt * speed, limits.lower[j], limits.upper[j])
            if j == k and n == 0:
                joints.goals[w, j] = goals[j]
                joints.rates[w, j] = (goals[j] - angle) / dt
    frame = wp.transform_identity()
    joint = int(0)
    while joint < wp.min(k + 1, count):  # not unrolled: fetching as many copies of this code would take longer
        frame = frame * arm.offsets[joint] * joint_motion(arm, joint, goals[joint])
        joint += 1
    if k == count:
        frame = frame * arm.tool
    if n == 0:
        joints.frames[w, k] = frame
    b = w * links.each + links.first + k
    velocity = (wp.transform_point(frame, links.middles[k]) - places[b]) / dt
    spin = turn_between(turns[b], wp.transform_get_rotation(frame)) / dt
    value = spin[wp.max(n - 3, 0)]
    if n < 3:
        value = velocity[n]
    command_channel(channels, w, 6 * k + n, wp.float64(value), wp.float64(0.0))


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
        frame = joints.frames[w, j]
        axis = wp.transform_vector(frame, arm.axes[j])
        origin = wp.transform_get_translation(frame)
        slides = arm.sliding[j] != 0
        load = float(0.0)
        for k in range(wp.static(MOST_JOINTS + 1)):
            b = first + wp.min(k, links.count - 1)
            along = axis
            about = wp.vec3()
            if not slides:
                along = wp.cross(axis, places[b] - origin)
                about = axis
            part = wp.dot(along, forces[b]) + wp.dot(about, torques[b])
            load += wp.where(k >= j and k < links.count, part, 0.0)
        joints.torques[w, j] = joints.torques[w, j] + share * (load - joints.torques[w, j])
    elif j == count:
        work = wp.float64(0.0)
        for k in range(wp.static(MOST_JOINTS + 1)):
            b = first + wp.min(k, links.count - 1)
            power = wp.dot(forces[b], velocities[b]) + wp.dot(torques[b], spins[b])
            work -= wp.float64(wp.where(k < links.count, power * dt, 0.0))
        joints.work[w] = joints.work[w] + work
    else:
        bucket = first + links.count - 1
        arm_of = places[bucket] - wp.transform_get_translation(joints.frames[w, count])
        wrench = wp.spatial_vector(forces[bucket], torques[bucket] + wp.cross(arm_of, forces[bucket]))
        joints.wrenches[w] = joints.wrenches[w] + share * (wrench - joints.wrenches[w])
        joints.peaks[w] = wp.max(joints.peaks[w], wp.length(wp.spatial_top(joints.wrenches[w])))
