"""From rates by the factors of signals to those by commands, amplitudes, frequencies and delays."""

from dataclasses import dataclass

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.adjoint.kernels.ledger import ledger_of
from annelid.springs.adjoint.kernels.loads import constant_load, lane_total
from annelid.springs.adjoint.kernels.there import FIRST, course_of, sight_of
from annelid.springs.kernels.layout import Layout, layout
from annelid.springs.kernels.program import Features

wp.set_module_options({"enable_backward": False})


CHUNK_LANES = 16
"""Threads that share the sum over a chunk of springs on CUDA."""


@dataclass(frozen=True)
class Kinds:
    """Kinds of the signals that follow commands and waves, 0 where there are none."""

    commanded: int
    sine: int


@once
def _picked_sum(types: Layout) -> wp.Function:
    """Sum of chosen elements; four at a time, in an order that does not depend on the device."""
    real = types.real
    scalar = "float" if real is wp.float32 else "double"
    source = f"""
    const {scalar}* from = values.data;
    const int* at = places.data;
    {scalar} sums[4] = {{0, 0, 0, 0}};
    int m = first;
    for (; m + 4 <= end; m += 4)
        for (int l = 0; l < 4; ++l) sums[l] += from[at[m + l]];
    for (int l = 0; m < end; ++m, ++l) sums[l] += from[at[m]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
"""

    @wp.func_native(source)
    def total(values: wp.array[real], places: wp.array[wp.int32], first: int, end: int) -> real: ...

    return total


@once
def add_chunk(types: Layout) -> wp.Function:
    """Sum of the rates by the factor of a signal over some of its springs, for one step and world."""
    Ledger, total = ledger_of(types), _picked_sum(types)

    @wp.func
    def add_up(item: int, step: int, ledger: Ledger):
        count = ledger.chunks.shape[0]
        world = item // count
        chunk = ledger.chunks[item - world * count]
        rates = ledger.by_factor[step % 2]
        ledger.by_chunk[step, item] = total(rates, ledger.members[world], chunk[1], chunk[2])

    return add_up


