"""Controllers that close a loop: from readings of sensors to values of channels, one world a thread."""

from typing import Any

import warp as wp

from annelid.control.kernels.brains import brain_act
from annelid.control.kernels.layout import brain_layout
from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@wp.func
def _alone(width: int):
    """A thread by itself waits for nobody."""
    return


@once
def think_kernel(kinds: frozenset[int], functions: tuple[wp.Function, ...]) -> wp.Kernel:
    """Let controllers act, and map what they say, clipped to [-1, 1], to the limits of the channels of their worlds."""
    real: Any = wp.float32
    act, Brains = brain_act(real, kinds, functions, _alone), brain_layout(real).Brains

    @wp.kernel(module="unique", enable_backward=False)
    def think(
        time: wp.float64,
        call: wp.int64,
        brains: Brains,
        inputs: wp.array[wp.float32],
        neurons: wp.array[wp.float32],
        memory: wp.array[wp.float32],
        lows: wp.array[wp.float64],
        highs: wp.array[wp.float64],
        places: wp.array[wp.vec2i],
        outputs: wp.array[wp.float32],
        values_out: wp.array2d[wp.float64],
    ):
        number = wp.tid()
        act(0, 1, number, time, call, brains, inputs, neurons, memory, outputs)
        brain = brains.brains[number]
        for k in range(brain.channel, brain.channel + brain.channels):
            world, c = places[k][0], places[k][1]
            share = wp.float64(0.5) * (
                wp.float64(1.0) + wp.clamp(wp.float64(outputs[k]), wp.float64(-1.0), wp.float64(1.0))
            )
            values_out[world, c] = lows[c] + share * (highs[c] - lows[c])

    return think


@wp.kernel(enable_backward=False)
def pick_columns(columns: wp.array[wp.int32], readings: wp.array2d[wp.float32], inputs_out: wp.array2d[wp.float32]):
    """Readings that a controller gets, in its order."""
    world, k = wp.tid()
    inputs_out[world, k] = readings[world, columns[k]]


@wp.kernel(enable_backward=False)
def pick_places(places: wp.array[wp.vec2i], rows: wp.array2d[wp.float32], inputs_out: wp.array[wp.float32]):
    """Readings of controllers that read unlike numbers of them, one controller after the other."""
    k = wp.tid()
    inputs_out[k] = rows[places[k][0], places[k][1]]
