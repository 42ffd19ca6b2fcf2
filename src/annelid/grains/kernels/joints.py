"""Joints of robots whose links are driven bodies: where their links go until the next command."""

import warp as wp

from annelid.core.kernels.controls import held

wp.set_module_options({"enable_backward": False})


@wp.struct
class Ways:
    """Ways from the world to the parts of a robot; see `shapes.articulated.chains`."""

    firsts: wp.array[wp.int32]  # where the joints on the way to each part begin, [parts + 1]
    frames: wp.array[wp.transformd]
    axes: wp.array[wp.vec3d]
    slides: wp.array[wp.int32]
    leaders: wp.array[wp.int32]
    factors: wp.array[wp.float64]
    offsets: wp.array[wp.float64]
    tails: wp.array[wp.transformd]  # from the last joint to the axes of inertia of each part
    bodies: wp.array[wp.int32]  # number of each part among the bodies of a world
    body_count: wp.int32  # bodies of a world


@wp.kernel(enable_backward=False)
def advance_joints(
    columns: wp.array[wp.int32],  # channels of the joints among those of a world
    channel_count: int,
    first: int,  # of these joints among those of a world
    joint_count: int,
    lows: wp.array[wp.float64],
    highs: wp.array[wp.float64],
    seconds: wp.float64,
    clock: wp.array[wp.int64],
    commands: wp.array[wp.vec4d],
    # State in and out:
    joints: wp.array[wp.vec3d],
):
    """Where joints will be after the next interval, within their limits; the second time at one step it is the same."""
    world, j = wp.tid()
    row = world * joint_count + first + j
    now = wp.float64(clock[0])
    begin = joints[row][1]
    if joints[row][2] == now:
        begin = joints[row][0]
    speed = held(commands[world * channel_count + columns[j]], now)
    end = wp.min(wp.max(begin + seconds * speed, lows[j]), highs[j])
    joints[row] = wp.vec3d(begin, end, now)


@wp.func
def place_of(ways: Ways, part: int, joints: wp.array[wp.vec3d], row: int) -> wp.transformd:
    """Frame of the axes of inertia of a part at the end of the interval."""
    frame = wp.transformd(wp.vec3d(), wp.quatd(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.float64(1.0)))
    for k in range(ways.firsts[part], ways.firsts[part + 1]):
        value = ways.factors[k] * joints[row + ways.leaders[k]][1] + ways.offsets[k]
        shift = wp.vec3d()
        turn = wp.quatd(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.float64(1.0))
        if ways.slides[k] == 1:
            shift = value * ways.axes[k]
        else:
            turn = wp.quat_from_axis_angle(ways.axes[k], value)
        frame = wp.transform_multiply(wp.transform_multiply(frame, ways.frames[k]), wp.transformd(shift, turn))
    return wp.transform_multiply(frame, ways.tails[part])


@wp.func
def turned_by(before: wp.quatd, after: wp.quatd) -> wp.vec3d:
    """The smallest rotation from one frame to another, as a vector [rad]."""
    change = wp.mul(after, wp.quat_inverse(before))
    axis, cosine = wp.vec3d(change[0], change[1], change[2]), change[3]
    if cosine < wp.float64(0.0):
        axis, cosine = -axis, -cosine
    sine = wp.length(axis)
    factor = wp.float64(2.0)  # of very small rotations
    if sine > wp.float64(1.0e-12):
        factor = wp.float64(2.0) * wp.atan2(sine, cosine) / sine
    return factor * axis


@wp.kernel(enable_backward=False)
def drive_links(
    ways: Ways,
    first: int,
    joint_count: int,
    seconds: wp.float64,
    joints: wp.array[wp.vec3d],
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    drives_out: wp.array[wp.vec3],
    forecast_out: wp.array[wp.vec3],
    turning_out: wp.array[wp.vec3],
):
    """Send parts evenly from where they are to where the joints take them: what rounding does to them is made good."""
    world, part = wp.tid()
    row, b = world * joint_count + first, world * ways.body_count + ways.bodies[part]
    after = place_of(ways, part, joints, row)
    way = wp.transform_get_translation(after) - wp.vec3d(places[b])
    turn = turned_by(wp.normalize(wp.quatd(turns[b])), wp.transform_get_rotation(after))
    velocity, spin = wp.vec3(way / seconds), wp.vec3(turn / seconds)
    drives_out[2 * b] = velocity
    drives_out[2 * b + 1] = spin
    forecast_out[b] = velocity
    turning_out[b] = spin


@wp.kernel(enable_backward=False)
def read_joints(
    first: int,
    joint_count: int,
    steps: wp.float64,
    clock: wp.array[wp.int64],
    joints: wp.array[wp.vec3d],
    column: int,
    readings_out: wp.array2d[wp.float32],
):
    """Where joints are now; at the end of an interval until the next begins."""
    world, j = wp.tid()
    interval = joints[world * joint_count + first + j]
    part = wp.min((wp.float64(clock[0]) - interval[2]) / steps, wp.float64(1.0))
    readings_out[world, column + j] = wp.float32(interval[0] + part * (interval[1] - interval[0]))
