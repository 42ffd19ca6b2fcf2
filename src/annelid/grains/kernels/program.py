"""Programs: many steps in one launch for a team of CPU threads, and the launches of a step on CUDA."""

import functools

import warp as wp

from annelid.core.launch import team_barrier, team_range
from annelid.grains.kernels.bodies import (
    body_speed,
    body_total,
    count_chunk,
    foresee_body,
    move_body,
    point_contacts,
    rest_body,
    scan_chunks,
    write_chunk,
)
from annelid.grains.kernels.cells import set_margin, sort_here
from annelid.grains.kernels.collect import collect, reorder
from annelid.grains.kernels.hertz import hertz_bodies, hertz_pairs
from annelid.grains.kernels.layout import (
    BUILDS,
    CHANGE,
    CHANGES,
    CONTACTS,
    DONE,
    FASTEST,
    FLAGS,
    HALTED,
    LIMIT,
    MARGIN,
    RESIDUAL,
    STALE,
    TOO_FAST,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    is_stale,
    reach_place,
    vec14,
    world_of,
)
from annelid.grains.kernels.pairs import pair_impulses
from annelid.grains.kernels.paper import paper_pairs
from annelid.grains.kernels.touch import body_impulses

wp.set_module_options({"enable_backward": False})


@wp.func
def wrapped(x: float, period: float) -> float:
    """A coordinate within its period."""
    out = x
    if period > 0.0:
        out = x - period * wp.floor(x / period)
    return out


@functools.cache
def foresee(features: Features) -> wp.Function:
    """A function that tells, between two sweeps, what grain i would do at the end of the step."""
    guests, bouncing = features.guests, features.bouncing

    @wp.func
    def look_ahead(i: int, total: vec14, parameters: Parameters, grains: Grains, next: Grains):
        v = grains.velocities[i]
        w = grains.spins[i]
        share = 2.5 * w[3] / (v[3] * v[3])
        g = parameters.gravity * parameters.dt
        if wp.static(guests):
            if grains.names[i][0] >= parameters.first_guest:  # their velocity is that which the step would bring
                share = 0.0
                g = wp.vec3()
        next.positions[i] = grains.positions[i]
        if wp.static(bouncing):
            next.starts[i] = grains.starts[i]
        next.forecast[i] = wp.vec4(
            v[0] + g[0] + w[3] * total[0], v[1] + g[1] + w[3] * total[1], v[2] + g[2] + w[3] * total[2], v[3]
        )
        next.turning[i] = wp.vec4(w[0] + share * total[3], w[1] + share * total[4], w[2] + share * total[5], w[3])

    return look_ahead


