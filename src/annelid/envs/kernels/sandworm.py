"""The worm in sand: strain and contact of each segment are felt, distance along x is rewarded."""

import warp as wp

wp.set_module_options({"enable_backward": False})

FELT = 6
"""Numbers a segment: strain along and across the worm, contact force along x, y, z, swelling."""

GENERAL = 3
"""Numbers besides: the velocity of the whole."""


@wp.struct
class Anatomy:
    """What each segment of a worm is made of; numbers of masses, springs and surface masses are those of one world."""

    masses: wp.int32  # of a world
    surface: wp.int32  # surface masses of a world
    segments: wp.int32
    first_spring: wp.array2d[wp.int32]  # of those along and across each segment, shape [2, segments + 1]
    ends: wp.array[wp.vec2i]  # masses of each spring
    rest_lengths: wp.array[wp.float32]  # [m]
    first_member: wp.array[wp.int32]  # of each segment, shape [segments + 1]
    members: wp.array[wp.int32]  # surface masses, segment by segment


@wp.kernel
def survey(
    anatomy: Anatomy,
    positions: wp.array[wp.vec4],
    velocities: wp.array[wp.vec3],
    # Out:
    place_out: wp.array[wp.vec3d],
    velocity_out: wp.array[wp.vec3d],
):
    """Mean place [m] and velocity [m/s] of each worm."""
    w = wp.tid()
    x = wp.vec3d()
    v = wp.vec3d()
    for m in range(w * anatomy.masses, (w + 1) * anatomy.masses):
        p = positions[m]
        x += wp.vec3d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2]))
        v += wp.vec3d(velocities[m])
    share = wp.float64(1.0) / wp.float64(anatomy.masses)
    place_out[w] = share * x
    velocity_out[w] = share * v


@wp.kernel
def way(
    length: float,  # of the worm [m]
    places: wp.array[wp.vec3d],
    before: wp.array[wp.vec3d],
    # Out:
    reward_out: wp.array[wp.float32],
):
    """The way of the middle along x, in lengths of the worm."""
    w = wp.tid()
    reward_out[w] = wp.float32((places[w][0] - before[w][0]) / wp.float64(length))


@wp.kernel
def feel(
    mask: wp.array[wp.bool],
    weight: float,  # of the worm [N]
    anatomy: Anatomy,
    positions: wp.array[wp.vec4],
    contact_forces: wp.array[wp.vec3],
    commands: wp.array[wp.vec4d],
    # Out:
    observation_out: wp.array2d[wp.float32],
):
    """Strain, contact force over the weight of the worm, and swelling of each segment."""
    w, k = wp.tid()
    if not mask[w]:
        return
    place = wp.static(FELT) * k
    for way in range(2):
        sum = float(0.0)
        for s in range(anatomy.first_spring[way, k], anatomy.first_spring[way, k + 1]):
            a = positions[w * anatomy.masses + anatomy.ends[s][0]]
            b = positions[w * anatomy.masses + anatomy.ends[s][1]]
            sum += wp.length(wp.vec3(a[0] - b[0], a[1] - b[1], a[2] - b[2])) / anatomy.rest_lengths[s] - 1.0
        count = anatomy.first_spring[way, k + 1] - anatomy.first_spring[way, k]
        observation_out[w, place + way] = finite(sum / float(wp.max(count, 1)))
    force = wp.vec3()
    for s in range(anatomy.first_member[k], anatomy.first_member[k + 1]):
        force += contact_forces[w * anatomy.surface + anatomy.members[s]]
    for axis in range(3):
        observation_out[w, place + 2 + axis] = finite(force[axis] / weight)
    observation_out[w, place + 5] = float(commands[w * anatomy.segments + k][1] - wp.float64(1.0))


@wp.kernel
def show_motion(
    mask: wp.array[wp.bool],
    length: float,
    anatomy: Anatomy,
    velocities: wp.array[wp.vec3d],
    # Out:
    observation_out: wp.array2d[wp.float32],
):
    """The velocity of the whole, in lengths of the worm a second."""
    w = wp.tid()
    if mask[w]:
        for axis in range(3):
            speed = wp.float32(velocities[w][axis]) / length
            observation_out[w, wp.static(FELT) * anatomy.segments + axis] = finite(speed)


@wp.func
def finite(value: float) -> float:
    """The value, or 0 where it is none."""
    out = value
    if not wp.isfinite(out):
        out = 0.0
    return out
