"""Steps that are solved: sweeps over all contacts go on until none changes a velocity any more.

A plain sweep carries a blow from a grain to its neighbours, so that one sweep a step lets a heavy body sink while the
bed learns of it. Such sweeps contract by rates between a/(a + 1) and 1, with a set by the softness of contacts; those
that know this range converge in the root of the sweeps that plain ones take (Chebyshev's semi-iteration). With F(l) a
plain sweep from impulses l, and P the clip to what pushes and rubs,

    l[k+1] = P(l[k-1] + w[k] (l[k] + over (F(l[k]) - l[k]) - l[k-1])),    w[1] = 1, w[2] = 1 / (1 - s/2),
                                                                         w[k+1] = 1 / (1 - s w[k] / 4).

A step begins with a plain sweep, as if it were the only one; where that changes no velocity by more than the tolerance
it is, so that a bed at rest costs one sweep. Worlds are solved by themselves: one that is done waits for the others.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.grains.kernels.bodies import BODY_BLOCK, block_total, body_total, point_contacts
from annelid.grains.kernels.keeping import hand_back
from annelid.grains.kernels.layout import (
    ALL,
    APART,
    BESIDE,
    DONE,
    HALTED,
    RESIDUAL,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    world_of,
)
from annelid.grains.kernels.maxima import highest, largest
from annelid.grains.kernels.motion import finish, foresee
from annelid.grains.kernels.program import FAST, FEWER_REGISTERS, REGISTERS, grain_impulses
from annelid.grains.kernels.rigid_motion import foresee_body, move_body
from annelid.grains.kernels.shares import MOVING, SWEEPING, forget_claims, next_rows
from annelid.grains.kernels.simd4 import with_last
from annelid.grains.kernels.sums import ContactSum, added, as_rows, from_rows

wp.set_module_options({"enable_backward": False})


BEGINS = -1
"""Number of the plain sweep that a step begins with; those that may follow it in pairs are counted from 0."""


def sweep_weights(spread: float, most: int) -> list[float]:
    """Weights of the sweeps after the first, of which there are so many with it at most."""
    weights = [1.0]
    while len(weights) < most - 1:
        last = 2.0 if len(weights) == 1 else weights[-1]
        weights.append(1.0 / (1.0 - 0.25 * spread * last))
    return weights


@wp.func
def goes_on(number: int, world: int, parameters: Parameters, lists: Lists) -> bool:
    """Whether a world takes part in a sweep; it does in both of a pair or in neither.

    No pair that was left out has changed anything, so that none follows it.
    """
    needed = bool(True)
    if number >= 0:
        needed = lists.changes[number // 2 * parameters.worlds + world] > parameters.tolerance
    return needed


@wp.func
def close_step(world: int, most: int, parameters: Parameters, lists: Lists):
    """Note how well a world was solved and in how many sweeps, and make room for the next step."""
    change = lists.changes[world]
    sweeps = int(1)
    for pair in range((most - 1) // 2):
        place = (pair + 1) * parameters.worlds + world
        if lists.changes[place - parameters.worlds] > parameters.tolerance:
            change = lists.changes[place]
            sweeps += 2
        lists.changes[place - parameters.worlds] = 0.0
    lists.changes[(most - 1) // 2 * parameters.worlds + world] = 0.0
    highest(lists.reach, wp.static(RESIDUAL), change)
    largest(lists.active, 1, sweeps)


@wp.func
def as_expected(total: ContactSum) -> ContactSum:
    """The sums with what is expected in place of what was: sweeps that follow the first one go on from there."""
    out = total
    out.impulse = with_last(total.predicted, total.impulse[3])
    out.angular = with_last(total.predicted_angular, total.angular[3])
    return out


@once
def grain_sweep(features: Features, *, blended: bool, rows: int = ALL) -> wp.Function:
    """A function `(i, lane, lanes, number, ...)`: a sweep over the contacts of a grain, the plain or another one.

    On CUDA. It tells in `Lists.asked` whether the next pair has to follow.
    """
    impulses = grain_impulses(features, blended=blended, rows=rows)
    look_ahead, world = foresee(features), world_of(features)

    @wp.func
    def sweep(
        i: int, lane: int, lanes: int, number: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        w = world(i, grains)
        if goes_on(number, w, parameters, lists):  # else grains stay as an even number of sweeps has left them
            final = int(1)
            if wp.static(blended):
                final = number
            total = impulses(i, lane, lanes, 1, final, parameters, grains, lists, bodies)
            if lane == 0:
                if number % 2 != 0:  # of a pair the second is judged
                    highest(lists.changes, (number + 1) // 2 * parameters.worlds + w, total.angular[3])
                    if total.angular[3] > parameters.tolerance:
                        lists.asked[(number + 1) // 2] = 1
                lists.totals[i] = total
                look_ahead(i, as_expected(total), parameters, grains, grains_out)

    return sweep


# --- a team of CPU threads ---


@once
def solve_share(features: Features, *, blended: bool) -> wp.Function:
    """A function for each member: a sweep over some grains, the plain or another one.

    What grains bring to a next sweep is left open by the plain one, which is the last of most steps.
    """
    impulses, look_ahead, world = grain_impulses(features, blended=blended), foresee(features), world_of(features)

    @wp.func
    def sweep(
        low: int, high: int, number: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies,
        grains_out: Grains,
    ):  # fmt: skip
        final = int(1)
        if wp.static(blended):
            final = number
        for i in range(low, high):
            w = world(i, grains)
            if goes_on(number, w, parameters, lists):  # else grains stay as an even number of sweeps has left them
                total = impulses(i, 0, 1, 1, final, parameters, grains, lists, bodies)
                lists.totals[i] = total
                if number % 2 != 0:  # of a pair the second is judged
                    highest(lists.changes, (number + 1) // 2 * parameters.worlds + w, total.angular[3])
                if wp.static(blended):
                    look_ahead(i, as_expected(total), parameters, grains, grains_out)

    return sweep


@once
def team_solve(features: Features) -> wp.Function:
    """A function for each member of a team: one step. It returns how often the team has met.

    Grains are read from `a` and end there; `b` is used on the way.
    """
    begin, go_on = (solve_share(features, blended=blended) for blended in (False, True))
    look_ahead, complete = foresee(features), finish(features)
    tracked, with_points = features.tracked, features.points
    sums = body_total(features) if tracked else None
    expect = foresee_body(features) if tracked else None
    move = move_body(features) if tracked else None
    press = point_contacts(features) if with_points else None

    @wp.func
    def look(step: int, number: int, most: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        """What one thread does between two sweeps: bodies follow, and it is found whether some world goes on."""
        if wp.static(tracked):
            for b in range(bodies.count):
                if goes_on(number, bodies.forms[b].world, parameters, lists):
                    bodies.totals[b] = sums(b, 0, 1, lists, bodies)
                    expect(b, step, as_expected(bodies.totals[b]), parameters, lists, bodies)
        going = int(0)
        if number + 3 < most or number % 2 == 0:
            for w in range(parameters.worlds):
                if goes_on(number + 1, w, parameters, lists):
                    going = 1
        lists.active[0] = going
        if going == 0:
            lists.active[1] = 0
            lists.reach[wp.static(RESIDUAL)] = 0.0
            for w in range(parameters.worlds):
                close_step(w, most, parameters, lists)

    @wp.func(inline=False)
    def solve(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, step: int, most: int, parameters: Parameters,
        a: Grains, b: Grains, lists: Lists, bodies: Bodies, shares: wp.array[wp.int32], claims: wp.array[wp.int32],
    ) -> int:  # fmt: skip
        met = int(0)
        number = int(wp.static(BEGINS))
        going = bool(True)
        while going:
            before = a
            after = b
            if number % 2 == 0:
                before = b
                after = a
            rows = next_rows(wp.static(SWEEPING), rank, size, shares, claims)
            while rows[0] < rows[1]:
                if number == wp.static(BEGINS):
                    begin(rows[0], rows[1], number, parameters, before, lists, bodies, after)
                else:
                    go_on(rows[0], rows[1], number, parameters, before, lists, bodies, after)
                rows = next_rows(wp.static(SWEEPING), rank, size, shares, claims)
            if wp.static(with_points):
                points = team_range(rank, size, bodies.points.shape[0], 1)
                for p in range(points[0], points[1]):
                    w = world_of_point(p, bodies)
                    if goes_on(number, w, parameters, lists):
                        change = press(p, wp.where(number == wp.static(BEGINS), 1, 0), parameters, lists, bodies)
                        if number % 2 != 0:  # of a pair the second is judged
                            highest(lists.changes, (number + 1) // 2 * parameters.worlds + w, change)
            team_barrier(counter, size, ticket + met + 1)
            if rank == 0:
                look(step, number, most, parameters, lists, bodies)
                forget_claims(wp.static(SWEEPING), size, claims)
                forget_claims(wp.static(MOVING), size, claims)
            team_barrier(counter, size, ticket + met + 2)
            met += 2
            going = lists.active[0] == 1
            if going and number == wp.static(BEGINS):
                rows = next_rows(wp.static(MOVING), rank, size, shares, claims)
                while rows[0] < rows[1]:
                    for i in range(rows[0], rows[1]):
                        look_ahead(i, as_expected(lists.totals[i]), parameters, a, b)
                    rows = next_rows(wp.static(MOVING), rank, size, shares, claims)
                team_barrier(counter, size, ticket + met + 1)
                met += 1
            number += 1
        rows = next_rows(wp.static(MOVING), rank, size, shares, claims)
        while rows[0] < rows[1]:
            for i in range(rows[0], rows[1]):
                complete(i, step, lists.totals[i], parameters, a, lists, a)  # sweeps do not move grains
            rows = next_rows(wp.static(MOVING), rank, size, shares, claims)
        if wp.static(tracked):
            if rank == 0:
                for k in range(bodies.count):
                    move(k, step, bodies.totals[k], parameters, lists, bodies)
        team_barrier(counter, size, ticket + met + 1)
        return met + 1

    return solve


@wp.func
def world_of_point(p: int, bodies: Bodies) -> int:
    """World of the body that a point belongs to."""
    return bodies.forms[int(bodies.points[p][3])].world


# --- launches on CUDA ---


@wp.func
def in_pair(number: int, lists: Lists) -> int:
    """Number of a sweep that is the first (0) or the second (1) of the pair that is taken now."""
    now = number
    if number >= 0:
        now = 2 * lists.pair[0] + number
    return now


@once
def begin_row(features: Features, rows: int) -> wp.Function:
    """A function `(i, lane, lanes, step, ...)`: the plain sweep of a step; halted ones hand grains on."""
    begin = grain_sweep(features, blended=False, rows=rows)

    @wp.func
    def row(
        i: int, lane: int, lanes: int, step: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        if lists.flags[wp.static(HALTED)] == 1:
            if lane == 0:
                hand_back(i, grains, grains_out)
        else:
            begin(i, lane, lanes, wp.static(BEGINS), parameters, grains, lists, bodies, grains_out)

    return row


@once
def follow_row(features: Features, rows: int) -> wp.Function:
    """A function `(i, lane, lanes, number, ...)`: a sweep that follows; worlds that are solved leave it out."""
    follow = grain_sweep(features, blended=True, rows=rows)

    @wp.func
    def row(
        i: int, lane: int, lanes: int, number: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        if lists.flags[wp.static(HALTED)] == 0:
            follow(i, lane, lanes, in_pair(number, lists), parameters, grains, lists, bodies, grains_out)

    return row


@wp.func
def note_step(step: int, lists: Lists):
    """What one thread does as a step begins."""
    if lists.flags[wp.static(HALTED)] == 0:
        lists.flags[wp.static(DONE)] = step + 1
        lists.reach[wp.static(RESIDUAL)] = 0.0
        lists.active[1] = 0


@wp.func
def note_nothing(number: int, lists: Lists):
    """What it does as a sweep follows."""


def begin_kernel(features: Features) -> wp.Kernel:
    """The plain sweep over all grains that a step begins with, a thread a grain."""
    return _sweep_kernel(begin_row(features, ALL), note_step)


def follow_kernel(features: Features) -> wp.Kernel:
    """The sweeps that may follow, a thread a grain."""
    return _sweep_kernel(follow_row(features, ALL), note_nothing)


def divided_begin_kernels(features: Features, lanes: int) -> tuple[wp.Kernel, wp.Kernel]:
    """The first of them in two parts that can be taken side by side; see `program.divided_sweep_kernels`."""
    return _divided_kernels(begin_row(features, APART), begin_row(features, BESIDE), note_step, lanes)


def divided_follow_kernels(features: Features, lanes: int) -> tuple[wp.Kernel, wp.Kernel]:
    """The others in two parts."""
    return _divided_kernels(follow_row(features, APART), follow_row(features, BESIDE), note_nothing, lanes)


@once
def _sweep_kernel(row: wp.Function, note: wp.Function) -> wp.Kernel:
    @wp.kernel(
        module="unique", enable_backward=False, grid_stride=False, module_options=FAST, cuda_max_registers=REGISTERS
    )
    def sweep(number: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains):
        i = wp.tid()
        if i == 0:
            note(number, lists)
        row(i, 0, 1, number, parameters, grains, lists, bodies, grains_out)

    return sweep


@once
def _divided_kernels(
    apart: wp.Function, beside: wp.Function, note: wp.Function, lanes: int
) -> tuple[wp.Kernel, wp.Kernel]:
    @wp.kernel(
        module="unique",
        enable_backward=False,
        grid_stride=False,
        module_options=FAST,
        cuda_max_registers=FEWER_REGISTERS,
    )
    def sweep_apart(
        number: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains
    ):  # fmt: skip
        i = wp.tid()
        if i == 0:
            note(number, lists)
        if lists.beside[i] == 0:
            apart(i, 0, 1, number, parameters, grains, lists, bodies, grains_out)

    @wp.kernel(
        module="unique", enable_backward=False, grid_stride=False, module_options=FAST, cuda_max_registers=REGISTERS
    )
    def sweep_beside(
        threads: int, number: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies,
        grains_out: Grains,
    ):  # fmt: skip
        t = wp.tid()
        for r in range(t // wp.static(lanes), lists.beside_count[0], threads // wp.static(lanes)):
            i = lists.beside_rows[r]
            beside(i, t % wp.static(lanes), wp.static(lanes), number, parameters, grains, lists, bodies, grains_out)

    return sweep_apart, sweep_beside


@once
def complete_kernel(features: Features) -> wp.Kernel:
    """Move all grains by what the last sweep has found."""
    complete = finish(features)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def complete_grains(
        step: int, most: int, parameters: Parameters, grains: Grains, lists: Lists, grains_out: Grains
    ):  # fmt: skip
        i = wp.tid()
        if lists.flags[wp.static(HALTED)] == 1:
            hand_back(i, grains, grains_out)
        else:
            complete(i, step, lists.totals[i], parameters, grains, lists, grains_out)
            if i == 0:
                lists.pair[0] = 0
            for pair in range(i, lists.asked.shape[0], parameters.count):
                lists.asked[pair] = 0
            for w in range(i, parameters.worlds, parameters.count):
                close_step(w, most, parameters, lists)

    return complete_grains


@wp.kernel(module="unique", enable_backward=False)
def next_pair(most: int, lists: Lists):
    """Ask whether another pair of sweeps follows the one before."""
    pair = lists.pair[0] + 1
    lists.pair[0] = pair
    lists.asked[0] = 0
    if pair < (most - 1) // 2:
        lists.asked[0] = lists.asked[pair]


@once
def expect_kernels(features: Features) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """Let bodies follow a sweep: sum what touches them by shares, add these, or both where each has one share."""
    total, expect = body_total(features), foresee_body(features)

    @wp.func
    def follows(b: int, number: int, parameters: Parameters, lists: Lists, bodies: Bodies) -> bool:
        now = in_pair(number, lists)
        return lists.flags[wp.static(HALTED)] == 0 and goes_on(now, bodies.forms[b].world, parameters, lists)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_shares(number: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        t = wp.tid()
        share = t // wp.static(BODY_BLOCK)
        b = share // bodies.parts
        if follows(b, number, parameters, lists, bodies):
            lane = t - b * bodies.parts * wp.static(BODY_BLOCK)
            rows = block_total(as_rows(total(b, lane, bodies.parts * wp.static(BODY_BLOCK), lists, bodies)))
            if t % wp.static(BODY_BLOCK) == 0:
                bodies.totals[share] = from_rows(rows)

    @wp.kernel(module="unique", enable_backward=False)
    def expect_bodies(step: int, number: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        b = wp.tid()
        if follows(b, number, parameters, lists, bodies):
            sums = ContactSum()
            for share in range(b * bodies.parts, (b + 1) * bodies.parts):
                sums = added(sums, bodies.totals[share])
            expect(b, step, as_expected(sums), parameters, lists, bodies)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_and_expect(step: int, number: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        b = wp.tid() // wp.static(BODY_BLOCK)
        if follows(b, number, parameters, lists, bodies):
            lane = wp.tid() % wp.static(BODY_BLOCK)
            rows = block_total(as_rows(total(b, lane, wp.static(BODY_BLOCK), lists, bodies)))
            if lane == 0:
                bodies.totals[b] = from_rows(rows)
                expect(b, step, as_expected(from_rows(rows)), parameters, lists, bodies)

    return sum_shares, expect_bodies, sum_and_expect


@once
def press_kernel(features: Features) -> wp.Kernel:
    """Contacts of all points of bodies in worlds that are not solved yet."""
    press = point_contacts(features)

    @wp.kernel(module="unique", enable_backward=False)
    def press_points(number: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        p = wp.tid()
        now = in_pair(number, lists)
        w = world_of_point(p, bodies)
        if lists.flags[wp.static(HALTED)] == 0 and goes_on(now, w, parameters, lists):
            change = press(p, wp.where(number == wp.static(BEGINS), 1, 0), parameters, lists, bodies)
            if now % 2 != 0:  # of a pair the second is judged
                highest(lists.changes, (now + 1) // 2 * parameters.worlds + w, change)
                if change > parameters.tolerance:
                    lists.asked[(now + 1) // 2] = 1

    return press_points