@functools.cache
def finish(features: Features) -> wp.Function:
    """A function that moves grain i by a step of a batch, given the sum of its impulses."""
    foresees, guests, world = features.method == "nonsmooth", features.guests, world_of(features)
    bouncing = features.bouncing

    @wp.func
    def move(i: int, step: int, total: vec14, parameters: Parameters, grains: Grains, next: Grains, lists: Lists):
        dt = parameters.dt
        x = grains.positions[i]
        v = grains.velocities[i]
        w = grains.spins[i]
        share = 2.5 * w[3] / (v[3] * v[3])
        g = parameters.gravity * dt
        if wp.static(guests):
            guest = grains.names[i][0] - parameters.first_guest
            if guest >= 0:
                share = 0.0
                g = wp.vec3()
                lists.pushes[3 * guest] = wp.vec3(total[0], total[1], total[2])
                lists.pushes[3 * guest + 1] = wp.vec3(total[3], total[4], total[5])
                lists.pushes[3 * guest + 2] = wp.vec3(total[6], total[7], total[8])
        change = wp.vec3(g[0] + w[3] * total[0], g[1] + w[3] * total[1], g[2] + w[3] * total[2])
        turn = wp.vec3(share * total[3], share * total[4], share * total[5])
        velocity = wp.vec3(v[0], v[1], v[2]) + change
        spin = wp.vec3(w[0], w[1], w[2]) + turn
        grains.velocities[i] = wp.vec4(velocity[0], velocity[1], velocity[2], v[3])
        if wp.static(bouncing):
            next.starts[i] = grains.velocities[i]
        grains.spins[i] = wp.vec4(spin[0], spin[1], spin[2], w[3])
        path = dt * velocity
        next.positions[i] = wp.vec4(
            wrapped(x[0] + path[0], parameters.period[0]),
            wrapped(x[1] + path[1], parameters.period[1]),
            wrapped(x[2] + path[2], parameters.period[2]),
            total[wp.static(CONTACTS)],
        )
        if wp.static(foresees):
            change = wp.vec3(g[0] + w[3] * total[6], g[1] + w[3] * total[7], g[2] + w[3] * total[8])
            turn = wp.vec3(share * total[9], share * total[10], share * total[11])
        else:
            change = wp.vec3()
            turn = wp.vec3()
        next.forecast[i] = wp.vec4(velocity[0] + change[0], velocity[1] + change[1], velocity[2] + change[2], v[3])
        next.turning[i] = wp.vec4(spin[0] + turn[0], spin[1] + turn[1], spin[2] + turn[2], w[3])
        old = lists.built[i]
        away = wp.vec3(x[0] + path[0] - old[0], x[1] + path[1] - old[1], x[2] + path[2] - old[2])
        for axis in range(3):
            if parameters.period[axis] > 0.0:
                away[axis] = away[axis] - parameters.period[axis] * wp.round(away[axis] / parameters.period[axis])
        speed = wp.length(velocity)
        number = world(i, grains)
        margin = lists.reach[reach_place(wp.static(MARGIN), number)]
        if wp.length(away) + parameters.patience * dt * speed > 0.5 * parameters.skin or 2.2 * dt * speed > margin:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + number] = 1
        if dt * speed > wp.max(wp.abs(v[3]), parameters.smallest):
            lists.flags[wp.static(TOO_FAST)] = 1
        if not speed < 1.0e15:
            if lists.trouble[0] < wp.int64(0):
                lists.trouble[0] = lists.clock[0] + wp.int64(step + 1)

    return move


@wp.func
def keep_grain(i: int, grains: Grains, old: Grains, materials: int, guests: int):
    """Copy a grain, before grains change places."""
    old.positions[i] = grains.positions[i]
    old.velocities[i] = grains.velocities[i]
    old.spins[i] = grains.spins[i]
    old.forecast[i] = grains.forecast[i]
    old.turning[i] = grains.turning[i]
    old.names[i] = grains.names[i]
    if materials == 1:
        old.surfaces[i] = grains.surfaces[i]
    if guests == 1:
        old.facets[i] = grains.facets[i]


@wp.func_native(
    """
    for (int k = 0; k < count; ++k) old.neighbours.data[row + k] = lists.neighbours.data[row + k];
    for (int k = 0; k < 3 * count; ++k) old.impulses.data[3 * row + k] = lists.impulses.data[3 * row + k];
    if (rolling) for (int k = 0; k < 3 * count; ++k) old.rollings.data[3 * row + k] = lists.rollings.data[3 * row + k];
"""
)
def keep_row(row: int, count: int, rolling: int, lists: Lists, old: Lists) -> None:
    """Copy a list of neighbours."""


@wp.func
def keep_list(i: int, lists: Lists, old: Lists, rolling: int):
    """Copy the lists of a grain."""
    count = lists.counts[i]
    old.counts[i] = count
    row = i * lists.places
    keep_row(row, count[0], rolling, lists, old)
    for k in range(count[1]):
        at = i * lists.body_places + k
        old.bodies[at] = lists.bodies[at]
        old.body_predicted[at] = lists.body_predicted[at]
        if rolling == 1:
            old.body_rollings[at] = lists.body_rollings[at]


@wp.func_native(
    """
    // Numbers of 0 or more are in the order of their bits.
    int* where = (int*)(numbers.data + place);
#if defined(__CUDA_ARCH__)
    atomicMax(where, __float_as_int(value));
#else
    int bits; __builtin_memcpy(&bits, &value, 4);
    int seen = __atomic_load_n(where, __ATOMIC_RELAXED);
    while (seen < bits && !__atomic_compare_exchange_n(where, &seen, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
#endif
"""
)
def highest(numbers: wp.array[wp.float32], place: int, value: float) -> None:
    """Raise a number to a value, if that is higher; safe among threads, and the same in any order."""


