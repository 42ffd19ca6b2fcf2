"""Ground that resists: what sand does to the masses of a surface that moves through it.

A triangle hands a third of its area to each of its corners, and a corner feels the stress at its own depth and velocity
on its triangles, those that look the same way together: each mass sums for itself. Areas are computed before the pass
that uses them. Ground of a stiffness gives before it yields: that law is another room, `kernels.giving`, and such
ground that stays at its place a third, `kernels.furrowing`.
"""

import functools

import warp as wp

from annelid.core.launch import team_barrier, team_range
from annelid.shapes.resistive.kernels.holding import HELD, slowed_of
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.springs.kernels.furrowing import forget_of, furrowed_of, lie_of
from annelid.springs.kernels.giving import carried_of
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})


@functools.cache
def resist_of(types: Layout) -> wp.Function:
    """Acceleration of mass i, with what the ground adds to it.

    Like dry friction, resistance only slows down: it stops a mass exactly where it can within the `horizon`, and holds
    it from then on; else it acts as strongly as the law says. Of a mass that yields, the direction of motion depends on
    the resistance itself: it is asked twice, first for where the mass would go without sand, then for where it goes in
    the mean of that and of what came out. A corner that has left sand behind feels nothing until it is back.
    `rougher` is the factor of a world on friction.
    """
    real, vec3, Sand = types.real, types.vec3, types.Sand
    pushed, slowed, carried = _push(types), slowed_of(real), carried_of(types)
    furrowed, forget = furrowed_of(types), forget_of(types)

    @wp.func
    def resist(
        i: int, sand: wp.array[Sand], x: vec3, v_from: vec3, inverse_mass: real, horizon: real, rougher: real, a: vec3
    ) -> vec3:
        free = a
        depth = sand[0].ground.height - x[2]
        if i < sand[0].mass_count and sand[0].furrow:
            if sand[0].first[i + 1] > sand[0].first[i]:  # masses inside have no faces, and nothing to remember
                if depth > real(0.0):
                    a = furrowed(i, sand, depth, v_from, inverse_mass, horizon, rougher, a)
                else:
                    forget(i, sand)
        elif i < sand[0].mass_count and depth > real(0.0) and sand[0].stiffness > real(0.0):
            a = carried(i, sand, depth, v_from, inverse_mass, horizon, rougher, a)
        elif i < sand[0].mass_count and depth > real(0.0):
            next_v = v_from + a * horizon
            push = pushed(i, sand, depth, next_v, v_from * horizon, True, rougher)
            a = slowed(free, next_v, push * inverse_mass, horizon)
            slow_v = v_from + a * horizon
            if wp.dot(slow_v, slow_v) > real(wp.static(HELD)) * wp.dot(next_v, next_v):
                push = pushed(i, sand, depth, real(0.5) * (next_v + slow_v), vec3(), False, rougher)
                a = slowed(free, next_v, push * inverse_mass, horizon)
        elif i < sand[0].mass_count and sand[0].hollows.shape[0] > 0:  # where it comes down next there is sand
            for entry in range(sand[0].first[i], sand[0].first[i + 1]):
                sand[0].hollows[entry] = real(0.0)
        if i < sand[0].pushes.shape[0]:
            sand[0].pushes[i] = wp.where(inverse_mass > real(0.0), (a - free) / inverse_mass, vec3())
        return a

    return resist


def _push(types: Layout) -> wp.Function:
    """Force on mass i at a depth if it moved at v [N]; corners look how far they have left sand behind if `leaving`.

    `way` is how far the mass has come in the last step [m], of no use if it is not leaving.
    """
    real, vec3, Sand = types.real, types.vec3, types.Sand
    functions, leave = resistance(real), _leave(types)
    stress, flow = functions.stress, functions.flow

    @wp.func
    def push(i: int, sand: wp.array[Sand], depth: real, v: vec3, way: vec3, leaving: bool, rougher: real) -> vec3:
        ground = sand[0].ground
        ground.friction = rougher * ground.friction
        found = vec3()
        area = vec3()
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            area += sand[0].areas[sand[0].facets[entry]]
            if sand[0].ends[entry]:
                size = wp.length(area)
                if size > real(0.0):
                    normal = area / size
                    if leave(entry, sand, wp.dot(normal, way), normal[2], leaving) == real(0.0):
                        found += size * (depth * stress(ground, normal, v) + flow(ground, normal, v))
                area = vec3()
        return found

    return push


def _leave(types: Layout) -> wp.Function:
    """How far sand is below a corner, once it has come `ahead` along its normal in the last step, if it is leaving [m].

    Sand flows to where its slope is at most that of repose: it follows faces that are steeper, and those that look up.
    """
    real, Sand = types.real, types.Sand

    @wp.func
    def leave(entry: int, sand: wp.array[Sand], ahead: real, up: real, leaving: bool) -> real:
        hollow = real(0.0)
        if sand[0].hollows.shape[0] > 0:
            hollow = sand[0].hollows[entry]
            if leaving:
                hollow = wp.where(up < -sand[0].level, wp.max(hollow - ahead, real(0.0)), real(0.0))
                sand[0].hollows[entry] = hollow
        return hollow

    return leave


@functools.cache
def _facet(types: Layout) -> wp.Function:
    """Find out the area of triangle t, and how sand lies below it where it stays at its place."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    lie = lie_of(types)

    @wp.func
    def measure(t: int, sand: wp.array[Sand], positions: wp.array[vec4]):
        corners = sand[0].corners[t]
        p = positions[corners[0]]
        q = positions[corners[1]] - p
        r = positions[corners[2]] - p
        sand[0].areas[t] = wp.cross(vec3(q[0], q[1], q[2]), vec3(r[0], r[1], r[2])) / real(6.0)
        if sand[0].furrow:
            lie(t, sand, positions)

    return measure


@functools.cache
def measure_team(types: Layout) -> wp.Function:
    """All triangles, shared among the members of a CPU team; the new ticket."""
    vec4, Sand = types.vec4, types.Sand
    measure = _facet(types)

    @wp.func
    def measure_all(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, sand: wp.array[Sand], positions: wp.array[vec4]
    ) -> int:
        share = team_range(rank, size, sand[0].facet_count, 16)
        for t in range(share[0], share[1]):
            measure(t, sand, positions)
        team_barrier(counter, size, ticket + 1)
        return ticket + 1

    return measure_all


@functools.cache
def measure_kernel(types: Layout) -> wp.Kernel:
    """All triangles, a thread each."""
    vec4, Sand = types.vec4, types.Sand
    measure = _facet(types)

    @wp.kernel(module="unique", enable_backward=False)
    def measure_all(sand: wp.array[Sand], positions: wp.array[vec4]):
        measure(wp.tid(), sand, positions)

    return measure_all
