"""Ground that resists: what sand does to the masses of a surface that moves through it.

A triangle hands a third of its area to each of its corners, and a corner feels the stress at its own depth and velocity
on its triangles, those that look the same way together: each mass sums for itself. Areas are computed before the pass
that uses them. Ground of a stiffness gives before it yields: that law is another room, `kernels.giving`, and such
ground that stays at its place a third, `kernels.furrowing`.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.shapes.resistive.kernels.holding import HELD, slowed_of
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.springs.kernels.furrowing import forget_of, furrowed_of, hindered_of, lie_of
from annelid.springs.kernels.giving import pressed_of, rubbed_of
from annelid.springs.kernels.layout import GIVES, YIELDS, Layout

wp.set_module_options({"enable_backward": False})

PRESS_BLOCK = 64
"""Threads of a block that finds out what presses masses."""

_PRESS_BLOCKS = 8  # of these that a multiprocessor should hold: more registers a thread would leave it idle (H200)


@once
def resist_of(types: Layout, kinds: tuple[int, ...]) -> wp.Function:
    """Acceleration of mass i, with what the ground of one of these kinds adds to it.

    What presses a mass in ground that gives is known before, see `press_kernel`; friction is added here, where it is
    known what it works against. `rougher` is the factor of a world on friction.
    """
    real, vec3, Sand = types.real, types.vec3, types.Sand
    slow, rub, yields, gives = _slow(types), _rub(types), YIELDS in kinds, GIVES in kinds

    @wp.func
    def resist(
        i: int, sands: wp.array[Sand], x: vec3, v_from: vec3, inverse_mass: real, horizon: real, rougher: real, a: vec3
    ) -> vec3:
        free = a
        sand = sands[0]
        if wp.static(gives):
            if i < sand.mass_count and sand.stiffness > real(0.0):
                a = rub(i, sand, v_from, inverse_mass, horizon, rougher, a)
        if wp.static(yields):
            if i < sand.mass_count and sand.stiffness == real(0.0):
                a = slow(i, sand, x, v_from, inverse_mass, horizon, rougher, a)
        if i < sand.pushes.shape[0]:
            sand.pushes[i] = wp.where(inverse_mass > real(0.0), (a - free) / inverse_mass, vec3())
        return a

    return resist


def _slow(types: Layout) -> wp.Function:
    """Acceleration of mass i in ground that resists by its law alone.

    Like dry friction, resistance only slows down: it stops a mass exactly where it can within the `horizon`, and holds
    it from then on; else it acts as strongly as the law says. Of a mass that yields, the direction of motion depends on
    the resistance itself: it is asked twice, first for where the mass would go without sand, then for where it goes in
    the mean of that and of what came out. A corner that has left sand behind feels nothing until it is back.
    """
    real, vec3, Sand = types.real, types.vec3, types.Sand
    pushed, slowed = _push(types), slowed_of(real)

    @wp.func
    def slow(
        i: int, sand: Sand, x: vec3, v_from: vec3, inverse_mass: real, horizon: real, rougher: real, a: vec3
    ) -> vec3:
        free = a
        depth = sand.ground.height - x[2]
        if depth > real(0.0):
            next_v = v_from + a * horizon
            push = pushed(i, sand, depth, next_v, v_from * horizon, True, rougher)
            a = slowed(free, next_v, push * inverse_mass, horizon)
            slow_v = v_from + a * horizon
            if wp.dot(slow_v, slow_v) > real(wp.static(HELD)) * wp.dot(next_v, next_v):
                push = pushed(i, sand, depth, real(0.5) * (next_v + slow_v), vec3(), False, rougher)
                a = slowed(free, next_v, push * inverse_mass, horizon)
        elif sand.hollows.shape[0] > 0:  # where it comes down next there is sand
            for entry in range(sand.first[i], sand.first[i + 1]):
                sand.hollows[entry] = real(0.0)
        return a

    return slow


def _rub(types: Layout) -> wp.Function:
    """Acceleration of mass i with what presses it in ground that gives, and with friction."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    rubbed, hindered = rubbed_of(types), hindered_of(types)

    @wp.func
    def rub(i: int, sand: Sand, v_from: vec3, inverse_mass: real, horizon: real, rougher: real, a: vec3) -> vec3:
        pressing = sand.pressing[i]
        if pressing[3] > real(0.0):
            force = vec3(pressing[0], pressing[1], pressing[2])
            coefficient = rougher * sand.ground.friction
            a += force * inverse_mass
            if sand.furrow:
                friction = wp.min(coefficient, sand.steepest) * pressing[3] * inverse_mass
                a = hindered(i, sand, force, friction, v_from, a, horizon)
            else:
                a = rubbed(v_from, a, wp.normalize(force), coefficient * pressing[3] * inverse_mass, horizon)
        return a

    return rub


