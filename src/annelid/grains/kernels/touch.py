"""Contacts of one grain with the bodies that are close to it."""

import functools

import warp as wp

from annelid.grains.kernels.layout import (
    CHANGE,
    FINEST_IMPACT,
    FREE,
    IMPACT,
    MARGIN,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    ahead,
    reach_place,
    vec14,
    world_of,
)
from annelid.grains.kernels.surfaces import surface_gap

wp.set_module_options({"enable_backward": False})


@wp.func
def body_give(b: int, arm: wp.vec3, direction: wp.vec3, bodies: Bodies) -> float:
    """Inverse mass of a free body along a direction at a point [1/kg]."""
    turn = bodies.turns[b]
    lever = wp.quat_rotate_inv(turn, wp.cross(arm, direction))
    return bodies.forms[b].inverse_mass + wp.dot(lever, bodies.forms[b].inverse_inertia * lever)


@wp.func
def clipped(v: wp.vec3, most: float) -> wp.vec3:
    """A vector, shortened to a length if it is longer."""
    square = wp.dot(v, v)
    out = v
    if square > most * most:
        out = v * (most / wp.sqrt(square + 1.0e-36))
    return out


NEAR = 1.0e-30
"""Impulse [N s] of a contact that is close and does not push yet: too small to move anything, but it counts."""

_CONTACTS_OF_A_GRAIN = 12.0


@wp.func
def body_share(b: int, bodies: Bodies) -> float:
    """Contacts that the mass of a body is split among."""
    return wp.max(bodies.contacts[b], 1.0)


@wp.func
def start_of(b: int, arm: wp.vec3, parameters: Parameters, bodies: Bodies) -> wp.vec3:
    """Velocity of a point of a body in this step, before anything touches it [m/s]."""
    velocity = bodies.forecast[b] + wp.cross(bodies.turning[b], arm)
    if bodies.forms[b].motion == wp.static(FREE):
        velocity = bodies.velocities[b] + parameters.dt * parameters.gravity + wp.cross(bodies.spins[b], arm)
    return velocity


@wp.func
def body_softness(b: int, give: float, bodies: Bodies) -> float:
    """Inverse mass that sets the softness of a contact of a free body.

    What many contacts bear together must not be stiffer than what a grain has around it, or a body would shiver.
    """
    return give * wp.max(bodies.contacts[b] / wp.static(_CONTACTS_OF_A_GRAIN), 1.0)


@wp.func
def predicted_share(push: float, before: float, inverse_mass: float, parameters: Parameters) -> float:
    """Share of an impulse that is expected to come again: all of one that grew slowly, not that of a blow."""
    calm = 2.0 * wp.max(before, 0.0) + parameters.calm_speed / inverse_mass
    return wp.min(calm / wp.max(push, 1.0e-30), 1.0)


@wp.func
def rebound(normal: float, gap: float, fall: float, restitution: float, dt: float) -> float:
    """Speed after an impact at the speed -normal, a gap before contact, under an acceleration `fall` towards it [m/s].

    In steps of dt a fall through h ends with v² = 2 f h + f v dt, and a rise that begins with v reaches
    v²/2f + v dt/2. The speed is such that the height reached is e² times that of the fall, whatever the step.
    """
    square = restitution * restitution * (normal * normal + fall * (dt * normal + 2.0 * gap)) - 2.0 * fall * gap
    half = 0.5 * fall * dt
    return wp.max(wp.sqrt(wp.max(half * half + square, 0.0)) - half, 0.0)


