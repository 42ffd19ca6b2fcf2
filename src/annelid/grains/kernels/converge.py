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

import functools

import warp as wp

from annelid.core.launch import team_barrier, team_range
from annelid.grains.kernels.bodies import BODY_BLOCK, block_total, body_total, point_contacts
from annelid.grains.kernels.keeping import hand_back
from annelid.grains.kernels.layout import DONE, HALTED, RESIDUAL, Bodies, Features, Grains, Lists, Parameters, world_of
from annelid.grains.kernels.maxima import highest, largest
from annelid.grains.kernels.motion import finish, foresee
from annelid.grains.kernels.program import grain_impulses
from annelid.grains.kernels.rigid_motion import foresee_body, move_body
from annelid.grains.kernels.sums import ContactSum, added, as_row, contact_sum, from_row

wp.set_module_options({"enable_backward": False})


BEGINS, ODD, EVEN = range(3)
"""Sweeps of a step: the plain one, and the two of each pair that may follow."""


@wp.func
def set_weights(kind: int, parameters: Parameters, lists: Lists):
    """Weights of sweeps to come, and the number of those that will have been; done by one thread during a sweep."""
    if kind == wp.static(BEGINS):
        lists.blend[0] = 1.0
        lists.blend[2] = 1.0
        lists.reach[wp.static(RESIDUAL)] = 0.0
    elif kind == wp.static(ODD):
        last = wp.where(lists.blend[2] == 1.0, 2.0, lists.blend[0])
        lists.blend[1] = 1.0 / (1.0 - 0.25 * parameters.spread * last)
    else:
        lists.blend[0] = 1.0 / (1.0 - 0.25 * parameters.spread * lists.blend[1])
        lists.blend[2] = lists.blend[2] + 2.0
    if kind != wp.static(ODD):
        lists.active[0] = 0


@wp.func
def judge_world(w: int, most: int, parameters: Parameters, lists: Lists) -> int:
    """Whether a world is not solved yet after the sweeps that have been."""
    goes_on = int(0)
    if lists.blend[2] == 1.0 or lists.active[1 + w] == 1:
        change = lists.changes[w]
        if change > parameters.tolerance and lists.blend[2] < float(most):
            goes_on = 1
        else:
            highest(lists.reach, wp.static(RESIDUAL), change)
    lists.active[1 + w] = goes_on
    lists.changes[w] = 0.0
    return goes_on


@wp.func
def as_expected(total: ContactSum) -> ContactSum:
    """The sums with what is expected in place of what was: sweeps that follow the first one go on from there."""
    return contact_sum(
        total.predicted, total.predicted_angular, total.predicted, total.predicted_angular, total.contacts, total.change
    )