@wp.func
def close_batch(done: int, last: int, lists: Lists):
    """Count the steps of a batch, and keep the residual of its last sweep."""
    lists.clock[0] = lists.clock[0] + wp.int64(done)
    lists.flags[wp.static(DONE)] = 0
    if last >= 0:
        lists.reach[wp.static(RESIDUAL)] = lists.reach[wp.static(CHANGES) + last % 3]
    for turn in range(3):
        lists.reach[wp.static(CHANGES) + turn] = 0.0


@functools.cache
def grain_impulses(features: Features) -> wp.Function:
    """A function `(i, lane, lanes, sweeps, final, ...) -> vec14`: all contacts of a grain, by the model's method."""
    with_bodies, paper = bool(features.kinds) and features.method != "paper", features.method == "paper"
    pairs = {"nonsmooth": pair_impulses, "hertz": hertz_pairs, "paper": paper_pairs}[features.method](features)
    bodies_of = hertz_bodies if features.method == "hertz" else body_impulses
    touch = bodies_of(features) if with_bodies else None

    @wp.func
    def impulses(
        i: int, lane: int, lanes: int, sweeps: int, final: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies,
    ) -> vec14:  # fmt: skip
        total = vec14()
        if wp.static(paper):
            if lane == 0:
                total = pairs(i, sweeps, parameters, grains, lists, bodies)
        else:
            total = pairs(i, lane, lanes, final, parameters, grains, lists)
        if wp.static(with_bodies):
            if lane == 0 and lists.counts[i][1] > 0:
                more = touch(i, final, parameters, grains, lists, bodies)
                worst = wp.max(total[wp.static(CHANGE)], more[wp.static(CHANGE)])
                total += more
                total[wp.static(CHANGE)] = worst
        return total

    return impulses


