"""Many steps in one launch, for a team of CPU threads that meet at barriers."""

import functools

import warp as wp

from annelid.core.launch import team_barrier, team_range
from annelid.grains.kernels.bodies import (
    body_speed,
    body_total,
    count_chunk,
    point_contacts,
    rest_body,
    scan_chunks,
    write_chunk,
)
from annelid.grains.kernels.cells import set_margin, sort_here
from annelid.grains.kernels.collect import collect, reorder
from annelid.grains.kernels.keeping import hand_back, keep_grain, keep_list
from annelid.grains.kernels.layout import (
    APPROACH,
    BUILDS,
    CHANGES,
    FASTEST,
    FLAGS,
    HALTED,
    LIMIT,
    MARGIN,
    STALE,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    is_stale,
    reach_place,
    world_of,
)
from annelid.grains.kernels.maxima import highest
from annelid.grains.kernels.motion import finish, foresee
from annelid.grains.kernels.program import close_batch, grain_impulses
from annelid.grains.kernels.rigid_motion import foresee_body, move_body

wp.set_module_options({"enable_backward": False})


@functools.cache
def find_margins(features: Features) -> wp.Function:
    """A function for one thread: find how far lists must reach, from the largest speed of each world."""
    world, many = world_of(features), features.worlds

    @wp.func
    def margins(parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies):
        for i in range(parameters.count):
            v = grains.velocities[i]
            place = reach_place(wp.static(FASTEST), world(i, grains))
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
        lists.reach[wp.static(LIMIT)] = limit / (wp.static(APPROACH) * parameters.dt)

    return margins


