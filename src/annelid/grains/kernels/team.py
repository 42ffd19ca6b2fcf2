"""Many steps in one launch, for a team of CPU threads that meet at barriers."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.grains.kernels.allowances import body_speed, is_away, set_allowance
from annelid.grains.kernels.bodies import body_total, point_contacts
from annelid.grains.kernels.cells import set_margin, sort_world
from annelid.grains.kernels.collect import collect, collect_bodies, reorder
from annelid.grains.kernels.converge import team_solve
from annelid.grains.kernels.keeping import hand_back, keep_grain, keep_list
from annelid.grains.kernels.layout import (
    APPROACH,
    BUILDS,
    CHANGES,
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
)
from annelid.grains.kernels.maxima import highest
from annelid.grains.kernels.motion import finish, foresee
from annelid.grains.kernels.program import close_batch, grain_impulses
from annelid.grains.kernels.rigid_motion import foresee_body, move_body
from annelid.grains.kernels.shares import IN_TURN, LISTING, divide_rows, forget_claims, next_rows
from annelid.grains.kernels.touched import list_touched

wp.set_module_options({"enable_backward": False})


@wp.func
def find_margin(w: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies):
    """Find how far the lists of a world must reach, from its largest speed."""
    fastest = float(0.0)
    for i in range(lists.first_of_world[w], lists.first_of_world[w + 1]):
        v = grains.velocities[i]
        fastest = wp.max(fastest, v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    fastest = wp.sqrt(fastest)
    for b in range(bodies.first_of_world[w], bodies.first_of_world[w + 1]):
        if not is_away(b, parameters, bodies):
            fastest = wp.max(fastest, body_speed(b, bodies))
    set_margin(w, fastest, parameters, lists)


@wp.func
def note_limit(parameters: Parameters, lists: Lists):
    """Tell the largest speed that the lists of any world allow for."""
    limit = float(0.0)
    for w in range(parameters.worlds):
        limit = wp.max(limit, lists.reach[reach_place(wp.static(MARGIN), w)])
    lists.reach[wp.static(LIMIT)] = limit / (wp.static(APPROACH) * parameters.dt)


@wp.func
def rows_within(w: int, low: int, high: int, lists: Lists) -> wp.vec2i:
    """Rows of a world among those of a member."""
    return wp.vec2i(wp.max(low, lists.first_of_world[w]), wp.min(high, lists.first_of_world[w + 1]))


@once
def team_refresh(features: Features) -> wp.Function:
    """A function for each member: sort the grains of stale worlds and make their lists. It returns the new ticket."""
    allowing = features.allowing
    list_grains, stale = collect(features, allowed=allowing), is_stale(features)
    list_bodies = collect_bodies(features) if features.kinds else None
    materials, guests, rolling = int(features.materials), int(features.guests), int(features.keeps_rolling)
    tracked, bouncing, many = features.tracked, features.bouncing, features.worlds
    touchable = bool(features.kinds)

    @wp.func(inline=False)
    def refresh(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, low: int, high: int,
        parameters: Parameters, here: Grains, old: Grains, lists: Lists, kept: Lists, bodies: Bodies,
        shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        for w in range(parameters.worlds):
            if stale(w, lists):
                rows = rows_within(w, low, high, lists)
                for i in range(rows[0], rows[1]):
                    keep_grain(i, wp.static(materials), wp.static(guests), here, old)
                    keep_list(i, 0, 1, wp.static(rolling), lists, kept)
        if wp.static(not many):
            if rank == 0:
                lists.flags[wp.static(FLAGS)] = 1
        team_barrier(counter, size, ticket + 1)
        for w in range(rank, parameters.worlds, size):
            if stale(w, lists):
                find_margin(w, parameters, here, lists, bodies)
                sort_world(w, parameters, lists, here)
        team_barrier(counter, size, ticket + 2)
        if rank == 0:
            note_limit(parameters, lists)
            lists.flags[wp.static(STALE)] = 0
            lists.flags[wp.static(BUILDS)] = lists.flags[wp.static(BUILDS)] + 1
            forget_claims(wp.static(LISTING), size, claims)
        for w in range(parameters.worlds):
            if stale(w, lists):  # a world lies in the same rows before and after
                rows = rows_within(w, low, high, lists)
                for i in range(rows[0], rows[1]):
                    reorder(i, parameters, old, here, lists, wp.static(materials), wp.static(guests))
                    if wp.static(allowing):
                        set_allowance(i, parameters, here, lists)
        if wp.static(bouncing):
            for i in range(low, high):
                here.starts[i] = here.velocities[i]
        team_barrier(counter, size, ticket + 3)
        taken = next_rows(wp.static(LISTING), rank, size, shares, claims)
        while taken[0] < taken[1]:
            for i in range(taken[0], taken[1]):  # of worlds whose lists are stale
                list_grains(i, 0, 1, parameters, here, kept, lists)
                if wp.static(touchable):
                    list_bodies(i, parameters, here, kept, lists, bodies)
            taken = next_rows(wp.static(LISTING), rank, size, shares, claims)
        team_barrier(counter, size, ticket + 4)
        if rank == 0:
            if wp.static(tracked):
                list_touched(parameters, here, lists, bodies)
            if lists.flags[wp.static(HALTED)] == 0:
                for w in range(parameters.worlds):
                    lists.flags[wp.static(FLAGS) + w] = 0
        if rank == size - 1:
            divide_rows(size, parameters, lists, shares)
        return ticket + 4

    return refresh


@once
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
                worst = wp.max(worst, total.angular[3])
            if final == 1:
                complete(i, step, total, parameters, grains, lists, grains_out)
            else:
                look_ahead(i, total, parameters, grains, grains_out)
        return worst

    return sweep


@once
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


@once
def team_step(features: Features) -> wp.Function:
    """A function for each member: the sweeps of one step. It returns their number; each meets at `barriers(features)`.

    Grains are read from `a` and written to `b` in even turns of `flips`, the other way in odd ones.
    """
    sweep = sweep_share(features)
    move_bodies = sum_and_move(features) if features.tracked else None
    press = point_contacts(features) if features.points else None
    tracked, with_points, tolerant = features.tracked, features.points, features.tolerant
    alone, each = features.method != "nonsmooth", barriers(features)

    @wp.func(inline=False)
    def take(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, step: int, sweeps: int,
        flips: int, turn: int, parameters: Parameters, a: Grains, b: Grains, lists: Lists, bodies: Bodies,
        shares: wp.array[wp.int32], claims: wp.array[wp.int32],
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
            before = a  # one call, not two, is half of the code to compile
            after = b
            if (flips + s) % 2 == 1:
                before = b
                after = a
            use = wp.static(IN_TURN) + (turn + s) % 3
            if rank == 0:
                forget_claims(wp.static(IN_TURN) + (turn + s + 1) % 3, size, claims)
            rows = next_rows(use, rank, size, shares, claims)
            while rows[0] < rows[1]:
                worst = sweep(rows[0], rows[1], step, sweeps, final, parameters, before, lists, bodies, after)
                if wp.static(tolerant):
                    highest(lists.reach, wp.static(CHANGES) + (turn + s) % 3, worst)
                rows = next_rows(use, rank, size, shares, claims)
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


@once
def team_kernel(features: Features) -> wp.Kernel:
    """Take steps, as one member of a team; grains are in `a` at the beginning and at the end."""
    refresh, converging = team_refresh(features), features.converging
    solve = team_solve(features) if converging else None
    take = None if converging else team_step(features)
    each = barriers(features)

    @wp.kernel(module="unique", enable_backward=False)
    def run_team(
        rank: int, size: int, counter: wp.array[wp.int32], steps: int, sweeps: int, parameters: Parameters,
        a: Grains, b: Grains, old: Grains, lists: Lists, kept: Lists, bodies: Bodies, shares: wp.array[wp.int32],
        claims: wp.array[wp.int32],
    ):  # fmt: skip
        share = wp.vec2i(shares[rank], shares[rank + 1])
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
                    rank, size, counter, ticket, share[0], share[1], parameters, a, old, lists, kept, bodies, shares,
                    claims,
                )  # fmt: skip
            team_barrier(counter, size, ticket + 1)
            share = wp.vec2i(shares[rank], shares[rank + 1])
            ticket += 1
            if lists.flags[wp.static(HALTED)] == 1:
                going = False
            if going:
                if wp.static(converging):
                    ticket += solve(
                        rank, size, counter, ticket, done, sweeps, parameters, a, b, lists, bodies, shares, claims
                    )
                else:
                    taken = take(
                        rank, size, counter, ticket, done, sweeps, flips, turn, parameters, a, b, lists, bodies,
                        shares, claims,
                    )  # fmt: skip
                    ticket += wp.static(each) * taken
                    flips += taken
                    turn += taken
                done += 1
        team_barrier(counter, size, ticket + 1)
        if rank == 0:
            close_batch(done, turn - 1, lists)
            for use in range(3):
                forget_claims(wp.static(IN_TURN) + use, size, claims)
        if flips % 2 == 1:
            for i in range(share[0], share[1]):
                hand_back(i, b, a)

    return run_team
