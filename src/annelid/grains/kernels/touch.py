"""Contacts of one grain with the bodies that are close to it."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import (
    FINEST_IMPACT,
    FIXED,
    FREE,
    IMPACT,
    MARGIN,
    ROLLING_SHARE,
    UNKNOWN,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    contact_horizon,
    pull_in,
    pull_on,
    reach_place,
    world_of,
)
from annelid.grains.kernels.sums import ContactSum, added, contact_sum
from annelid.grains.kernels.surfaces import surface_gap
from annelid.shapes.kernels.surfaces import mixed

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


@once
def start_of(features: Features) -> wp.Function:
    """A function `(b, arm, ...) -> vec3`: velocity of a point of a body in this step, if nothing touched it [m/s]."""
    pull = pull_in(features)

    @wp.func
    def start(b: int, arm: wp.vec3, parameters: Parameters, bodies: Bodies) -> wp.vec3:
        velocity = bodies.forecast[b] + wp.cross(bodies.turning[b], arm)
        if bodies.forms[b].motion == wp.static(FREE):
            gain = parameters.dt * pull(bodies.forms[b].world, parameters)
            velocity = bodies.velocities[b] + gain + wp.cross(bodies.spins[b], arm)
        return velocity

    return start


@wp.func
def body_softness(b: int, give: float, bodies: Bodies) -> float:
    """Inverse mass that sets the softness of a contact of a free body.

    What many contacts bear together must not be stiffer than what a grain has around it, or a body would shiver.
    """
    return give * wp.max(bodies.contacts[b] / wp.static(_CONTACTS_OF_A_GRAIN), 1.0)


@wp.func
def predicted_share(push: float, before: float, inverse_mass: float, parameters: Parameters) -> float:
    """Share of an impulse that the next step is predicted to bring: all of one that grew slowly, not that of a blow."""
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


@wp.struct
class Side:
    """What contacts need to know of a grain."""

    x: wp.vec3  # [m]
    velocity: wp.vec3  # that the step would bring [m/s]
    spin: wp.vec3  # [rad/s]
    start: wp.vec3  # velocity without what sweeps of this step have done to it [m/s]
    radius: wp.float32  # [m]
    inverse_mass: wp.float32  # [1/kg]
    light: wp.float32  # inverse mass that sets the softness: guests, which are lighter, are as soft as grains [1/kg]
    surface: wp.vec4  # friction, restitution, rolling resistance, cohesion
    rougher: wp.float32  # factor of its world on the friction of a contact
    contacts: wp.float32
    impacts: wp.float32  # contacts that share its mass in impacts
    guest: wp.bool


@wp.struct
class Yielding:
    """How much two sides yield to an impulse at a contact."""

    normal: wp.float32  # inverse mass along the normal, split among contacts [1/kg]
    slanted: wp.float32  # and across it, where sides turn too [1/kg]
    soft: wp.float32  # compliance of the contact [1/kg]
    fall: wp.float32  # acceleration towards the contact [m/s²]


@wp.struct
class Contact:
    """What one contact does to a grain."""

    impulse: wp.vec3  # [N s]
    predicted: wp.vec3  # for the next step [N s]
    roll: wp.vec3  # angular impulse of rolling resistance [N m s]
    angular: wp.vec3  # all angular impulse [N m s]
    predicted_angular: wp.vec3  # [N m s]
    count: wp.float32
    change: wp.float32  # of the relative velocity by this sweep [m/s]


@once
def grain_side(features: Features) -> wp.Function:
    """A function `(i, parameters, grains) -> Side`."""
    bouncing, sizes, materials, guests = features.bouncing, features.sizes, features.materials, features.guests
    varied, pull, world = features.varied, pull_on(features), world_of(features)
    converging = features.converging

    @wp.func
    def side_of(i: int, parameters: Parameters, grains: Grains) -> Side:
        here = grains.positions[i]
        motion = grains.forecast[i]
        turning = grains.turning[i]
        side = Side()
        side.x = wp.vec3(here[0], here[1], here[2])
        side.velocity = wp.vec3(motion[0], motion[1], motion[2])
        side.spin = wp.vec3(turning[0], turning[1], turning[2])
        side.start = side.velocity
        side.radius = parameters.radius
        side.inverse_mass = parameters.inverse_mass
        if wp.static(sizes):
            side.radius = motion[3]
        if wp.static(sizes or varied):
            side.inverse_mass = turning[3]
        side.light = side.inverse_mass
        side.guest = bool(False)
        if wp.static(guests):
            side.light = wp.min(side.inverse_mass, parameters.lightest)
            if wp.static(varied):
                lightest = parameters.lightest * parameters.varied[world(i, grains)].lightness
                side.light = wp.min(side.inverse_mass, lightest)
            side.guest = grains.names[i][0] >= parameters.first_guest
        side.surface = parameters.surface
        side.rougher = 1.0
        if wp.static(guests):
            if side.guest:
                side.surface = parameters.guest_surface
        if wp.static(materials):
            side.surface = grains.surfaces[i]
        if wp.static(varied):
            own = parameters.varied[world(i, grains)]
            factors = wp.vec4(1.0, own.restitution, 1.0, own.cohesion)
            side.rougher = wp.sqrt(own.friction)
            if side.guest:
                factors = wp.vec4(1.0)
                side.rougher = wp.sqrt(own.skin_friction)
            side.surface = wp.cw_mul(side.surface, factors)
        side.contacts = here[3]
        if wp.static(converging):
            side.contacts = wp.where(here[3] > 0.0, here[3], wp.static(UNKNOWN))
        side.impacts = 0.0
        if wp.static(bouncing):
            parts = wp.floor(here[3] / wp.static(float(IMPACT)))
            side.contacts = here[3] - wp.static(float(IMPACT)) * parts
            side.impacts = wp.static(FINEST_IMPACT) * parts
            then = grains.starts[i]
            start = wp.vec3(then[0], then[1], then[2]) + parameters.dt * pull(i, parameters, grains)
            if side.guest:
                start -= parameters.dt * pull(i, parameters, grains)
            side.start = start
        return side

    return side_of


@once
def yielding_to(features: Features) -> wp.Function:
    """A function `(b, n, arm, side, ...) -> Yielding`.

    Masses are split among the contacts of each side; bodies that are not free do not yield.
    """
    pull = pull_in(features)

    @wp.func
    def yields(b: int, n: wp.vec3, arm: wp.vec3, side: Side, parameters: Parameters, bodies: Bodies) -> Yielding:
        out = Yielding()
        out.normal = wp.max(side.contacts, 1.0) * side.inverse_mass
        out.slanted = 3.5 * out.normal
        out.soft = parameters.softness * side.light
        out.fall = -wp.dot(pull(bodies.forms[b].world, parameters), n)
        if bodies.forms[b].motion == wp.static(FREE):
            split = body_share(b, bodies)
            give = body_give(b, arm, n, bodies)
            out.normal += split * give
            out.slanted += split * (
                bodies.forms[b].inverse_mass + wp.dot(arm, arm) * bodies.forms[b].largest_inverse_inertia
            )
            out.soft = wp.max(out.soft, parameters.softness * body_softness(b, give, bodies))
            out.fall = 0.0
        return out

    return yields


@wp.func
def rolling_resistance(
    b: int, before: wp.vec3, push: float, side: Side, parameters: Parameters, bodies: Bodies
) -> wp.vec3:
    """Angular impulse against relative turning [N m s], given that of the last sweep and the push of the contact."""
    turned = wp.max(side.contacts, 1.0) * 2.5 * side.inverse_mass / (side.radius * side.radius)
    if bodies.forms[b].motion == wp.static(FREE):
        turned += body_share(b, bodies) * bodies.forms[b].largest_inverse_inertia
    return clipped(
        before - (side.spin - bodies.turning[b]) * (wp.static(ROLLING_SHARE) / turned),
        wp.sqrt(side.surface[2] * bodies.forms[b].surface[2]) * side.radius * wp.max(push, 0.0),
    )


@wp.func
def blended_with(
    new: wp.vec3, old: wp.vec3, earlier: wp.vec3, n: wp.vec3, friction: float, pull: float, blend: float, over: float
) -> wp.vec3:
    """The impulse of a sweep that converges, from that of a plain one and of the two before; see `kernels.converge`."""
    aimed = earlier + blend * (old + over * (new - old) - earlier)
    along = wp.dot(aimed, n)
    push = wp.max(along, -pull)
    return push * n + clipped(aimed - along * n, friction * (push + pull))


@once
def body_contact(features: Features, *, blended: bool = False) -> wp.Function:
    """A function `(at, b, final, old, n, gap, side, ...) -> Contact`: what a grain and a body that are close do.

    `old` is the impulse that was predicted for this contact [N s].
    """
    bouncing, rolls, cohesive = features.bouncing, features.rolling, features.cohesive
    converging, judged = features.converging, features.judged_by_bodies
    horizon = contact_horizon(bouncing or features.free)
    yields, start = yielding_to(features), start_of(features)

    @wp.func
    def contact_of(
        at: int, b: int, final: int, old: wp.vec3, n: wp.vec3, gap: float, side: Side, parameters: Parameters,
        lists: Lists, bodies: Bodies,
    ) -> Contact:  # fmt: skip
        dt = parameters.dt
        own = side.surface
        theirs = bodies.forms[b].surface
        free = bodies.forms[b].motion == wp.static(FREE)
        lever = side.radius + 0.5 * gap
        arm = side.x - lever * n - bodies.places[b]  # to the middle of the gap
        relative = side.velocity - lever * wp.cross(side.spin, n)
        relative -= bodies.forecast[b] + wp.cross(bodies.turning[b], arm)
        normal = wp.dot(relative, n)
        yielding = yields(b, n, arm, side, parameters, bodies)
        shared = yielding.normal
        slanted = float(yielding.slanted)
        soft = yielding.soft
        before = wp.dot(old, n)
        bias = gap / dt + soft * before
        if gap < 0.0:
            bias = parameters.correction * gap / dt + soft * before
        if side.guest or free:  # as between grains and guests
            if wp.static(converging):
                bias += parameters.deep * wp.min(gap + 0.1 * parameters.smallest, 0.0)
            else:
                bias += 0.1 * wp.min(gap + 0.1 * parameters.smallest, 0.0) / dt
        pull = float(0.0)
        stiff = shared + soft
        if wp.static(cohesive):
            if gap < 0.02 * side.radius:
                pull = wp.sqrt(own[3] * theirs[3]) * dt
                bias = parameters.correction * gap / dt + soft * before
        parting = float(0.0)
        if wp.static(not blended):
            parting = parameters.release * wp.max(normal - parameters.calm_speed, 0.0)
        if wp.static(bouncing):  # as among grains
            coming = wp.dot(side.start - start(b, arm, parameters, bodies), n)
            impact = coming < -parameters.bounce_speed and gap + dt * coming < 0.0
            if impact:
                bias = -rebound(coming, gap, yielding.fall, wp.sqrt(own[1] * theirs[1]), dt)
                spare = (wp.max(side.contacts, 1.0) - wp.max(side.impacts, 1.0)) * side.inverse_mass
                stiff = shared - spare
                slanted -= 3.5 * spare
                parting = 0.0
        push = wp.max(before - 1.0 / stiff * (normal + bias + parting), -pull)
        slide = 1.0 / (slanted + 3.5 * soft)
        friction = side.rougher * mixed(own[0], theirs[0])
        rub = clipped(old - before * n - slide * (relative - normal * n), friction * (push + pull))
        if wp.static(blended):
            earlier = wp.vec3(old[0], old[1], old[2])  # the first has no earlier one
            if final > 0:
                earlier = wp.vec3(lists.body_earlier[at])
            lists.body_earlier[at] = old
            aimed = blended_with(push * n + rub, old, earlier, n, friction, pull, lists.weights[final], parameters.over)
            push = wp.dot(aimed, n)
            rub = aimed - push * n
        contact = Contact()
        contact.impulse = push * n + rub
        contact.count = 1.0
        if push == 0.0:
            if gap < parameters.near * side.radius or gap + wp.static(horizon) * dt * normal < 0.0:
                contact.impulse = wp.static(NEAR) * n
            else:
                contact.count = 0.0
        if wp.static(bouncing):
            soon = coming < -parameters.bounce_speed and gap + wp.static(horizon) * dt * coming < 0.0
            if (impact and side.impacts > 1.0) or (not impact and (soon or push > 0.0)):
                contact.count += wp.static(IMPACT / FINEST_IMPACT)
        share = float(1.0)
        if wp.static(not blended):
            if final == 1:
                share = predicted_share(push, before, side.light, parameters)
        contact.predicted = share * contact.impulse
        contact.angular = lever * wp.cross(rub, n)
        contact.predicted_angular = share * contact.angular
        if wp.static(rolls):
            contact.roll = rolling_resistance(b, lists.body_rollings[at], push, side, parameters, bodies)
            contact.angular += contact.roll
            contact.predicted_angular += contact.roll
        contact.change = wp.length(contact.impulse - old) * shared
        if wp.static(judged) and not side.guest and bodies.forms[b].motion == wp.static(FIXED):
            contact.change = 0.0
        return contact

    return contact_of


@once
def body_impulses(features: Features, *, blended: bool = False) -> wp.Function:
    """A function `(i, final, parameters, grains, lists, bodies) -> ContactSum`: sums over bodies close to grain i."""
    gap_of, side_of = surface_gap(features.kinds), grain_side(features)
    contact_of = body_contact(features, blended=blended)
    world, rolls = world_of(features), features.rolling

    @wp.func
    def touch(i: int, final: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies) -> ContactSum:
        total = ContactSum()
        side = side_of(i, parameters, grains)
        margin = lists.reach[reach_place(wp.static(MARGIN), world(i, grains))]
        count = lists.counts[i]
        for k in range(count[1]):
            at = i * lists.body_places + k
            b = lists.bodies[at]
            found = gap_of(b, side.x, bodies)
            n = wp.vec3(found[0], found[1], found[2])
            gap = found[3] - side.radius
            old = lists.body_predicted[at]  # read ahead of the branch: a small bed waits for memory, not for sums
            impulse = wp.vec3()
            predicted = wp.vec3()
            roll = wp.vec3()
            if gap < margin:
                contact = contact_of(at, b, final, old, n, gap, side, parameters, lists, bodies)
                total = added(
                    total,
                    contact_sum(
                        contact.impulse, contact.angular, contact.predicted, contact.predicted_angular,
                        contact.count, contact.change,
                    ),
                )  # fmt: skip
                # Copies of what is stored below: a structure that outlives the branch would keep CUDA from fusing sums.
                impulse = wp.vec3(contact.impulse[0], contact.impulse[1], contact.impulse[2])
                predicted = wp.vec3(contact.predicted[0], contact.predicted[1], contact.predicted[2])
                roll = wp.vec3(contact.roll[0], contact.roll[1], contact.roll[2])
            lists.body_impulses[at] = impulse
            lists.body_spots[at] = side.x - 0.5 * (side.radius + found[3]) * n
            lists.body_predicted[at] = predicted
            if wp.static(rolls):
                lists.body_rollings[at] = roll
        return total

    return touch
