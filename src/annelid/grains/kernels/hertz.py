"""Hertz-Mindlin contacts: penalty forces of elastic spheres, with a dashpot and Coulomb friction.

The accuracy reference: it needs steps that resolve a collision. What lists keep for each contact is not an impulse but
how far the surfaces have been dragged along each other [m].
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import (
    MARGIN,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    reach_place,
    world_of,
)
from annelid.grains.kernels.rows import impulse_place, neighbour_place
from annelid.grains.kernels.sums import ContactSum, added, contact_sum
from annelid.grains.kernels.surfaces import surface_gap
from annelid.grains.kernels.touch import clipped
from annelid.shapes.kernels.surfaces import mixed

wp.set_module_options({"enable_backward": False})


@wp.struct
class Response:
    force: wp.vec3  # [N]
    drag: wp.vec3  # [m]


@wp.func
def summed(impulse: wp.vec3, angular: wp.vec3) -> ContactSum:
    """One contact; penalty forces predict nothing."""
    return contact_sum(impulse, angular, wp.vec3(), wp.vec3(), 1.0, 0.0)


@wp.func
def elastic_response(
    depth: float, n: wp.vec3, relative: wp.vec3, dragged: wp.vec3, radius: float, mass: float, modulus: float,
    shear: float, dashpot: float, friction: float, dt: float,
) -> Response:  # fmt: skip
    """Force on the first of two spheres, and the new drag.

    Args:
        depth: Overlap [m].
        n: Unit normal towards the first sphere.
        relative: Velocity of the first surface relative to the second [m/s].
        dragged: How far the surfaces were dragged along each other [m].
        radius: Reduced radius [m].
        mass: Reduced mass [kg].
        modulus: Effective Young's modulus [Pa].
        shear: Effective shear modulus [Pa].
        dashpot: Coefficient that follows from the restitution.
        friction: Coulomb coefficient.
        dt: Time step [s].
    """
    patch = wp.sqrt(radius * depth)
    stiff = 2.0 * modulus * patch
    slack = 8.0 * shear * patch
    approach = wp.dot(relative, n)
    push = wp.max(4.0 / 3.0 * modulus * patch * depth - dashpot * wp.sqrt(stiff * mass) * approach, 0.0)
    slip = relative - approach * n
    drag = dragged - wp.dot(dragged, n) * n + slip * dt  # it turns with the contact
    damping = dashpot * wp.sqrt(slack * mass)
    rub = clipped(-slack * drag - damping * slip, friction * push)
    response = Response()
    response.force = push * n + rub
    response.drag = -(rub + damping * slip) / wp.max(
        slack, 1.0e-20
    )  # the spring of a sliding contact stays at its limit
    return response


@once
def hertz_pairs(features: Features) -> wp.Function:
    """As `pairs.pair_impulses`, by penalty forces."""
    sizes, materials, periodic = features.sizes, features.materials, features.periodic
    varied, world = features.varied, world_of(features)

    @wp.func
    def around(d: float, period: float) -> float:
        out = d
        if period > 0.0:
            out = d - period * wp.round(d / period)
        return out

    @wp.func
    def pairs(
        i: int, lane: int, lanes: int, final: int, parameters: Parameters, grains: Grains, lists: Lists
    ) -> ContactSum:
        total = ContactSum()
        if lane == 0:
            here = grains.positions[i]
            mine = grains.forecast[i]
            turn = grains.turning[i]
            own = wp.vec4(parameters.friction, parameters.restitution, 0.0, 0.0)
            if wp.static(materials):
                own = grains.surfaces[i]
            dt = parameters.dt
            for k in range(lists.counts[i][0]):
                j = lists.neighbours[neighbour_place(i, k, lists)]
                there = grains.positions[j]
                d = wp.vec3(here[0] - there[0], here[1] - there[1], here[2] - there[2])
                if wp.static(any(periodic)):
                    for axis in range(3):
                        d[axis] = around(d[axis], parameters.period[axis])
                theirs = grains.forecast[j]
                ri = parameters.radius
                rj = parameters.radius
                wi = parameters.inverse_mass
                wj = parameters.inverse_mass
                other = grains.turning[j]
                if wp.static(sizes):
                    ri = mine[3]
                    rj = theirs[3]
                if wp.static(sizes or varied):
                    wi = turn[3]
                    wj = other[3]
                distance = wp.length(d)
                depth = ri + rj - distance
                drag = wp.vec3()
                if depth > 0.0:
                    n = d / wp.max(distance, 1.0e-20)
                    arm_i = ri - 0.5 * depth
                    arm_j = rj - 0.5 * depth
                    spin = wp.vec3(
                        arm_i * turn[0] + arm_j * other[0], arm_i * turn[1] + arm_j * other[1],
                        arm_i * turn[2] + arm_j * other[2],
                    )  # fmt: skip
                    relative = wp.vec3(mine[0] - theirs[0], mine[1] - theirs[1], mine[2] - theirs[2])
                    relative -= wp.cross(spin, n)
                    surface = own
                    if wp.static(materials):
                        more = grains.surfaces[j]
                        surface = wp.vec4(mixed(own[0], more[0]), wp.sqrt(own[1] * more[1]), 0.0, 0.0)
                    friction = surface[0]
                    if wp.static(varied):
                        friction *= parameters.varied[world(i, grains)].friction
                    old = wp.vec3()
                    for c in range(3):
                        old[c] = lists.impulses[impulse_place(i, k, c, lists)]
                    response = elastic_response(
                        depth, n, relative, old, ri * rj / (ri + rj), 1.0 / (wi + wj), parameters.stiffness,
                        parameters.shear, surface[1], friction, dt,
                    )  # fmt: skip
                    drag = response.drag
                    f = response.force * dt
                    torque = arm_i * wp.cross(f, n)
                    total = added(total, summed(f, torque))
                for c in range(3):
                    lists.impulses[impulse_place(i, k, c, lists)] = drag[c]
        return total

    return pairs


@once
def hertz_bodies(features: Features) -> wp.Function:
    """As `touch.body_impulses`, by penalty forces; bodies do not yield, so that a contact is twice as stiff.

    The drag is kept in `body_rollings`; impulses are kept as in the other methods, for the sums of the bodies.
    """
    gap_of = surface_gap(features.kinds)
    sizes, materials, varied, world = features.sizes, features.materials, features.varied, world_of(features)

    @wp.func
    def touch(i: int, final: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies) -> ContactSum:
        total = ContactSum()
        here = grains.positions[i]
        x = wp.vec3(here[0], here[1], here[2])
        motion = grains.forecast[i]
        turning = grains.turning[i]
        radius = parameters.radius
        inverse_mass = parameters.inverse_mass
        if wp.static(sizes):
            radius = motion[3]
        if wp.static(sizes or varied):
            inverse_mass = turning[3]
        own = parameters.surface
        if wp.static(materials):
            own = grains.surfaces[i]
        rougher = float(1.0)
        if wp.static(varied):
            rougher = wp.sqrt(parameters.varied[world(i, grains)].friction)
        for k in range(lists.counts[i][1]):
            at = i * lists.body_places + k
            b = lists.bodies[at]
            found = gap_of(b, x, bodies)
            depth = radius - found[3]
            impulse = wp.vec3()
            drag = wp.vec3()
            if depth > 0.0 and found[3] < lists.reach[reach_place(wp.static(MARGIN), world(i, grains))] + radius:
                n = wp.vec3(found[0], found[1], found[2])
                lever = radius - 0.5 * depth
                arm = x - lever * n - bodies.places[b]
                relative = wp.vec3(motion[0], motion[1], motion[2])
                relative -= lever * wp.cross(wp.vec3(turning[0], turning[1], turning[2]), n)
                relative -= bodies.velocities[b] + wp.cross(bodies.spins[b], arm)
                theirs = bodies.forms[b].surface
                response = elastic_response(
                    depth, n, relative, lists.body_rollings[at], radius,
                    1.0 / (inverse_mass + bodies.forms[b].inverse_mass), 2.0 * parameters.stiffness,
                    2.0 * parameters.shear, wp.sqrt(own[1] * theirs[1]), rougher * mixed(own[0], theirs[0]),
                    parameters.dt,
                )  # fmt: skip
                drag = response.drag
                impulse = response.force * parameters.dt
                torque = lever * wp.cross(impulse, n)
                total = added(total, summed(impulse, torque))
            lists.body_impulses[at] = impulse
            lists.body_spots[at] = x - 0.5 * (radius + found[3]) * wp.vec3(found[0], found[1], found[2])
            lists.body_rollings[at] = drag
        return total

    return touch
