"""GranularGym's Algorithm 1 as printed, for comparison.

How it was read: the first axis of a contact's frame points from grain i to its partner, so that the first component of
b is the speed of approach, and `J b` is taken off the velocity; psi is the overlap (eq. 7 makes it negative in contact,
which would pull grains together); the velocity of the partner is that at the beginning of the step, times gamma, to
which the paper gives no value; eq. 4 has a time step too many and eq. 5 lacks one. Spheres do not turn, and since
partners do not change within a step, a grain can do all its sweeps at once.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import Bodies, Features, Grains, Lists, Parameters
from annelid.grains.kernels.rows import neighbour_place
from annelid.grains.kernels.sums import ContactSum, contact_sum
from annelid.grains.kernels.surfaces import surface_gap
from annelid.grains.kernels.touch import clipped
from annelid.shapes.kernels.surfaces import mixed

wp.set_module_options({"enable_backward": False})

GAMMA = 0.8
"""Share of the velocity of a partner that is assumed; from 0.99 on, beds fall into a heap of coinciding grains."""


@wp.func
def projected(
    n: wp.vec3, depth: float, velocity: wp.vec3, partner: wp.vec3, friction: float, parameters: Parameters
) -> wp.vec3:
    """Change of the velocity of a grain by one contact, `n` pointing away from the partner."""
    b = velocity - wp.static(GAMMA) * partner
    approach = -wp.dot(b, n)
    push = wp.max(approach + parameters.correction * depth / parameters.dt, 0.0)
    slip = clipped(b + approach * n, friction * push)
    return push * n - slip


@once
def paper_pairs(features: Features) -> wp.Function:
    """As `pairs.pair_impulses`; bodies are among the contacts."""
    sizes, materials, periodic, kinds = features.sizes, features.materials, features.periodic, features.kinds
    gap_of = surface_gap(kinds) if kinds else None

    @wp.func
    def pairs(i: int, sweeps: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies) -> ContactSum:
        here = grains.positions[i]
        x = wp.vec3(here[0], here[1], here[2])
        mine = grains.velocities[i]
        start = wp.vec3(mine[0], mine[1], mine[2]) + parameters.gravity * parameters.dt
        radius = mine[3]
        own = parameters.surface
        if wp.static(materials):
            own = grains.surfaces[i]
        change = wp.vec3()
        touching = float(0.0)
        for _sweep in range(sweeps):
            touching = float(0.0)
            for k in range(lists.counts[i][0]):
                j = lists.neighbours[neighbour_place(i, k, lists)]
                there = grains.positions[j]
                theirs = grains.forecast[j]  # its velocity at the beginning of the step
                d = wp.vec3(here[0] - there[0], here[1] - there[1], here[2] - there[2])
                if wp.static(any(periodic)):
                    for axis in range(3):
                        if parameters.period[axis] > 0.0:
                            d[axis] = d[axis] - parameters.period[axis] * wp.round(d[axis] / parameters.period[axis])
                reach = 2.0 * radius
                if wp.static(sizes):
                    reach = radius + theirs[3]
                distance = wp.length(d)
                if distance < reach:
                    friction = parameters.friction
                    if wp.static(materials):
                        friction = mixed(own[0], grains.surfaces[j][0])
                    partner = wp.vec3(theirs[0], theirs[1], theirs[2])
                    n = d / wp.max(distance, 1.0e-20)
                    change += projected(n, reach - distance, start + change, partner, friction, parameters)
                    touching += 1.0
            if wp.static(len(kinds) > 0):
                for k in range(lists.counts[i][1]):
                    b = lists.bodies[i * lists.body_places + k]
                    found = gap_of(b, x, bodies)
                    if found[3] < radius:
                        n = wp.vec3(found[0], found[1], found[2])
                        arm = x - found[3] * n - bodies.places[b]
                        partner = bodies.velocities[b] + wp.cross(bodies.spins[b], arm)
                        friction = mixed(own[0], bodies.forms[b].surface[0])
                        change += projected(n, radius - found[3], start + change, partner, friction, parameters)
                        touching += 1.0
        mass = 1.0 / grains.spins[i][3]
        return contact_sum(mass * change, wp.vec3(), wp.vec3(), wp.vec3(), touching, 0.0)

    return pairs
