"""The pneumatic quadruped: limbs are surveyed, distance along x is rewarded."""

import warp as wp

wp.set_module_options({"enable_backward": False})

PARTS = 6
"""The whole body, the spine, and the limbs: front left, front right, hind left, hind right."""

LIMBS = 5

OBSERVED = 3 * LIMBS + 3 * LIMBS + 3 + 3 + 1 + LIMBS
"""Places and velocities of the limbs, velocity of the centre, the body's upward axis, height, pressures."""


@wp.kernel
def survey(
    each: int,
    first: wp.array[wp.int32],  # of the members of each part
    members: wp.array[wp.int32],  # masses of a world
    positions: wp.array[wp.vec4],
    velocities: wp.array[wp.vec3],
    # Out:
    place_out: wp.array2d[wp.vec3d],
    velocity_out: wp.array2d[wp.vec3d],
):
    """Mean place [m] and velocity [m/s] of each part."""
    w, part = wp.tid()
    x = wp.vec3d()
    v = wp.vec3d()
    for m in range(first[part], first[part + 1]):
        i = w * each + members[m]
        p = positions[i]
        x += wp.vec3d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2]))
        v += wp.vec3d(velocities[i])
    share = wp.float64(1.0) / wp.float64(first[part + 1] - first[part])
    place_out[w, part] = share * x
    velocity_out[w, part] = share * v


@wp.func
def axes_of(places: wp.array2d[wp.vec3d], w: int) -> wp.mat33d:
    """Unit vectors ahead, to the left and up, in the rows."""
    front = places[w, 2] + places[w, 3]
    hind = places[w, 4] + places[w, 5]
    left = places[w, 2] + places[w, 4] - places[w, 3] - places[w, 5]
    ahead = wp.normalize(front - hind)
    up = wp.normalize(wp.cross(ahead, left))
    side = wp.cross(up, ahead)
    return wp.matrix_from_rows(ahead, side, up)


@wp.kernel
def way(
    length: float,  # of the body [m]
    places: wp.array2d[wp.vec3d],
    before: wp.array2d[wp.vec3d],
    # Out:
    reward_out: wp.array[wp.float32],
):
    """The way of the centre along x, in lengths of the body."""
    w = wp.tid()
    reward_out[w] = wp.float32((places[w, 0][0] - before[w, 0][0]) / wp.float64(length))


@wp.kernel
def lies(places: wp.array2d[wp.vec3d], terminated_out: wp.array[wp.bool]):
    """Whether a body lies on its back."""
    w = wp.tid()
    terminated_out[w] = not axes_of(places, w)[2, 2] > wp.float64(0.0)


@wp.kernel
def show(
    mask: wp.array[wp.bool],
    length: float,
    places: wp.array2d[wp.vec3d],
    velocities: wp.array2d[wp.vec3d],
    commands: wp.array[wp.vec4d],
    # Out:
    observation_out: wp.array2d[wp.float32],
):
    """Limbs as the body sees them, in its lengths and lengths a second; its own motion, posture and pressures."""
    w = wp.tid()
    if not mask[w]:
        return
    axes = axes_of(places, w)
    scale = wp.float64(1.0) / wp.float64(length)
    for k in range(wp.static(LIMBS)):
        x = scale * (axes * (places[w, 1 + k] - places[w, 0]))
        v = scale * (axes * (velocities[w, 1 + k] - velocities[w, 0]))
        for c in range(3):
            observation_out[w, 3 * k + c] = finite(x[c])
            observation_out[w, wp.static(3 * LIMBS) + 3 * k + c] = finite(v[c])
        pressure = commands[w * wp.static(LIMBS) + k][1] - wp.float64(1.0)
        observation_out[w, wp.static(OBSERVED - LIMBS) + k] = finite(pressure)
    motion = scale * (axes * velocities[w, 0])
    for c in range(3):
        observation_out[w, wp.static(6 * LIMBS) + c] = finite(motion[c])
        observation_out[w, wp.static(6 * LIMBS + 3) + c] = finite(axes[2, c])
    observation_out[w, wp.static(6 * LIMBS + 6)] = finite(scale * places[w, 0][2])


@wp.func
def finite(value: wp.float64) -> float:
    """The value, or 0 where it is none."""
    out = wp.float32(value)
    if not wp.isfinite(out):
        out = 0.0
    return out