@functools.cache
def body_impulses(features: Features) -> wp.Function:
    """A function `(i, final, parameters, grains, lists, bodies) -> vec14`: sums over the bodies close to grain i."""
    gap_of = surface_gap(features.kinds)
    bouncing, rolls, cohesive = features.bouncing, features.rolling, features.cohesive
    horizon = ahead(bouncing or features.free)
    sizes, materials, guests = features.sizes, features.materials, features.guests
    world = world_of(features)

    @wp.func
    def touch(i: int, final: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies) -> vec14:
        total = vec14()
        here = grains.positions[i]
        x = wp.vec3(here[0], here[1], here[2])
        motion = grains.forecast[i]
        turning = grains.turning[i]
        velocity = wp.vec3(motion[0], motion[1], motion[2])
        spin = wp.vec3(turning[0], turning[1], turning[2])
        radius = parameters.radius
        inverse_mass = parameters.inverse_mass
        if wp.static(sizes):
            radius = motion[3]
            inverse_mass = turning[3]
        light = inverse_mass
        guest = bool(False)
        if wp.static(guests):
            light = wp.min(inverse_mass, parameters.lightest)
            guest = grains.names[i][0] >= parameters.first_guest
        own = wp.vec4(parameters.friction, parameters.restitution, parameters.rolling, parameters.cohesion)
        if wp.static(materials):
            own = grains.surfaces[i]
        dt = parameters.dt
        margin = lists.reach[reach_place(wp.static(MARGIN), world(i, grains))]
        contacts = here[3]
        impacts = float(0.0)
        start = velocity  # without what sweeps of this step have done to it
        if wp.static(bouncing):
            parts = wp.floor(contacts / wp.static(float(IMPACT)))
            contacts -= wp.static(float(IMPACT)) * parts
            impacts = wp.static(FINEST_IMPACT) * parts
            then = grains.starts[i]
            start = wp.vec3(then[0], then[1], then[2]) + dt * parameters.gravity
            if guest:
                start -= dt * parameters.gravity
        count = lists.counts[i]
        for k in range(count[1]):
            at = i * lists.body_places + k
            b = lists.bodies[at]
            found = gap_of(b, x, bodies)
            n = wp.vec3(found[0], found[1], found[2])
            gap = found[3] - radius
            old = lists.body_predicted[at]
            new = wp.vec3()
            kept = wp.vec3()
            roll = wp.vec3()
            if gap < margin:
                theirs = bodies.forms[b].surface
                friction = wp.sqrt(own[0] * theirs[0])
                contact = x - (radius + 0.5 * gap) * n  # the middle of the gap
                arm = contact - bodies.places[b]
                lever = radius + 0.5 * gap
                relative = velocity - lever * wp.cross(spin, n)
                relative -= bodies.forecast[b] + wp.cross(bodies.turning[b], arm)
                normal = wp.dot(relative, n)
                shared = wp.max(contacts, 1.0) * inverse_mass
                slanted = 3.5 * shared
                soft = parameters.softness * light
                fall = -wp.dot(parameters.gravity, n)
                if bodies.forms[b].motion == wp.static(FREE):
                    split = body_share(b, bodies)
                    give = body_give(b, arm, n, bodies)
                    shared += split * give
                    slanted += split * (
                        bodies.forms[b].inverse_mass + wp.dot(arm, arm) * bodies.forms[b].largest_inverse_inertia
                    )
                    soft = wp.max(soft, parameters.softness * body_softness(b, give, bodies))
                    fall = 0.0
                before = wp.dot(old, n)
                bias = gap / dt + soft * before
                if gap < 0.0:
                    bias = parameters.correction * gap / dt + soft * before
                if guest or bodies.forms[b].motion == wp.static(FREE):  # as between grains and guests
                    bias += 0.1 * wp.min(gap + 0.1 * parameters.smallest, 0.0) / dt
                pull = float(0.0)
                stiff = shared + soft
                if wp.static(cohesive):
                    if gap < 0.02 * radius:
                        pull = wp.sqrt(own[3] * theirs[3]) * dt
                        bias = parameters.correction * gap / dt + soft * before
                parting = parameters.release * wp.max(normal - parameters.calm_speed, 0.0)
                foreseen = float(0.0)
                if wp.static(bouncing):  # as among grains
                    coming = wp.dot(start - start_of(b, arm, parameters, bodies), n)
                    impact = coming < -parameters.bounce_speed and gap + dt * coming < 0.0
                    if impact:
                        bias = -rebound(coming, gap, fall, wp.sqrt(own[1] * theirs[1]), dt)
                        spare = (wp.max(contacts, 1.0) - wp.max(impacts, 1.0)) * inverse_mass
                        stiff = shared - spare
                        slanted -= 3.5 * spare
                        parting = 0.0
                push = wp.max(before - parameters.relaxation / stiff * (normal + bias + parting), -pull)
                slide = parameters.relaxation / (slanted + 3.5 * soft)
                rub = clipped(old - before * n - slide * (relative - normal * n), friction * (push + pull))
                new = push * n + rub
                if wp.static(bouncing):
                    expected = coming < -parameters.bounce_speed and gap + wp.static(horizon) * dt * coming < 0.0
                    if (impact and impacts > 1.0) or (not impact and (expected or push > 0.0)):
                        foreseen = wp.static(IMPACT / FINEST_IMPACT)
                touching = float(1.0)
                if push == 0.0:
                    if gap < parameters.near * radius or gap + wp.static(horizon) * dt * normal < 0.0:
                        new = wp.static(NEAR) * n
                    else:
                        touching = 0.0
                share = float(1.0)
                if final == 1:
                    share = predicted_share(push, before, light, parameters)
                angular = lever * wp.cross(rub, n)
                later = share * angular
                kept = share * new
                if wp.static(rolls):
                    turned = wp.max(contacts, 1.0) * 2.5 * inverse_mass / (radius * radius)
                    if bodies.forms[b].motion == wp.static(FREE):
                        turned += body_share(b, bodies) * bodies.forms[b].largest_inverse_inertia
                    roll = clipped(
                        lists.body_rollings[at] - (spin - bodies.turning[b]) * (parameters.relaxation / turned),
                        wp.sqrt(own[2] * theirs[2]) * radius * wp.max(push, 0.0),
                    )
                    angular += roll
                    later += roll
                total += vec14(
                    new[0], new[1], new[2], angular[0], angular[1], angular[2],
                    kept[0], kept[1], kept[2], later[0], later[1], later[2], touching + foreseen, 0.0,
                )  # fmt: skip
                total[wp.static(CHANGE)] = wp.max(total[wp.static(CHANGE)], wp.length(new - old) * shared)
            lists.body_impulses[at] = new
            lists.body_spots[at] = x - 0.5 * (radius + found[3]) * n
            lists.body_predicted[at] = kept
            if wp.static(rolls):
                lists.body_rollings[at] = roll
        return total

    return touch
