"""The bulldozer: track steering of a driven body, its eye, its reward, and what it knows of itself."""

import warp as wp

from annelid.envs.kernels.soil import SHARES
from annelid.view.camera.kernels.rays import Eye

wp.set_module_options({"enable_backward": False})


@wp.func
def yaw_of(turn: wp.quat) -> float:
    """Angle about z of a body that stands upright [rad]."""
    ahead = wp.quat_rotate(turn, wp.vec3(1.0, 0.0, 0.0))
    return wp.atan2(ahead[1], ahead[0])


@wp.func
def about_z(angle: float, v: wp.vec3) -> wp.vec3:
    c = wp.cos(angle)
    s = wp.sin(angle)
    return wp.vec3(c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])


@wp.func
def pose_of(b: int, middle: wp.vec3, places: wp.array[wp.vec3], turns: wp.array[wp.quat]) -> wp.vec3:
    """Where the middle of the tracks is, x and y [m], and the heading [rad]."""
    yaw = yaw_of(turns[b])
    foot = places[b] - about_z(yaw, middle)
    return wp.vec3(foot[0], foot[1], yaw)


@wp.kernel
def stand(
    chances: wp.array2d[wp.float32],  # from 0 to 1
    middle: wp.vec3,
    low: wp.vec3,  # x, y [m] and heading [rad] that episodes begin with, at least
    high: wp.vec3,
    # Out:
    place_out: wp.array[wp.vec3],
    turn_out: wp.array[wp.quat],
):
    """Where the seed says that the machine begins."""
    w = wp.tid()
    x = low[0] + (high[0] - low[0]) * chances[w, 0]
    y = low[1] + (high[1] - low[1]) * chances[w, 1]
    yaw = low[2] + (high[2] - low[2]) * chances[w, 2]
    place_out[w] = wp.vec3(x, y, 0.0) + about_z(yaw, middle)
    turn_out[w] = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), yaw)


@wp.kernel
def steer(
    actions: wp.array2d[wp.float32],
    each: int,  # bodies of a world
    number: int,  # the machine among them
    middle: wp.vec3,
    speed: float,  # largest [m/s]
    spin: float,  # largest [rad/s]
    dt: float,
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # Out:
    command_out: wp.array2d[wp.float32],
):
    """Velocity along x and y and spin about z that lead, in a step, along the arc that the tracks draw."""
    w = wp.tid()
    b = w * each + number
    pose = pose_of(b, middle, places, turns)
    turn = spin * actions[w, 1] * dt
    way = speed * actions[w, 0] * dt
    ahead = pose[2] + 0.5 * turn
    x = pose[0] + way * wp.cos(ahead)
    y = pose[1] + way * wp.sin(ahead)
    goal = wp.vec3(x, y, 0.0) + about_z(pose[2] + turn, middle)
    velocity = (goal - places[b]) / dt
    command_out[w, 0] = velocity[0]
    command_out[w, 1] = velocity[1]
    command_out[w, 2] = turn / dt


@wp.kernel
def look_ahead(
    each: int,
    number: int,
    seat: wp.vec3,  # the eye about the centre of the body [m]
    target: wp.vec3,  # what it looks at
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # State:
    eyes: wp.array[Eye],
):
    """The camera moves with the machine."""
    w = wp.tid()
    b = w * each + number
    eye = eyes[w]
    forward = wp.normalize(wp.quat_rotate(turns[b], target - seat))
    right = wp.normalize(wp.cross(forward, wp.vec3(0.0, 0.0, 1.0)))
    eye.position = places[b] + wp.quat_rotate(turns[b], seat)
    eye.forward = forward
    eye.right = right
    eye.up = wp.cross(right, forward)
    eyes[w] = eye


@wp.kernel
def share_reward(
    points: wp.array[wp.vec3],
    grains: int,  # of a world
    low: wp.vec3,
    high: wp.vec3,
    # Out:
    share_out: wp.array2d[wp.vec2d],
):
    """Reward of a share of the grains: 100 for each in the goal, less its distance outside [m]; and how many are in."""
    w, s = wp.tid()
    each = (grains + wp.static(SHARES - 1)) // wp.static(SHARES)
    total = wp.vec2d()
    for k in range(s * each, wp.min((s + 1) * each, grains)):
        x = points[w * grains + k]
        away = wp.vec3(
            x[0] - wp.clamp(x[0], low[0], high[0]),
            x[1] - wp.clamp(x[1], low[1], high[1]),
            x[2] - wp.clamp(x[2], low[2], high[2]),
        )
        distance = wp.float64(wp.length(away))
        if distance == wp.float64(0.0):
            total += wp.vec2d(wp.float64(100.0), wp.float64(1.0))
        else:
            total += wp.vec2d(-distance, wp.float64(0.0))
    share_out[w, s] = total


@wp.kernel
def judge(
    shares: wp.array2d[wp.vec2d],
    grains: int,
    each: int,
    number: int,
    middle: wp.vec3,
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # Out:
    worth_out: wp.array[wp.float32],
    delivered_out: wp.array[wp.float32],
    pose_out: wp.array[wp.vec3],
):
    """Reward of a world, the part of its grains in the goal, and the pose of its machine."""
    w = wp.tid()
    total = wp.vec2d()
    for s in range(wp.static(SHARES)):
        total += shares[w, s]
    worth_out[w] = wp.float32(total[0] / wp.float64(grains))
    delivered_out[w] = wp.float32(total[1] / wp.float64(grains))
    pose_out[w] = pose_of(w * each + number, middle, places, turns)


@wp.kernel
def has_left(half: wp.vec2, poses: wp.array[wp.vec3], truncated_out: wp.array[wp.bool]):
    """Whether a machine is beyond the field, whose half is given [m]."""
    w = wp.tid()
    truncated_out[w] = wp.abs(poses[w][0]) > half[0] or wp.abs(poses[w][1]) > half[1]


@wp.kernel
def know_self(
    mask: wp.array[wp.bool],
    seconds: float,  # of an action
    steps: wp.array[wp.int32],
    poses: wp.array[wp.vec3],
    # Out:
    pose_out: wp.array2d[wp.float32],
    time_out: wp.array2d[wp.float32],
):
    w = wp.tid()
    if not mask[w]:
        return
    for c in range(3):
        pose_out[w, c] = poses[w][c]
    time_out[w, 0] = seconds * float(steps[w])
