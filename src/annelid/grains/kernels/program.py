"""The kernels of a step on CUDA: of its phases, of making lists, and of what ends a batch."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.allowances import set_allowance
from annelid.grains.kernels.bodies import BODY_BLOCK, block_total, body_total
from annelid.grains.kernels.cells import ordered_place
from annelid.grains.kernels.collect import collect, collect_bodies, reorder
from annelid.grains.kernels.commands import block_given, mat43
from annelid.grains.kernels.converge import in_pair, world_of_point
from annelid.grains.kernels.layout import (
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
    Moment,
    Parameters,
    is_stale,
    moment_of,
    reach_place,
    world_of,
)
from annelid.grains.kernels.list_backup import hand_back, keep_grain, keep_list
from annelid.grains.kernels.maxima import highest
from annelid.grains.kernels.phases import Phase
from annelid.grains.kernels.rigid_motion import given_if_final
from annelid.grains.kernels.sums import ContactSum, added, as_rows, from_rows

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


# --- kernels of phases ---


@once
def _row(features: Features, phase: Phase) -> wp.Function:
    """A function `(i, lane, lanes, moment, ...)`: what a phase does with a row; one that is left out is handed on."""
    act, takes, world, hands_on = phase.act, phase.takes, world_of(features), phase.hands_on
    tolerant, bouncing = features.tolerant and phase.sweeps, features.bouncing

    @wp.func
    def row(
        i: int, lane: int, lanes: int, moment: Moment, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        skip = lists.flags[wp.static(HALTED)] == 1
        if wp.static(tolerant):
            before = lists.reach[wp.static(CHANGES) + (moment.turn + 2) % 3]
            if moment.sweep > 0 and moment.final == 0 and before <= parameters.tolerance:
                skip = True
                highest(lists.reach, wp.static(CHANGES) + moment.turn % 3, before)
        if skip:
            if wp.static(hands_on):
                if lane == 0:
                    hand_back(i, grains, grains_out)
                    if wp.static(bouncing):
                        grains_out.starts[i] = grains.starts[i]
            return
        now = moment_of(moment.step, in_pair(moment.sweep, lists), moment.turn, moment.most, moment.final)
        if takes(world(i, grains), now, parameters, lists):
            act(i, lane, lanes, now, parameters, grains, lists, bodies, grains_out)

    return row


def _compiled(phase: Phase, registers: int) -> dict[str, Any]:
    """How a phase over rows is compiled."""
    return {"module_options": FAST, "cuda_max_registers": registers} if phase.sweeps else {}


@once
def row_kernel(features: Features, phase: Phase) -> wp.Kernel:
    """A phase over all rows, a thread a row."""
    row, note = _row(features, phase), phase.note

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, **_compiled(phase, REGISTERS))
    def all_rows(
        moment: Moment, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains
    ):  # fmt: skip
        i = wp.tid()
        if wp.static(note is not None):
            note(i, moment, parameters, lists)
        row(i, 0, 1, moment, parameters, grains, lists, bodies, grains_out)

    return all_rows


@once
def interior_kernel(features: Features, phase: Phase) -> wp.Kernel:
    """A phase over rows that are apart from guests, a thread a row."""
    row, note = _row(features, phase), phase.note

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, **_compiled(phase, FEWER_REGISTERS))
    def interior_rows(
        moment: Moment, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies, grains_out: Grains
    ):  # fmt: skip
        i = wp.tid()
        if wp.static(note is not None):
            note(i, moment, parameters, lists)
        if lists.near_boundary[i] == 0:
            row(i, 0, 1, moment, parameters, grains, lists, bodies, grains_out)

    return interior_rows


@once
def near_boundary_kernel(features: Features, phase: Phase, lanes: int) -> wp.Kernel:
    """A phase over guests and the rows beside them, which `threads` take by turns; `lanes` of them share one."""
    row = _row(features, phase)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, **_compiled(phase, REGISTERS))
    def rows_near_boundary(
        threads: int, moment: Moment, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies,
        grains_out: Grains,
    ):  # fmt: skip
        t = wp.tid()
        for r in range(t // wp.static(lanes), lists.near_boundary_count[0], threads // wp.static(lanes)):
            i = lists.near_boundary_rows[r]
            row(i, t % wp.static(lanes), wp.static(lanes), moment, parameters, grains, lists, bodies, grains_out)

    return rows_near_boundary


@once
def point_kernel(features: Features, phase: Phase) -> wp.Kernel:
    """A phase over the points of bodies, a thread a point."""
    act, takes = phase.act, phase.takes

    @wp.kernel(module="unique", enable_backward=False)
    def all_points(moment: Moment, parameters: Parameters, lists: Lists, bodies: Bodies):
        p = wp.tid()
        now = moment_of(moment.step, in_pair(moment.sweep, lists), moment.turn, moment.most, moment.final)
        if lists.flags[wp.static(HALTED)] == 0 and takes(world_of_point(p, bodies), now, parameters, lists):
            act(p, now, parameters, lists, bodies)

    return all_points


@once
def body_kernels(features: Features, phase: Phase) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """Sum the contacts of each body, one block a share of them; a phase over all bodies; or both at once.

    Where a block sums all contacts of a body, its first thread may as well go on with it.
    """
    total, given, found = body_total(features), block_given(features), given_if_final(features)
    act, takes, commands = phase.act, phase.takes, not features.converging

    @wp.func
    def follows(b: int, moment: Moment, parameters: Parameters, lists: Lists, bodies: Bodies) -> bool:
        return lists.flags[wp.static(HALTED)] == 0 and takes(bodies.forms[b].world, moment, parameters, lists)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_bodies(moment: Moment, parameters: Parameters, lists: Lists, bodies: Bodies):
        t = wp.tid()
        share = t // wp.static(BODY_BLOCK)
        b = share // bodies.parts
        now = moment_of(moment.step, in_pair(moment.sweep, lists), moment.turn, moment.most, moment.final)
        if follows(b, now, parameters, lists, bodies):
            lane = t - b * bodies.parts * wp.static(BODY_BLOCK)
            rows = block_total(as_rows(total(b, lane, bodies.parts * wp.static(BODY_BLOCK), lists, bodies)))
            if t % wp.static(BODY_BLOCK) == 0:
                bodies.totals[share] = from_rows(rows)

    @wp.kernel(module="unique", enable_backward=False)
    def all_bodies(moment: Moment, parameters: Parameters, lists: Lists, bodies: Bodies):
        b = wp.tid()
        now = moment_of(moment.step, in_pair(moment.sweep, lists), moment.turn, moment.most, moment.final)
        if follows(b, now, parameters, lists, bodies):
            sums = ContactSum()
            for share in range(b * bodies.parts, (b + 1) * bodies.parts):
                sums = added(sums, bodies.totals[share])
            act(b, now, found(b, now, lists, bodies), sums, parameters, lists, bodies)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_and_act(moment: Moment, parameters: Parameters, lists: Lists, bodies: Bodies):
        b = wp.tid() // wp.static(BODY_BLOCK)
        lane = wp.tid() % wp.static(BODY_BLOCK)
        now = moment_of(moment.step, in_pair(moment.sweep, lists), moment.turn, moment.most, moment.final)
        if follows(b, now, parameters, lists, bodies):
            told = mat43()
            if wp.static(commands):
                told = given(b, lane, now.step, lists, bodies)
            rows = block_total(as_rows(total(b, lane, wp.static(BODY_BLOCK), lists, bodies)))
            if lane == 0:
                sums = from_rows(rows)
                bodies.totals[b] = sums
                act(b, now, told, sums, parameters, lists, bodies)

    return sum_bodies, all_bodies, sum_and_act


# --- making lists ---


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