@wp.func
def list_touched(parameters: Parameters, lists: Lists, bodies: Bodies):
    """List, on one thread, the places of the lists of grains that name each body."""
    for t in range(bodies.count * bodies.chunks):
        bodies.chunk_counts[t] = count_chunk(t // bodies.chunks, t % bodies.chunks, parameters, lists, bodies)
    scan_chunks(bodies)
    for t in range(bodies.count * bodies.chunks):
        write_chunk(t // bodies.chunks, t % bodies.chunks, bodies.chunk_counts[t], parameters, lists, bodies)
    for b in range(bodies.count):
        rest_body(b, lists, bodies)


@functools.cache
def team_refresh(features: Features) -> wp.Function:
    """A function for each member: sort the grains and make their lists. It returns the new ticket."""
    make, margins, world, stale = collect(features), find_margins(features), world_of(features), is_stale(features)
    materials, guests, rolling = int(features.materials), int(features.guests), int(features.keeps_rolling)
    tracked, bouncing = features.tracked, features.bouncing

    @wp.func
    def refresh(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, low: int, high: int,
        parameters: Parameters, here: Grains, old: Grains, lists: Lists, kept: Lists, bodies: Bodies,
    ) -> int:  # fmt: skip
        for i in range(low, high):
            if stale(world(i, here), lists):
                keep_grain(i, wp.static(materials), wp.static(guests), here, old)
                keep_list(i, wp.static(rolling), lists, kept)
        team_barrier(counter, size, ticket + 1)
        if rank == 0:
            margins(parameters, here, lists, bodies)
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
        if rank == 0:
            if wp.static(tracked):
                list_touched(parameters, lists, bodies)
            if lists.flags[wp.static(HALTED)] == 0:
                for w in range(parameters.worlds):
                    lists.flags[wp.static(FLAGS) + w] = 0
        return ticket + 4

    return refresh


@functools.cache
def sweep_share(features: Features) -> wp.Function:
    """A function for each member: one sweep over its grains. It returns their largest change of a velocity."""
    impulses, complete, look_ahead = grain_impulses(features), finish(features), foresee(features)
    tolerant = features.tolerant

    @wp.func
    def sweep(
        low: int, high: int, step: int, sweeps: int, final: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ) -> float:  # fmt: skip
        worst = float(0.0)
        for i in range(low, high):
            total = impulses(i, 0, 1, sweeps, final, parameters, grains, lists, bodies)
            if wp.static(tolerant):
                worst = wp.max(worst, total.change)
            if final == 1:
                complete(i, step, total, parameters, grains, lists, grains_out)
            else:
                look_ahead(i, total, parameters, grains, grains_out)
        return worst

    return sweep


@functools.cache
def sum_and_move(features: Features) -> wp.Function:
    """A function for one thread: sum what touches each body, and move all of them or predict their motion."""
    sums, foresee, move = body_total(features), foresee_body(features), move_body(features)

    @wp.func
    def move_all(step: int, final: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        for b in range(bodies.count):
            bodies.totals[b] = sums(b, 0, 1, lists, bodies)
        for b in range(bodies.count):
            if final == 1:
                move(b, step, bodies.totals[b], parameters, lists, bodies)
            else:
                foresee(b, step, bodies.totals[b], parameters, lists, bodies)

    return move_all


@functools.cache
def team_step(features: Features) -> wp.Function:
    """A function for each member: the sweeps of one step. It returns their number; each meets at `barriers(features)`.

    Grains are read from `a` and written to `b` in even turns of `flips`, the other way in odd ones.
    """
    sweep = sweep_share(features)
    move_bodies = sum_and_move(features) if features.tracked else None
    press = point_contacts(features) if features.points else None
    tracked, with_points, tolerant = features.tracked, features.points, features.tolerant
    alone, each = features.method != "nonsmooth", barriers(features)

    @wp.func
    def take(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, low: int, high: int, step: int, sweeps: int,
        flips: int, turn: int, parameters: Parameters, a: Grains, b: Grains, lists: Lists, bodies: Bodies,
    ) -> int:  # fmt: skip
        s = int(0)
        final = int(0)
        while final == 0:
            final = wp.where(s >= sweeps - 1 or wp.static(alone), 1, 0)
            if wp.static(tolerant):
                if s > 0 and lists.reach[wp.static(CHANGES) + (turn + s + 2) % 3] <= parameters.tolerance:
                    final = 1
                if rank == 0:
                    lists.reach[wp.static(CHANGES) + (turn + s + 1) % 3] = 0.0
            if (flips + s) % 2 == 0:
                worst = sweep(low, high, step, sweeps, final, parameters, a, lists, bodies, b)
            else:
                worst = sweep(low, high, step, sweeps, final, parameters, b, lists, bodies, a)
            if wp.static(tolerant):
                highest(lists.reach, wp.static(CHANGES) + (turn + s) % 3, worst)
            if wp.static(with_points):
                points = team_range(rank, size, bodies.points.shape[0], 1)
                for p in range(points[0], points[1]):
                    press(p, final, parameters, lists, bodies)
            team_barrier(counter, size, ticket + wp.static(each) * s + 1)
            if wp.static(tracked):
                if rank == 0:
                    move_bodies(step, final, parameters, lists, bodies)
                team_barrier(counter, size, ticket + wp.static(each) * s + 2)
            s += 1
        return s

    return take


def barriers(features: Features) -> int:
    """How often a team meets in a sweep."""
    return 2 if features.tracked else 1


@functools.cache
def team_kernel(features: Features) -> wp.Kernel:
    """Take steps, as one member of a team; grains are in `a` at the beginning and at the end."""
    refresh, take, each = team_refresh(features), team_step(features), barriers(features)

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
                        hand_back(i, b, a)
                    flips += 1
                ticket = refresh(
                    rank, size, counter, ticket, share[0], share[1], parameters, a, old, lists, kept, bodies
                )
            team_barrier(counter, size, ticket + 1)
            ticket += 1
            if lists.flags[wp.static(HALTED)] == 1:
                going = False
            if going:
                taken = take(
                    rank, size, counter, ticket, share[0], share[1], done, sweeps, flips, turn, parameters, a, b,
                    lists, bodies,
                )  # fmt: skip
                ticket += wp.static(each) * taken
                flips += taken
                turn += taken
                done += 1
        team_barrier(counter, size, ticket + 1)
        if rank == 0:
            close_batch(done, turn - 1, lists)
        if flips % 2 == 1:
            for i in range(share[0], share[1]):
                hand_back(i, b, a)

    return run_team
