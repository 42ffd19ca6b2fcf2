"""From rates by the factors of signals to those by commands, amplitudes, frequencies and delays."""

import functools
from dataclasses import dataclass

import warp as wp

from annelid.springs.adjoint.kernels.ledger import ledger_of
from annelid.springs.adjoint.kernels.there import FIRST, course_of, sight_of
from annelid.springs.kernels.layout import Layout, layout
from annelid.springs.kernels.program import Features

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Kinds:
    """Kinds of the signals that follow commands and waves, 0 where there are none."""

    commanded: int
    sine: int


@functools.cache
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


@functools.cache
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


@functools.cache
def add_signal(features: Features, kinds: Kinds) -> wp.Function:
    """Add up the rates of a stretch by the factor of a signal of a world, from its last step to its first."""
    types = layout(features.real)
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    Sight, Course = sight_of(types), course_of(types)
    commanded, sine, worlds = kinds.commanded, kinds.sine, features.worlds

    @wp.func
    def add_up(
        world: int, signal: int, steps: int, model: Arrays, work: Work, sight: Sight, course: Course, ledger: Ledger
    ):  # fmt: skip
        kind = model.signal_kinds[signal]
        numbers = course.signals[world, signal]
        begun = wp.int64(0)
        if wp.static(worlds):
            begun = work.begun[world]
        count = ledger.chunks.shape[0]
        for turned in range(steps):
            step = steps - 1 - turned
            rate = wp.float64(0.0)
            for chunk in range(ledger.first_chunks[signal], ledger.first_chunks[signal + 1]):
                rate += wp.float64(ledger.by_chunk[step, world * count + chunk])
            if wp.static(commanded > 0):
                if kind == wp.static(commanded) and ledger.by_controls.shape[1] > 0:
                    at = (sight.place[wp.static(FIRST)] + step) // course.interval
                    channel = int(numbers[0])
                    ledger.by_controls[world, at, channel] = ledger.by_controls[world, at, channel] + rate
            if wp.static(sine > 0):
                if kind == wp.static(sine):
                    moment = work.clock[0] + wp.int64(step) - begun
                    since = wp.float64(moment) * model.parameters[0].dt - numbers[2]
                    phase = numbers[1] * since
                    if phase > wp.float64(0.0):
                        turns = wp.float64(6.283185307179586)
                        angle = turns * (phase - wp.floor(phase))
                        swing = numbers[0] * wp.cos(angle) * turns
                        slopes = wp.vec3d(wp.sin(angle), swing * since, -swing * numbers[1])
                        ledger.by_signals[world, signal] = ledger.by_signals[world, signal] + slopes * rate

    return add_up


@functools.cache
def signal_kernel(features: Features, kinds: Kinds) -> wp.Kernel:
    """The same for all signals of all worlds (CUDA)."""
    types = layout(features.real)
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    Sight, Course = sight_of(types), course_of(types)
    add_up = add_signal(features, kinds)

    @wp.kernel(module="unique", enable_backward=False)
    def add_stretch(steps: int, model: Arrays, work: Work, sight: Sight, course: Course, ledger: Ledger):
        world, signal = wp.tid()
        add_up(world, signal, steps, model, work, sight, course, ledger)

    return add_stretch
