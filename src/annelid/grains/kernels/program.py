"""The launches of a step on CUDA, and what they share with the team of CPU threads."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.allowances import set_allowance
from annelid.grains.kernels.cells import ordered_place
from annelid.grains.kernels.collect import collect, collect_bodies, reorder
from annelid.grains.kernels.hertz import hertz_bodies, hertz_pairs
from annelid.grains.kernels.keeping import hand_back, keep_grain, keep_list
from annelid.grains.kernels.layout import (
    ALL,
    APART,
    BESIDE,
    BUILDS,
    CHANGES,
    DONE,
    FASTEST,
    FLAGS,
    HALTED,
    LIMIT,
    RESIDUAL,
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
from annelid.grains.kernels.pairs import pair_impulses
from annelid.grains.kernels.paper import paper_pairs
from annelid.grains.kernels.sums import ContactSum, added
from annelid.grains.kernels.touch import body_impulses

wp.set_module_options({"enable_backward": False})


FAST = {"fast_math": True}
"""Options of sweeps on CUDA: divisions and roots as the device has them, to a few units in the last place.

Sweeps wait for them. Both sides of a contact still do the same arithmetic.
"""


REGISTERS = 144
"""Of a thread of a sweep on CUDA, at most: an H200 then holds some 59,000 of them at a time, enough for a usual bed."""

FEWER_REGISTERS = 128
"""The same of a sweep over grains that are apart from guests, which is done sooner by more threads at a time."""


@wp.func
def close_batch(done: int, last: int, lists: Lists):
    """Count the steps of a batch, and keep the residual of its last sweep."""
    lists.clock[0] = lists.clock[0] + wp.int64(done)
    lists.flags[wp.static(DONE)] = 0
    if last >= 0:
        lists.reach[wp.static(RESIDUAL)] = lists.reach[wp.static(CHANGES) + last % 3]
    for turn in range(3):
        lists.reach[wp.static(CHANGES) + turn] = 0.0


@once
def grain_impulses(features: Features, *, blended: bool = False, rows: int = ALL) -> wp.Function:
    """A function `(i, lane, lanes, sweeps, final, ...) -> ContactSum`: all contacts of a grain, by the method.

    Of blended sweeps, see `kernels.converge`, none is final, and that number says which one it is.
    """
    with_bodies, paper = bool(features.kinds) and features.method != "paper", features.method == "paper"
    if features.method == "nonsmooth":
        pairs = pair_impulses(features, blended=blended, rows=rows)
        touch = body_impulses(features, blended=blended) if with_bodies else None
    else:
        pairs = (hertz_pairs if features.method == "hertz" else paper_pairs)(features)
        touch = hertz_bodies(features) if with_bodies else None

    @wp.func
    def impulses(
        i: int, lane: int, lanes: int, sweeps: int, final: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies,
    ) -> ContactSum:  # fmt: skip
        total = ContactSum()
        if wp.static(paper):
            if lane == 0:
                total = pairs(i, sweeps, parameters, grains, lists, bodies)
        else:
            total = pairs(i, lane, lanes, final, parameters, grains, lists)
        if wp.static(with_bodies):
            if lane == 0 and lists.counts[i][1] > 0:
                total = added(total, touch(i, final, parameters, grains, lists, bodies))
        return total

    return impulses


@once
def sweep_row(features: Features, rows: int) -> wp.Function:
    """A function `(i, lane, lanes, ...)`: one sweep over the contacts of a grain; one that is skipped hands it on."""
    impulses, complete, tolerant = grain_impulses(features, rows=rows), finish(features), features.tolerant
    bouncing = features.bouncing
    look_ahead = foresee(features)

    @wp.func
    def sweep(
        i: int, lane: int, lanes: int, step: int, turn: int, sweeps: int, first: int, final: int,
        parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        skip = lists.flags[wp.static(HALTED)] == 1
        if wp.static(tolerant):
            before = lists.reach[wp.static(CHANGES) + (turn + 2) % 3]
            if first == 0 and final == 0 and before <= parameters.tolerance:
                skip = True
                highest(lists.reach, wp.static(CHANGES) + turn % 3, before)
        if skip:
            if lane == 0:
                hand_back(i, grains, grains_out)
                if wp.static(bouncing):
                    grains_out.starts[i] = grains.starts[i]
            return
        total = impulses(i, lane, lanes, sweeps, final, parameters, grains, lists, bodies)
        if lane == 0:
            if wp.static(tolerant):
                highest(lists.reach, wp.static(CHANGES) + turn % 3, total.angular[3])
            if final == 1:
                complete(i, step, total, parameters, grains, lists, grains_out)
            else:
                look_ahead(i, total, parameters, grains, grains_out)

    return sweep


@once
def note_sweep(features: Features) -> wp.Function:
    """A function that one thread of a sweep calls."""
    tolerant = features.tolerant

    @wp.func
    def note(step: int, turn: int, lists: Lists):
        if wp.static(tolerant):
            lists.reach[wp.static(CHANGES) + (turn + 1) % 3] = 0.0
        if lists.flags[wp.static(HALTED)] == 0:
            lists.flags[wp.static(DONE)] = step + 1

    return note


@once
def sweep_kernel(features: Features) -> wp.Kernel:
    """One sweep over all grains (CUDA), a thread each."""
    row, note = sweep_row(features, ALL), note_sweep(features)

    @wp.kernel(
        module="unique", enable_backward=False, grid_stride=False, module_options=FAST, cuda_max_registers=REGISTERS
    )
    def sweep(
        step: int, turn: int, sweeps: int, first: int, final: int, parameters: Parameters, grains: Grains,
        lists: Lists, bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        i = wp.tid()
        if i == 0:
            note(step, turn, lists)
        row(i, 0, 1, step, turn, sweeps, first, final, parameters, grains, lists, bodies, grains_out)

    return sweep


@once
def divided_sweep_kernels(features: Features, lanes: int) -> tuple[wp.Kernel, wp.Kernel]:
    """A sweep in two parts that can be taken side by side (CUDA): grains apart from guests, and guests with the others.

    A thread takes a row of the first part. Of the second, which `threads` take by turns, `lanes` of them share one.
    """
    apart, beside, note = sweep_row(features, APART), sweep_row(features, BESIDE), note_sweep(features)

    @wp.kernel(
        module="unique",
        enable_backward=False,
        grid_stride=False,
        module_options=FAST,
        cuda_max_registers=FEWER_REGISTERS,
    )
    def sweep_apart(
        step: int, turn: int, sweeps: int, first: int, final: int, parameters: Parameters, grains: Grains,
        lists: Lists, bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        i = wp.tid()
        if i == 0:
            note(step, turn, lists)
        if lists.beside[i] == 0:
            apart(i, 0, 1, step, turn, sweeps, first, final, parameters, grains, lists, bodies, grains_out)

    @wp.kernel(
        module="unique", enable_backward=False, grid_stride=False, module_options=FAST, cuda_max_registers=REGISTERS
    )
    def sweep_beside(
        threads: int, step: int, turn: int, sweeps: int, first: int, final: int, parameters: Parameters,
        grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        t = wp.tid()
        lane = t % wp.static(lanes)
        for r in range(t // wp.static(lanes), lists.beside_count[0], threads // wp.static(lanes)):
            i = lists.beside_rows[r]
            beside(
                i, lane, wp.static(lanes), step, turn, sweeps, first, final, parameters, grains, lists, bodies,
                grains_out,
            )  # fmt: skip

    return sweep_apart, sweep_beside


@once
def refresh_kernels(features: Features, lanes: int) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """Launches of making lists (CUDA): keep what there is, bring grains to their places, list neighbours.

    `lanes` threads a grain keep and list; one brings it.
    """
    make, world = collect(features, allowed=features.guests), world_of(features)
    stale, many = is_stale(features), features.worlds
    bouncing = features.bouncing
    materials, guests, rolling = int(features.materials), int(features.guests), int(features.keeps_rolling)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def keep(grains: Grains, lists: Lists, old_out: Grains, kept_out: Lists):
        t = wp.tid()
        i = t % lists.counts.shape[0]  # threads side by side copy rows side by side
        lane = t // lists.counts.shape[0]
        number = world(i, grains)
        for c in range(t, lists.cursors.shape[0], wp.static(lanes) * lists.counts.shape[0]):
            lists.cursors[c] = 0
        if t == 0:
            lists.reach[wp.static(LIMIT)] = 0.0
            if wp.static(not many):
                lists.flags[wp.static(FLAGS)] = 1
        if stale(number, lists):
            keep_list(i, lane, wp.static(lanes), wp.static(rolling), lists, kept_out)
            if lane == 0:
                keep_grain(i, wp.static(materials), wp.static(guests), grains, old_out)
                v = grains.velocities[i]
                speed = wp.length(wp.vec3(v[0], v[1], v[2]))
                highest(lists.reach, reach_place(wp.static(FASTEST), number), speed)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def bring(parameters: Parameters, old: Grains, grains: Grains, lists: Lists):
        i = wp.tid()
        place = int(i)
        if stale(world(i, grains), lists):  # a world lies in the same places before and after
            place = ordered_place(i, lists)
            reorder(place, parameters, old, grains, lists, wp.static(materials), wp.static(guests))
            if wp.static(guests == 1):
                set_allowance(place, parameters, grains, lists)
        if wp.static(bouncing):
            grains.starts[place] = grains.velocities[place]
        if i == 0:
            lists.flags[wp.static(STALE)] = 0
            lists.flags[wp.static(BUILDS)] = lists.flags[wp.static(BUILDS)] + 1

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def list_grains(parameters: Parameters, grains: Grains, kept: Lists, lists: Lists):
        t = wp.tid()
        make(t // wp.static(lanes), t % wp.static(lanes), wp.static(lanes), parameters, grains, kept, lists)

    return keep, bring, list_grains


@once
def list_bodies_kernel(features: Features) -> wp.Kernel:
    """List the bodies that are close to each grain (CUDA), a thread each."""
    make = collect_bodies(features)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def list_bodies(parameters: Parameters, grains: Grains, kept: Lists, lists: Lists, bodies: Bodies):
        make(wp.tid(), parameters, grains, kept, lists, bodies)

    return list_bodies


@wp.kernel(module="unique", enable_backward=False)
def hand_on_all(grains: Grains, grains_out: Grains):
    """What an odd number of sweeps does that are skipped (CUDA)."""
    hand_back(wp.tid(), grains, grains_out)


@wp.kernel(module="unique", enable_backward=False)
def finish_batch(turns: int, lists: Lists):
    """Count the steps that were done (CUDA)."""
    close_batch(lists.flags[wp.static(DONE)], turns - 1, lists)
