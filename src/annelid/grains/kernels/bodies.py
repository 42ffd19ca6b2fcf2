"""Bodies: the sum of what touches them, and their contacts with each other at points of their surface."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.allowances import body_speed
from annelid.grains.kernels.layout import (
    APPROACH,
    FASTEST,
    FLAGS,
    FREE,
    MARGIN,
    Bodies,
    Features,
    Lists,
    Parameters,
    contact_horizon,
    pull_in,
    reach_place,
)
from annelid.grains.kernels.sums import ContactSum, added, contact_sum
from annelid.grains.kernels.surfaces import surface_gap
from annelid.grains.kernels.touch import (
    NEAR,
    body_give,
    body_share,
    body_softness,
    clipped,
    predicted_share,
    rebound,
    start_of,
)
from annelid.shapes.kernels.gaps import CAPSULE, SPHERE
from annelid.shapes.kernels.surfaces import mixed

wp.set_module_options({"enable_backward": False})

BODY_BLOCK = 128
"""Threads that sum the contacts of a body on CUDA."""


@wp.func
def point_place(p: int, bodies: Bodies) -> wp.vec3:
    """Where a point of a body is [m]."""
    point = bodies.points[p]
    a = int(point[3])
    return bodies.places[a] + wp.quat_rotate(bodies.turns[a], wp.vec3(point[0], point[1], point[2]))


@wp.func
def point_radius(p: int, bodies: Bodies) -> float:
    """Radius around a point [m]: round bodies touch with balls, others with points."""
    geometry = bodies.forms[int(bodies.points[p][3])].geometry
    radius = float(0.0)
    if geometry.kind == wp.static(SPHERE) or geometry.kind == wp.static(CAPSULE):
        radius = geometry.size[0]
    return radius


@wp.func
def slanted_give(b: int, arm: wp.vec3, bodies: Bodies) -> float:
    """The most that a free body gives way at a point, in any direction [1/kg]."""
    return bodies.forms[b].inverse_mass + wp.dot(arm, arm) * bodies.forms[b].largest_inverse_inertia


@once
def point_contacts(features: Features) -> wp.Function:
    """Improve the impulses on point p by the other bodies of its world."""
    gap_of = surface_gap(features.kinds)
    bouncing, start, pull = features.bouncing, start_of(features), pull_in(features)

    @wp.func
    def pressed(
        p: int, a: int, b: int, final: int, old: wp.vec3, found: wp.vec4, gap: float, x: wp.vec3,
        parameters: Parameters, bodies: Bodies,
    ) -> wp.mat33:  # fmt: skip
        """The impulse on body a at point p by body b, what is expected of the next step, and the speed it changes."""
        dt = parameters.dt
        n = wp.vec3(found[0], found[1], found[2])
        contact = x - 0.5 * (point_radius(p, bodies) + found[3]) * n
        arm_a = contact - bodies.places[a]
        arm_b = contact - bodies.places[b]
        relative = bodies.forecast[a] + wp.cross(bodies.turning[a], arm_a)
        relative -= bodies.forecast[b] + wp.cross(bodies.turning[b], arm_b)
        normal = wp.dot(relative, n)
        give = body_give(a, arm_a, n, bodies)
        shared = body_share(a, bodies) * give
        slanted = body_share(a, bodies) * slanted_give(a, arm_a, bodies)
        soft = body_softness(a, give, bodies)
        fall = -wp.dot(pull(bodies.forms[a].world, parameters), n)
        if bodies.forms[b].motion == wp.static(FREE):
            give = body_give(b, arm_b, n, bodies)
            shared += body_share(b, bodies) * give
            slanted += body_share(b, bodies) * slanted_give(b, arm_b, bodies)
            soft = wp.max(soft, body_softness(b, give, bodies))
            fall = 0.0
        soft *= parameters.softness
        before = wp.dot(old, n)
        bias = gap / dt + soft * before
        if gap < 0.0:
            bias = parameters.correction * gap / dt + soft * before
        stiff = shared + soft
        mine = bodies.forms[a].surface
        theirs = bodies.forms[b].surface
        parting = parameters.release * wp.max(normal - parameters.calm_speed, 0.0)
        if wp.static(bouncing):
            speed = wp.dot(start(a, arm_a, parameters, bodies) - start(b, arm_b, parameters, bodies), n)
            if speed < -parameters.bounce_speed and gap + dt * speed < 0.0:
                bias = -rebound(speed, gap, fall, wp.sqrt(mine[1] * theirs[1]), dt)
                stiff = shared
                parting = 0.0
        push = wp.max(before - 1.0 / stiff * (normal + bias + parting), 0.0)
        slide = 1.0 / (slanted + 3.5 * soft)
        rub = clipped(old - before * n - slide * (relative - normal * n), mixed(mine[0], theirs[0]) * push)
        new = push * n + rub
        if push == 0.0 and (
            gap < parameters.near * parameters.radius or gap + wp.static(contact_horizon(True)) * dt * normal < 0.0
        ):
            new = wp.static(NEAR) * n
        share = float(1.0)
        if final == 1:
            share = predicted_share(push, before, bodies.forms[a].inverse_mass, parameters)
        change = stiff * wp.abs(push - before)
        return wp.mat33(new[0], new[1], new[2], share * new[0], share * new[1], share * new[2], change, 0.0, 0.0)

    @wp.func
    def press(p: int, final: int, parameters: Parameters, lists: Lists, bodies: Bodies) -> float:
        """The speed that it changes by most [m/s]."""
        most = float(0.0)
        a = int(bodies.points[p][3])
        world = bodies.forms[a].world
        first = bodies.first_of_world[world]
        x = point_place(p, bodies)
        usual = lists.reach[reach_place(wp.static(MARGIN), world)]
        for b in range(first, bodies.first_of_world[world + 1]):
            # Lists of a bed do not know of bodies that are far from it, which may meet each other.
            fastest = wp.max(body_speed(a, bodies), body_speed(b, bodies))
            margin = wp.max(usual, wp.static(APPROACH) * parameters.dt * fastest)
            reach = margin + point_radius(p, bodies)
            at = p * bodies.point_places + b - first
            new = wp.mat33()
            close = b != a
            if close and bodies.forms[b].reach > 0.0:
                close = wp.length(x - bodies.places[b]) < bodies.forms[b].reach + reach
            if close:
                found = gap_of(b, x, bodies)
                gap = found[3] - point_radius(p, bodies)
                if gap < margin:
                    new = pressed(p, a, b, final, bodies.point_predicted[at], found, gap, x, parameters, bodies)
            bodies.point_impulses[at] = new[0]
            bodies.point_predicted[at] = new[1]
            most = wp.max(most, new[2][0])
        return most

    return press


@once
def body_total(features: Features) -> wp.Function:
    """A function `(b, start, stride, ...) -> ContactSum`: a share of the contacts of a body."""
    gap_of = surface_gap(features.kinds)
    points = features.points
    rolls = features.rolling and features.method == "nonsmooth"

    @wp.func
    def total(b: int, start: int, stride: int, lists: Lists, bodies: Bodies) -> ContactSum:
        sums = ContactSum()
        center = bodies.places[b]
        for k in range(bodies.touched_first[b] + start, bodies.touched_first[b + 1], stride):
            at = bodies.touched[k]
            impulse = lists.body_impulses[at]
            if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
                arm = lists.body_spots[at] - center
                predicted = lists.body_predicted[at]
                turn = wp.cross(arm, impulse)
                later = wp.cross(arm, predicted)
                if wp.static(rolls):
                    turn += lists.body_rollings[at]
                    later += lists.body_rollings[at]
                sums = added(sums, contact_sum(-impulse, -turn, -predicted, -later, 1.0, 0.0))
        if wp.static(points):
            world = bodies.forms[b].world
            first = bodies.first_of_world[world]
            others = bodies.first_of_world[world + 1] - first
            for p in range(start, bodies.points.shape[0], stride):
                a = int(bodies.points[p][3])
                if bodies.forms[a].world == world:
                    x = point_place(p, bodies)
                    for k in range(others):
                        if a == b or first + k == b:
                            impulse = bodies.point_impulses[p * bodies.point_places + k]
                            predicted = bodies.point_predicted[p * bodies.point_places + k]
                            if a != b:
                                impulse = -impulse
                                predicted = -predicted
                            if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
                                found = gap_of(first + k, x, bodies)
                                n = wp.vec3(found[0], found[1], found[2])
                                contact = x - 0.5 * (point_radius(p, bodies) + found[3]) * n
                                turn = wp.cross(contact - center, impulse)
                                later = wp.cross(contact - center, predicted)
                                sums = added(sums, contact_sum(impulse, turn, predicted, later, 1.0, 0.0))
        return sums

    return total


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    __shared__ float sums[128 * 17];  // no two threads side by side in one bank
    for (int c = 0; c < 16; ++c) sums[threadIdx.x * 17 + c] = value.data[c / 4][c % 4];
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) {
        if (threadIdx.x < half)
            for (int c = 0; c < 16; ++c) sums[threadIdx.x * 17 + c] += sums[(threadIdx.x + half) * 17 + c];
        __syncthreads();
    }
    wp::mat_t<4, 4, wp::float32> out;
    for (int c = 0; c < 16; ++c) out.data[c / 4][c % 4] = sums[c];
    return out;
#else
    return value;
#endif
"""
)
def block_total(value: wp.mat44) -> wp.mat44:
    """Sum over the threads of a block, in a fixed order; every thread gets it."""


@wp.kernel(module="unique", enable_backward=False)
def note_speeds(lists: Lists, bodies: Bodies):
    b = wp.tid()
    world = bodies.forms[b].world
    if lists.flags[wp.static(FLAGS) + world] == 1:
        wp.atomic_max(lists.reach, reach_place(wp.static(FASTEST), world), body_speed(b, bodies))