@functools.cache
def grain_sweep(features: Features, *, blended: bool) -> wp.Function:
    """A function `(i, lane, lanes, number, ...)`: a sweep over the contacts of a grain, the plain or another one.

    The number is 0 in the first sweep of a pair, which nobody judges, and 1 in all others.
    """
    impulses, look_ahead, world = grain_impulses(features, blended=blended), foresee(features), world_of(features)

    @wp.func
    def sweep(
        i: int, lane: int, lanes: int, number: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        w = world(i, grains)
        goes_on = bool(True)
        if wp.static(blended):
            goes_on = lists.active[1 + w] == 1
        if goes_on:
            total = impulses(i, lane, lanes, 1, number, parameters, grains, lists, bodies)
            if lane == 0:
                if number == 1:
                    highest(lists.changes, w, total.change)
                lists.totals[i] = total
                look_ahead(i, as_expected(total), parameters, grains, grains_out)
        elif lane == 0:
            hand_back(i, grains, grains_out)

    return sweep


# --- a team of CPU threads ---


@functools.cache
def team_solve(features: Features) -> wp.Function:
    """A function for each member of a team: one step. It returns how often the team has met.

    Grains are read from `a` and end there; `b` is used on the way.
    """
    begin, go_on = (grain_sweep(features, blended=blended) for blended in (False, True))
    complete, tracked, with_points = finish(features), features.tracked, features.points
    sums = body_total(features) if tracked else None
    expect = foresee_body(features) if tracked else None
    move = move_body(features) if tracked else None
    press = point_contacts(features) if with_points else None

    @wp.func
    def look(step: int, kind: int, most: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        """What one thread does between two sweeps: bodies follow, and worlds that are solved are found."""
        if wp.static(tracked):
            for b in range(bodies.count):
                if kind == wp.static(BEGINS) or lists.active[1 + bodies.forms[b].world] == 1:
                    bodies.totals[b] = sums(b, 0, 1, lists, bodies)
                    expect(b, step, as_expected(bodies.totals[b]), parameters, lists, bodies)
        if kind != wp.static(ODD):
            for w in range(parameters.worlds):
                lists.active[0] = wp.max(lists.active[0], judge_world(w, most, parameters, lists))

    @wp.func
    def solve(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, low: int, high: int, step: int, most: int,
        parameters: Parameters, a: Grains, b: Grains, lists: Lists, bodies: Bodies,
    ) -> int:  # fmt: skip
        met = int(0)
        kind = int(wp.static(BEGINS))
        going = bool(True)
        while going:
            if rank == 0:
                set_weights(kind, parameters, lists)
            before = a
            after = b
            if kind == wp.static(ODD):
                before = b
                after = a
            for i in range(low, high):
                if kind == wp.static(BEGINS):
                    begin(i, 0, 1, 1, parameters, before, lists, bodies, after)
                else:
                    go_on(i, 0, 1, wp.where(kind == wp.static(ODD), 0, 1), parameters, before, lists, bodies, after)
            if wp.static(with_points):
                points = team_range(rank, size, bodies.points.shape[0], 1)
                for p in range(points[0], points[1]):
                    if kind == wp.static(BEGINS) or lists.active[1 + world_of_point(p, bodies)] == 1:
                        press(p, wp.where(kind == wp.static(BEGINS), 1, 0), parameters, lists, bodies)
            team_barrier(counter, size, ticket + met + 1)
            if rank == 0:
                look(step, kind, most, parameters, lists, bodies)
            team_barrier(counter, size, ticket + met + 2)
            met += 2
            if kind != wp.static(ODD) and lists.active[0] == 0:
                going = False
            kind = wp.where(kind == wp.static(ODD), wp.static(EVEN), wp.static(ODD))
        for i in range(low, high):
            complete(i, step, lists.totals[i], parameters, b, lists, a)
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


@functools.cache
def sweep_kernels(features: Features, lanes: int) -> tuple[wp.Kernel, ...]:
    """Sweeps of each kind over all grains, `lanes` threads a grain."""
    return tuple(_sweep_kernel(features, kind, lanes) for kind in (BEGINS, ODD, EVEN))


def _sweep_kernel(features: Features, kind: int, lanes: int) -> wp.Kernel:
    take, number = grain_sweep(features, blended=kind != BEGINS), int(kind != ODD)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def sweep(step: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains):
        t = wp.tid()
        i = t // wp.static(lanes)
        lane = t % wp.static(lanes)
        if t == 0:
            set_weights(wp.static(kind), parameters, lists)
        if lists.flags[wp.static(HALTED)] == 1:
            if lane == 0:
                hand_back(i, grains, grains_out)
            return
        if wp.static(kind == BEGINS):
            if t == 0:
                lists.flags[wp.static(DONE)] = step + 1
        take(i, lane, wp.static(lanes), wp.static(number), parameters, grains, lists, bodies, grains_out)

    return sweep


@wp.kernel
def judge_worlds(most: int, parameters: Parameters, lists: Lists):
    """Find the worlds that are not solved yet."""
    w = wp.tid()
    if lists.flags[wp.static(HALTED)] == 0:
        if judge_world(w, most, parameters, lists) == 1:
            largest(lists.active, 0, 1)


@functools.cache
def complete_kernel(features: Features) -> wp.Kernel:
    """Move all grains by a step that is solved."""
    complete = finish(features)

    @wp.kernel(module="unique", enable_backward=False)
    def complete_grains(step: int, parameters: Parameters, grains: Grains, lists: Lists, grains_out: Grains):
        i = wp.tid()
        if lists.flags[wp.static(HALTED)] == 1:
            hand_back(i, grains, grains_out)
        else:
            complete(i, step, lists.totals[i], parameters, grains, lists, grains_out)

    return complete_grains


@functools.cache
def expect_kernels(features: Features) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """Let bodies follow a sweep: sum what touches them by shares, add these, or both where each has one share."""
    total, expect = body_total(features), foresee_body(features)

    @wp.func
    def goes_on(b: int, kind: int, lists: Lists, bodies: Bodies) -> bool:
        solved = kind != wp.static(BEGINS) and lists.active[1 + bodies.forms[b].world] == 0
        return lists.flags[wp.static(HALTED)] == 0 and not solved

    @wp.kernel(module="unique", enable_backward=False)
    def sum_shares(kind: int, lists: Lists, bodies: Bodies):
        t = wp.tid()
        share = t // wp.static(BODY_BLOCK)
        b = share // bodies.parts
        if goes_on(b, kind, lists, bodies):
            lane = t - b * bodies.parts * wp.static(BODY_BLOCK)
            row = block_total(as_row(total(b, lane, bodies.parts * wp.static(BODY_BLOCK), lists, bodies)))
            if t % wp.static(BODY_BLOCK) == 0:
                bodies.totals[share] = from_row(row)

    @wp.kernel(module="unique", enable_backward=False)
    def expect_bodies(step: int, kind: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        b = wp.tid()
        if goes_on(b, kind, lists, bodies):
            sums = ContactSum()
            for share in range(b * bodies.parts, (b + 1) * bodies.parts):
                sums = added(sums, bodies.totals[share])
            expect(b, step, as_expected(sums), parameters, lists, bodies)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_and_expect(step: int, kind: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        b = wp.tid() // wp.static(BODY_BLOCK)
        if goes_on(b, kind, lists, bodies):
            lane = wp.tid() % wp.static(BODY_BLOCK)
            row = block_total(as_row(total(b, lane, wp.static(BODY_BLOCK), lists, bodies)))
            if lane == 0:
                bodies.totals[b] = from_row(row)
                expect(b, step, as_expected(from_row(row)), parameters, lists, bodies)

    return sum_shares, expect_bodies, sum_and_expect


@functools.cache
def press_kernel(features: Features) -> wp.Kernel:
    """Contacts of all points of bodies in worlds that are not solved yet."""
    press = point_contacts(features)

    @wp.kernel(module="unique", enable_backward=False)
    def press_points(kind: int, parameters: Parameters, lists: Lists, bodies: Bodies):
        p = wp.tid()
        solved = kind != wp.static(BEGINS) and lists.active[1 + world_of_point(p, bodies)] == 0
        if lists.flags[wp.static(HALTED)] == 0 and not solved:
            press(p, wp.where(kind == wp.static(BEGINS), 1, 0), parameters, lists, bodies)

    return press_points
