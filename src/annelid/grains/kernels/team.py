"""Many steps in one launch, for a team of CPU threads that meet at barriers."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.grains.kernels.allowances import body_speed, is_away, set_allowance
from annelid.grains.kernels.bodies import body_total
from annelid.grains.kernels.cells import set_margin, sort_world
from annelid.grains.kernels.collect import collect, collect_bodies, reorder
from annelid.grains.kernels.converge import BEGINS, as_expected, close_step, more_follow, world_of_point
from annelid.grains.kernels.layout import (
    APPROACH,
    BUILDS,
    CHANGES,
    FLAGS,
    HALTED,
    LIMIT,
    MARGIN,
    RESIDUAL,
    STALE,
    Bodies,
    Features,
    Grains,
    Lists,
    Moment,
    Parameters,
    is_stale,
    moment_of,
    reach_place,
    world_of,
)
from annelid.grains.kernels.list_backup import hand_back, keep_grain, keep_list
from annelid.grains.kernels.motion import foresee
from annelid.grains.kernels.phases import BODIES, POINTS, Phase, step_of
from annelid.grains.kernels.program import close_batch
from annelid.grains.kernels.rigid_motion import given_if_final
from annelid.grains.kernels.shares import IN_TURN, LISTING, MOVING, SWEEPING, divide_rows, forget_claims, next_rows
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


# --- the phases of a step, see `phases` ---


@once
def _rows_phase(features: Features, phase: Phase) -> wp.Function:
    """A function for each member: what a phase does with rows, of which members take some by turns."""
    act, takes, world = phase.act, phase.takes, world_of(features)

    @wp.func
    def go(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, use: int, moment: Moment,
        parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains,
        shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        rows = next_rows(use, rank, size, shares, claims)
        while rows[0] < rows[1]:
            for i in range(rows[0], rows[1]):
                if takes(world(i, grains), moment, parameters, lists):
                    act(i, 0, 1, moment, parameters, grains, lists, bodies, grains_out)
            rows = next_rows(use, rank, size, shares, claims)
        return ticket

    return go


@once
def _points_phase(features: Features, phase: Phase) -> wp.Function:
    """The same with points of bodies, a share of them."""
    act, takes = phase.act, phase.takes

    @wp.func
    def go(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, use: int, moment: Moment,
        parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains,
        shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        points = team_range(rank, size, bodies.points.shape[0], 1)
        for p in range(points[0], points[1]):
            if takes(world_of_point(p, bodies), moment, parameters, lists):
                act(p, moment, parameters, lists, bodies)
        return ticket

    return go


@once
def _bodies_phase(features: Features, phase: Phase) -> wp.Function:
    """The same with bodies, which are few: one member takes all of them, after rows and points."""
    sums, given = body_total(features), given_if_final(features)
    act, takes, summed = phase.act, phase.takes, phase.sweeps

    @wp.func
    def go(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, use: int, moment: Moment,
        parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains,
        shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        if wp.static(summed):  # else nothing has changed since the last sweep
            team_barrier(counter, size, ticket + 1)
        if rank == 0:
            if wp.static(summed):
                for b in range(bodies.count):
                    if takes(bodies.forms[b].world, moment, parameters, lists):
                        bodies.totals[b] = sums(b, 0, 1, lists, bodies)
            for b in range(bodies.count):
                if takes(bodies.forms[b].world, moment, parameters, lists):
                    told = given(b, moment, lists, bodies)
                    act(b, moment, told, bodies.totals[b], parameters, lists, bodies)
        return ticket + wp.static(int(summed))

    return go


@once
def _in_order(features: Features, phases: tuple[Phase, ...]) -> wp.Function:
    """A function for each member: phases one after the other; the new ticket, at which members do not meet yet."""
    first = {BODIES: _bodies_phase, POINTS: _points_phase}.get(phases[0].over, _rows_phase)(features, phases[0])
    if len(phases) == 1:
        return first
    rest = _in_order(features, phases[1:])

    @wp.func
    def go(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, use: int, moment: Moment,
        parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains,
        shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        after = first(
            rank, size, counter, ticket, use, moment, parameters, grains, lists, bodies, grains_out, shares, claims
        )
        return rest(
            rank, size, counter, after, use, moment, parameters, grains, lists, bodies, grains_out, shares, claims
        )

    return go


@once
def team_sweeps(features: Features) -> wp.Function:
    """A function for each member: one step of a number of sweeps, which it returns; members meet at `barriers` in each.

    Grains are read from `a` and written to `b` in even turns of `flips`, the other way in odd ones.
    """
    sweep, each = _in_order(features, step_of(features, lazy=True).follow), barriers(features)
    tolerant, alone = features.tolerant, features.method != "nonsmooth"

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
            moment = moment_of(step, s, turn + s, sweeps, final)
            met = sweep(
                rank, size, counter, ticket + wp.static(each) * s, use, moment, parameters, before, lists, bodies,
                after, shares, claims,
            )  # fmt: skip
            team_barrier(counter, size, met + 1)
            s += 1
        return s

    return take


def barriers(features: Features) -> int:
    """How often a team meets in a sweep."""
    return 2 if features.tracked else 1


@once
def team_solve(features: Features) -> wp.Function:
    """A function for each member: one step that converges. It returns how often the team has met.

    Grains are read from `a` and end there; `b` is used on the way.
    """
    phases = step_of(features, lazy=True)
    begin, follow, end = (_in_order(features, group) for group in (phases.begin, phases.follow, phases.end))
    look_ahead, tracked = foresee(features), features.tracked

    @wp.func
    def look(moment: Moment, parameters: Parameters, lists: Lists):
        """Find whether some world goes on, on one thread between two sweeps."""
        going = more_follow(moment, parameters, lists)
        lists.active[0] = wp.where(going, 1, 0)
        if not going:
            lists.active[1] = 0
            lists.reach[wp.static(RESIDUAL)] = 0.0
            for w in range(parameters.worlds):
                close_step(w, moment.most, parameters, lists)

    @wp.func(inline=False)
    def solve(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, step: int, most: int, parameters: Parameters,
        a: Grains, b: Grains, lists: Lists, bodies: Bodies, shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        met = int(ticket)
        number = int(wp.static(BEGINS))
        going = bool(True)
        while going:
            before = a
            after = b
            if number % 2 == 0:
                before = b
                after = a
            moment = moment_of(step, number, 0, most, 0)
            if number == wp.static(BEGINS):
                met = begin(
                    rank, size, counter, met, wp.static(SWEEPING), moment, parameters, before, lists, bodies, after,
                    shares, claims,
                )  # fmt: skip
            else:
                met = follow(
                    rank, size, counter, met, wp.static(SWEEPING), moment, parameters, before, lists, bodies, after,
                    shares, claims,
                )  # fmt: skip
            if wp.static(not tracked):
                met += 1
                team_barrier(counter, size, met)
            if rank == 0:
                look(moment, parameters, lists)
                forget_claims(wp.static(SWEEPING), size, claims)
                forget_claims(wp.static(MOVING), size, claims)
            met += 1
            team_barrier(counter, size, met)
            going = lists.active[0] == 1
            if going and number == wp.static(BEGINS):
                rows = next_rows(wp.static(MOVING), rank, size, shares, claims)
                while rows[0] < rows[1]:
                    for i in range(rows[0], rows[1]):
                        look_ahead(i, as_expected(lists.totals[i]), parameters, a, b)
                    rows = next_rows(wp.static(MOVING), rank, size, shares, claims)
                met += 1
                team_barrier(counter, size, met)
            number += 1
        moment = moment_of(step, number, 0, most, 1)
        met = end(  # sweeps do not move grains
            rank, size, counter, met, wp.static(MOVING), moment, parameters, a, lists, bodies, a, shares, claims
        )
        team_barrier(counter, size, met + 1)
        return met + 1 - ticket

    return solve


@once
def team_kernel(features: Features) -> wp.Kernel:
    """Take steps, as one member of a team; grains are in `a` at the beginning and at the end."""
    refresh, converging = team_refresh(features), features.converging
    solve = team_solve(features) if converging else None
    take = None if converging else team_sweeps(features)
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
