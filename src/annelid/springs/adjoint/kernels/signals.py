"""From rates by the factors of signals to those by commands, amplitudes, frequencies and delays."""

import functools

import warp as wp

from annelid.springs.adjoint.kernels.ledger import ledger_of
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.program import Features

wp.set_module_options({"enable_backward": False})


@functools.cache
def signal_back(features: Features, commanded: int, sine: int) -> wp.Kernel:
    """Add up the rates of a stretch by the factor of each signal of each world, from its last step to its first.

    `commanded` and `sine` are the kinds of signals that follow commands and waves, 0 where there are none.
    """
    types = layout(features.real)
    Arrays, Work, Ledger, worlds = types.Arrays, types.Work, ledger_of(types), features.worlds

    @wp.kernel(module="unique", enable_backward=False)
    def add_stretch(
        steps: int,
        interval: int,
        first: wp.array[wp.int32],
        chunk_first: wp.array[wp.int32],  # of each signal
        parameters: wp.array2d[wp.vec4d],
        model: Arrays,
        work: Work,
        ledger: Ledger,
        by_controls: wp.array3d[wp.float64],  # of worlds, intervals and controls
        by_parameters: wp.array2d[wp.vec3d],  # of worlds and signals: amplitude, frequency and delay
    ):
        world, signal = wp.tid()
        kind = model.signal_kinds[signal]
        numbers = parameters[world, signal]
        begun = wp.int64(0)
        if wp.static(worlds):
            begun = work.begun[world]
        count = ledger.chunks.shape[0]
        for turned in range(steps):
            step = steps - 1 - turned
            rate = wp.float64(0.0)
            for chunk in range(chunk_first[signal], chunk_first[signal + 1]):
                rate += wp.float64(ledger.by_chunk[step, world * count + chunk])
            if wp.static(commanded > 0):
                if kind == wp.static(commanded) and by_controls.shape[1] > 0:
                    at = (first[0] + step) // interval
                    channel = int(numbers[0])
                    by_controls[world, at, channel] = by_controls[world, at, channel] + rate
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
                        by_parameters[world, signal] = by_parameters[world, signal] + slopes * rate

    return add_stretch