@once
def add_chunk_by_lanes(types: Layout, lanes: int) -> wp.Function:
    """The same by neighbouring threads of a warp, all of which must call it (CUDA)."""
    real, Ledger, total = types.real, ledger_of(types), lane_total(types.real, lanes)
    scalar = "float" if real is wp.float32 else "double"
    load, whole = constant_load(real, 1, scalar), constant_load(wp.int32, 1, "int")

    @wp.func
    def add_up(thread: int, step: int, ledger: Ledger):
        count = ledger.chunks.shape[0]
        items = ledger.by_chunk.shape[1]
        item = wp.min(thread // wp.static(lanes), items - 1)
        world = item // count
        chunk = ledger.chunks[item - world * count]
        rates = ledger.by_factor[step % 2]
        members = ledger.members[world]
        found = real(0.0)
        member = chunk[1] + thread % wp.static(lanes)
        while member < chunk[2]:
            found += load(rates, whole(members, member))
            member += wp.static(lanes)
        found = total(found)
        if thread == item * wp.static(lanes):
            ledger.by_chunk[step, item] = found

    return add_up


@once
def _term(features: Features, kinds: Kinds) -> wp.Function:
    """What a step of a stretch adds to the rates by a command, or by amplitude, frequency and delay of a wave."""
    types = layout(features.real)
    Arrays, Work, Ledger, Course = types.Arrays, types.Work, ledger_of(types), course_of(types)
    sine, worlds = kinds.sine, features.worlds

    @wp.func
    def term(world: int, signal: int, step: int, model: Arrays, work: Work, course: Course, ledger: Ledger) -> wp.vec3d:
        count = ledger.chunks.shape[0]
        rate = wp.float64(0.0)
        for chunk in range(ledger.first_chunks[signal], ledger.first_chunks[signal + 1]):
            rate += wp.float64(ledger.by_chunk[step, world * count + chunk])
        found = wp.vec3d(rate, wp.float64(0.0), wp.float64(0.0))
        if wp.static(sine > 0):
            if model.signal_kinds[signal] == wp.static(sine):
                numbers = course.signals[world, signal]
                begun = wp.int64(0)
                if wp.static(worlds):
                    begun = work.begun[world]
                moment = work.clock[0] + wp.int64(step) - begun
                since = wp.float64(moment) * model.parameters[0].dt - numbers[2]
                phase = numbers[1] * since
                found = wp.vec3d()
                if phase > wp.float64(0.0):
                    turns = wp.float64(6.283185307179586)
                    angle = turns * (phase - wp.floor(phase))
                    swing = numbers[0] * wp.cos(angle) * turns
                    found = wp.vec3d(wp.sin(angle), swing * since, -swing * numbers[1]) * rate
        return found

    return term


@once
def _term_at_hand(features: Features) -> wp.Function:
    """The same, where `term_kernel` has left it."""
    types = layout(features.real)
    Arrays, Work, Ledger, Course = types.Arrays, types.Work, ledger_of(types), course_of(types)
    load = constant_load(wp.float64, 1, "double")

    @wp.func
    def term(world: int, signal: int, step: int, model: Arrays, work: Work, course: Course, ledger: Ledger) -> wp.vec3d:
        at = 3 * ((step * model.world_count + world) * model.signal_count + signal)
        return wp.vec3d(load(ledger.terms, at), load(ledger.terms, at + 1), load(ledger.terms, at + 2))

    return term


@once
def add_signal(features: Features, kinds: Kinds, *, at_hand: bool = False) -> wp.Function:
    """Add up the rates of a stretch by the factor of a signal of a world, from its last step to its first.

    What each step adds is `at_hand`, or is computed here.
    """
    types = layout(features.real)
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    Sight, Course = sight_of(types), course_of(types)
    term = _term_at_hand(features) if at_hand else _term(features, kinds)
    commanded, sine = kinds.commanded, kinds.sine

    @wp.func
    def add_up(
        world: int, signal: int, steps: int, model: Arrays, work: Work, sight: Sight, course: Course, ledger: Ledger
    ):  # fmt: skip
        kind = model.signal_kinds[signal]
        if wp.static(commanded > 0):
            if kind == wp.static(commanded) and ledger.by_controls.shape[1] > 0:
                channel = int(course.signals[world, signal][0])
                begin = sight.place[wp.static(FIRST)]
                interval = course.interval
                held = (begin + steps - 1) // interval  # interval whose sum is at hand
                rate = ledger.by_controls[world, held, channel]
                for turned in range(steps):
                    step = steps - 1 - turned
                    at = (begin + step) // interval
                    if at != held:
                        ledger.by_controls[world, held, channel] = rate
                        rate = ledger.by_controls[world, at, channel]
                        held = at
                    rate += term(world, signal, step, model, work, course, ledger)[0]
                ledger.by_controls[world, held, channel] = rate
        if wp.static(sine > 0):
            if kind == wp.static(sine):
                rates = ledger.by_signals[world, signal]
                for turned in range(steps):
                    rates += term(world, signal, steps - 1 - turned, model, work, course, ledger)
                ledger.by_signals[world, signal] = rates

    return add_up


@once
def term_kernel(features: Features, kinds: Kinds) -> wp.Kernel:
    """What all steps of a stretch add to the rates by all signals of all worlds (CUDA)."""
    types = layout(features.real)
    Arrays, Work, Ledger, Course = types.Arrays, types.Work, ledger_of(types), course_of(types)
    term = _term(features, kinds)

    @wp.kernel(module="unique", enable_backward=False)
    def fill_terms(model: Arrays, work: Work, course: Course, ledger: Ledger):
        step, item = wp.tid()
        world = item // model.signal_count
        signal = item - world * model.signal_count
        found = term(world, signal, step, model, work, course, ledger)
        at = 3 * (step * model.world_count * model.signal_count + item)
        for part in range(3):
            ledger.terms[at + part] = found[part]

    return fill_terms


@once
def signal_kernel(features: Features, kinds: Kinds) -> wp.Kernel:
    """These added up (CUDA)."""
    types = layout(features.real)
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    Sight, Course = sight_of(types), course_of(types)
    add_up = add_signal(features, kinds, at_hand=True)

    @wp.kernel(module="unique", enable_backward=False)
    def add_stretch(steps: int, model: Arrays, work: Work, sight: Sight, course: Course, ledger: Ledger):
        world, signal = wp.tid()
        add_up(world, signal, steps, model, work, sight, course, ledger)

    return add_stretch