@functools.cache
def team_kernel(features: Features) -> wp.Kernel:
    """Take steps, as one member of a team; grains are in `here`, and at the end again."""
    impulses, make, complete = grain_impulses(features), collect(features), finish(features)
    look_ahead = foresee(features)
    materials, guests, rolling = int(features.materials), int(features.guests), int(features.keeps_rolling)
    tracked, with_points, tolerant = features.tracked, features.points, features.tolerant
    bouncing = features.bouncing
    alone, many = features.method != "nonsmooth", features.worlds
    world, stale = world_of(features), is_stale(features)
    sums = body_total(features) if tracked else None
    press = point_contacts(features) if with_points else None

    @wp.func
    def refresh(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, low: int, high: int,
        parameters: Parameters, here: Grains, old: Grains, lists: Lists, kept: Lists, bodies: Bodies,
    ) -> int:  # fmt: skip
        """Sort the grains and make their lists; the new ticket."""
        for i in range(low, high):
            if stale(world(i, here), lists):
                keep_grain(i, here, old, wp.static(materials), wp.static(guests))
                keep_list(i, lists, kept, wp.static(rolling))
        team_barrier(counter, size, ticket + 1)
        if rank == 0:
            for i in range(parameters.count):
                v = here.velocities[i]
                place = reach_place(wp.static(FASTEST), world(i, here))
                lists.reach[place] = wp.max(lists.reach[place], v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            for w in range(parameters.worlds):
                place = reach_place(wp.static(FASTEST), w)
                lists.reach[place] = wp.sqrt(lists.reach[place])
                if wp.static(not many):
                    lists.flags[wp.static(FLAGS) + w] = 1
            for b in range(bodies.count):
                place = reach_place(wp.static(FASTEST), bodies.forms[b].world)
                lists.reach[place] = wp.max(lists.reach[place], body_speed(b, bodies))
            limit = float(0.0)
            for w in range(parameters.worlds):
                set_margin(w, lists.reach[reach_place(wp.static(FASTEST), w)], parameters, lists)
                limit = wp.max(limit, lists.reach[reach_place(wp.static(MARGIN), w)])
            lists.reach[wp.static(LIMIT)] = limit / (2.2 * parameters.dt)
            sort_here(parameters, lists, here)
            lists.flags[wp.static(STALE)] = 0
            lists.flags[wp.static(BUILDS)] = lists.flags[wp.static(BUILDS)] + 1
        team_barrier(counter, size, ticket + 2)
        for i in range(low, high):
            if stale(world(i, here), lists):  # a world lies in the same places before and after
                reorder(i, lists.order, old, here, wp.static(materials), wp.static(guests))
            if wp.static(bouncing):
                here.starts[i] = here.velocities[i]
        team_barrier(counter, size, ticket + 3)
        for i in range(low, high):
            make(i, parameters, here, kept, lists, bodies)
        team_barrier(counter, size, ticket + 4)
        if wp.static(tracked):
            if rank == 0:
                for t in range(bodies.count * bodies.chunks):
                    bodies.chunk_counts[t] = count_chunk(
                        t // bodies.chunks, t % bodies.chunks, parameters, lists, bodies
                    )
                scan_chunks(bodies)
                for t in range(bodies.count * bodies.chunks):
                    write_chunk(
                        t // bodies.chunks, t % bodies.chunks, bodies.chunk_counts[t], parameters, lists, bodies
                    )
                for b in range(bodies.count):
                    rest_body(b, lists, bodies)
        if rank == 0 and lists.flags[wp.static(HALTED)] == 0:
            for w in range(parameters.worlds):
                lists.flags[wp.static(FLAGS) + w] = 0
        return ticket + 4

    @wp.func
    def sweep(
        low: int, high: int, step: int, sweeps: int, final: int, parameters: Parameters, grains: Grains, next: Grains,
        lists: Lists, bodies: Bodies,
    ) -> float:  # fmt: skip
        worst = float(0.0)
        for i in range(low, high):
            total = impulses(i, 0, 1, sweeps, final, parameters, grains, lists, bodies)
            if wp.static(tolerant):
                worst = wp.max(worst, total[wp.static(CHANGE)])
            if final == 1:
                complete(i, step, total, parameters, grains, next, lists)
            else:
                look_ahead(i, total, parameters, grains, next)
        return worst

    @wp.kernel(module="unique", enable_backward=False)
    def run_team(
        rank: int, size: int, counter: wp.array[wp.int32], steps: int, sweeps: int, parameters: Parameters,
        a: Grains, b: Grains, old: Grains, lists: Lists, kept: Lists, bodies: Bodies,
    ):  # fmt: skip
        share = team_range(rank, size, parameters.count, 16)
        ticket = int(0)
        done = int(0)
        flips = int(0)
        turn = int(0)
        going = bool(True)
        while going and done < steps:
            if lists.flags[wp.static(STALE)] == 1:
                if flips % 2 == 1:
                    for i in range(share[0], share[1]):
                        a.positions[i] = b.positions[i]
                        a.forecast[i] = b.forecast[i]
                        a.turning[i] = b.turning[i]
                    flips += 1
                ticket = refresh(
                    rank, size, counter, ticket, share[0], share[1], parameters, a, old, lists, kept, bodies
                )
            team_barrier(counter, size, ticket + 1)
            ticket += 1
            if lists.flags[wp.static(HALTED)] == 1:
                going = False
            if going:
                s = int(0)
                final = int(0)
                while final == 0:
                    final = wp.where(s >= sweeps - 1 or wp.static(alone), 1, 0)
                    if wp.static(tolerant):
                        if s > 0 and lists.reach[wp.static(CHANGES) + (turn + 2) % 3] <= parameters.tolerance:
                            final = 1
                        if rank == 0:
                            lists.reach[wp.static(CHANGES) + (turn + 1) % 3] = 0.0
                    if flips % 2 == 0:
                        worst = sweep(share[0], share[1], done, sweeps, final, parameters, a, b, lists, bodies)
                    else:
                        worst = sweep(share[0], share[1], done, sweeps, final, parameters, b, a, lists, bodies)
                    if wp.static(tolerant):
                        highest(lists.reach, wp.static(CHANGES) + turn % 3, worst)
                    if wp.static(with_points):
                        points = team_range(rank, size, bodies.points.shape[0], 1)
                        for p in range(points[0], points[1]):
                            press(p, final, parameters, lists, bodies)
                    team_barrier(counter, size, ticket + 1)
                    ticket += 1
                    if wp.static(tracked):
                        if rank == 0:
                            for body in range(bodies.count):
                                bodies.totals[body] = sums(body, 0, 1, lists, bodies)
                            for body in range(bodies.count):
                                if final == 1:
                                    move_body(body, done, bodies.totals[body], parameters, lists, bodies)
                                else:
                                    foresee_body(body, bodies.totals[body], parameters, bodies)
                        team_barrier(counter, size, ticket + 1)
                        ticket += 1
                    flips += 1
                    turn += 1
                    s += 1
                done += 1
        team_barrier(counter, size, ticket + 1)
        if rank == 0:
            close_batch(done, turn - 1, lists)
        if flips % 2 == 1:
            for i in range(share[0], share[1]):
                a.positions[i] = b.positions[i]
                a.forecast[i] = b.forecast[i]
                a.turning[i] = b.turning[i]

    return run_team


@functools.cache
def sweep_kernel(features: Features, lanes: int) -> wp.Kernel:
    """One sweep over all grains, `lanes` threads a grain (CUDA); one that is skipped hands grains on unchanged."""
    impulses, complete, tolerant = grain_impulses(features), finish(features), features.tolerant
    bouncing = features.bouncing
    look_ahead = foresee(features)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def sweep(
        step: int, turn: int, sweeps: int, first: int, final: int, parameters: Parameters, grains: Grains, next: Grains,
        lists: Lists, bodies: Bodies,
    ):  # fmt: skip
        t = wp.tid()
        i = t // wp.static(lanes)
        lane = t % wp.static(lanes)
        skip = lists.flags[wp.static(HALTED)] == 1
        if wp.static(tolerant):
            before = lists.reach[wp.static(CHANGES) + (turn + 2) % 3]
            if first == 0 and final == 0 and before <= parameters.tolerance:
                skip = True
                highest(lists.reach, wp.static(CHANGES) + turn % 3, before)
            if t == 0:
                lists.reach[wp.static(CHANGES) + (turn + 1) % 3] = 0.0
        if skip:
            if lane == 0:
                next.positions[i] = grains.positions[i]
                next.forecast[i] = grains.forecast[i]
                next.turning[i] = grains.turning[i]
                if wp.static(bouncing):
                    next.starts[i] = grains.starts[i]
            return
        if t == 0:
            lists.flags[wp.static(DONE)] = step + 1
        total = impulses(i, lane, wp.static(lanes), sweeps, final, parameters, grains, lists, bodies)
        if lane == 0:
            if wp.static(tolerant):
                highest(lists.reach, wp.static(CHANGES) + turn % 3, total[wp.static(CHANGE)])
            if final == 1:
                complete(i, step, total, parameters, grains, next, lists)
            else:
                look_ahead(i, total, parameters, grains, next)

    return sweep


@functools.cache
def refresh_kernels(features: Features) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """First and last launches of making lists (CUDA): keep what there is, bring grains to their places, list."""
    make, world, stale, many = collect(features), world_of(features), is_stale(features), features.worlds
    bouncing = features.bouncing
    materials, guests, rolling = int(features.materials), int(features.guests), int(features.keeps_rolling)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def keep(grains: Grains, old: Grains, lists: Lists, kept: Lists):
        i = wp.tid()
        number = world(i, grains)
        if i == 0:
            lists.reach[wp.static(LIMIT)] = 0.0
            if wp.static(not many):
                lists.flags[wp.static(FLAGS)] = 1
        if stale(number, lists):
            keep_grain(i, grains, old, wp.static(materials), wp.static(guests))
            keep_list(i, lists, kept, wp.static(rolling))
            v = grains.velocities[i]
            speed = wp.length(wp.vec3(v[0], v[1], v[2]))
            wp.atomic_max(lists.reach, reach_place(wp.static(FASTEST), number), speed)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def bring(grains: Grains, old: Grains, lists: Lists):
        i = wp.tid()
        if stale(world(i, grains), lists):  # a world lies in the same places before and after
            reorder(i, lists.order, old, grains, wp.static(materials), wp.static(guests))
        if wp.static(bouncing):
            grains.starts[i] = grains.velocities[i]
        if i == 0:
            lists.flags[wp.static(STALE)] = 0
            lists.flags[wp.static(BUILDS)] = lists.flags[wp.static(BUILDS)] + 1

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def list_all(parameters: Parameters, grains: Grains, lists: Lists, kept: Lists, bodies: Bodies):
        make(wp.tid(), parameters, grains, kept, lists, bodies)

    return keep, bring, list_all


@wp.kernel
def finish_batch(turns: int, lists: Lists):
    """Count the steps that were done (CUDA)."""
    close_batch(lists.flags[wp.static(DONE)], turns - 1, lists)