@once
def _press(types: Layout) -> wp.Function:
    """Find out what presses the mass of one number among those that have faces, in ground that gives."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    pressed, furrowed, forget = pressed_of(types), furrowed_of(types), forget_of(types)

    @wp.func
    def press(number: int, sand: Sand, horizon: real, positions: wp.array[vec4], velocities: wp.array[vec3]):
        i = sand.outer[number]
        depth = sand.ground.height - positions[i][2]
        found = vec4()
        if depth <= real(0.0):
            forget(i, sand)
        elif sand.furrow:
            found = furrowed(i, sand, depth, velocities[i], horizon)
        else:
            found = pressed(i, sand, depth, velocities[i], horizon)
        sand.pressing[i] = found

    return press


def _push(types: Layout) -> wp.Function:
    """Force on mass i at a depth if it moved at v [N]; corners look how far they have left sand behind if `leaving`.

    `way` is how far the mass has come in the last step [m], of no use if it is not leaving.
    """
    real, vec3, Sand = types.real, types.vec3, types.Sand
    functions, leave = resistance(real), _leave(types)
    stress, flow = functions.stress, functions.flow

    @wp.func
    def push(i: int, sand: Sand, depth: real, v: vec3, way: vec3, leaving: bool, rougher: real) -> vec3:
        ground = sand.ground
        ground.friction = rougher * ground.friction
        found = vec3()
        area = vec3()
        for entry in range(sand.first[i], sand.first[i + 1]):
            area += sand.areas[sand.facets[entry]]
            if sand.ends[entry]:
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
    def leave(entry: int, sand: Sand, ahead: real, up: real, leaving: bool) -> real:
        hollow = real(0.0)
        if sand.hollows.shape[0] > 0:
            hollow = sand.hollows[entry]
            if leaving:
                hollow = wp.where(up < -sand.level, wp.max(hollow - ahead, real(0.0)), real(0.0))
                sand.hollows[entry] = hollow
        return hollow

    return leave


@once
def _facet(types: Layout) -> wp.Function:
    """Find out the area of triangle t, and how sand lies below it where it stays at its place."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    lie = lie_of(types)

    @wp.func
    def measure(t: int, sand: Sand, positions: wp.array[vec4]):
        corners = sand.corners[t]
        p = positions[corners[0]]
        q = positions[corners[1]] - p
        r = positions[corners[2]] - p
        area = wp.cross(vec3(q[0], q[1], q[2]), vec3(r[0], r[1], r[2])) / real(6.0)
        sand.areas[t] = area
        if sand.furrow:
            lie(t, sand, area, positions)

    return measure


@once
def measure_team(types: Layout) -> wp.Function:
    """All triangles, and masses in ground that gives, shared among the members of a CPU team; the new ticket."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    measure, press = _facet(types), _press(types)

    @wp.func(inline=False)
    def measure_all(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        ticket: int,
        sands: wp.array[Sand],
        horizon: real,
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ) -> int:
        sand = sands[0]
        share = team_range(rank, size, sand.facet_count, 16)
        for t in range(share[0], share[1]):
            measure(t, sand, positions)
        ticket += 1
        team_barrier(counter, size, ticket)
        if sand.stiffness > real(0.0):
            share = team_range(rank, size, sand.outer.shape[0], 16)
            for number in range(share[0], share[1]):
                press(number, sand, horizon, positions, velocities)
            ticket += 1
            team_barrier(counter, size, ticket)
        return ticket

    return measure_all


@once
def measure_kernel(types: Layout) -> wp.Kernel:
    """All triangles, a thread each."""
    vec4, Sand = types.vec4, types.Sand
    measure = _facet(types)

    @wp.kernel(module="unique", enable_backward=False)
    def measure_all(sands: wp.array[Sand], positions: wp.array[vec4]):
        measure(wp.tid(), sands[0], positions)

    return measure_all


@once
def press_kernel(types: Layout) -> wp.Kernel:
    """All masses that have faces, a thread each, in ground that gives.

    This is apart from the pass over all masses: there, threads of masses inside would wait for those of the surface,
    and springs would have few registers left.
    """
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    press = _press(types)

    @wp.kernel(
        module="unique", enable_backward=False, grid_stride=False, launch_bounds=(PRESS_BLOCK, _PRESS_BLOCKS)
    )  # fmt: skip
    def press_all(sands: wp.array[Sand], horizon: real, positions: wp.array[vec4], velocities: wp.array[vec3]):
        press(wp.tid(), sands[0], horizon, positions, velocities)

    return press_all
