"""Controllers on the device: a group of threads evaluates the controller of one robot."""

from typing import Any

import warp as wp

from annelid.control.kernels.kinds import DISTRIBUTED, FUNCTION, MLP, TABLE, WAVES
from annelid.control.kernels.layout import brain_layout
from annelid.control.kernels.networks import distributed_network, joint_network
from annelid.control.kernels.signals import driving_value, user_value, wave
from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@once
def wave_value(real: Any) -> wp.Function:
    """A function `(parameters, p, time) -> real`: a wave and a drift, by five parameters from `p` on."""
    sine = wave(real)

    @wp.func
    def value(parameters: wp.array[real], p: int, time: wp.float64) -> real:
        swing = sine(time, wp.float64(parameters[p]), wp.float64(parameters[p + 1]), wp.float64(parameters[p + 2]))
        drift = parameters[p + 3] + parameters[p + 4] * real(time)
        return swing + drift

    return value


@once
def brain_act(
    real: Any, kinds: frozenset[int], functions: tuple[wp.Function, ...], barrier: wp.Function
) -> wp.Function:
    """Control values of one brain at one call, written to `outputs`; not yet clipped."""
    types = brain_layout(real)
    Brains, drive, user, swing = types.Brains, driving_value(real), user_value(functions, real), wave_value(real)
    network, small_network = joint_network(real, barrier), distributed_network(real)
    waves, tables, networks, distributed, own = (k in kinds for k in (WAVES, TABLE, MLP, DISTRIBUTED, FUNCTION))

    @wp.func
    def act(
        lane: int,
        width: int,
        number: int,
        time: wp.float64,
        call: wp.int64,
        brains: Brains,
        inputs: wp.array[real],
        neurons: wp.array[real],
        memory: wp.array[real],
        outputs: wp.array[real],
    ):
        brain = brains.brains[number]
        if wp.static(waves):
            if brain.kind == wp.static(WAVES):
                for c in range(lane, brain.channels, width):
                    outputs[brain.channel + c] = swing(brains.parameters, brain.parameter + 5 * c, time)
        if wp.static(tables):
            if brain.kind == wp.static(TABLE):
                for c in range(lane, brain.channels, width):
                    outputs[brain.channel + c] = brains.table[int(call - brains.first_call[0]), brain.column + c]
        if wp.static(networks):
            if brain.kind == wp.static(MLP):
                network(lane, width, brain, brains, drive(brain, brains, time, call), inputs, neurons, outputs)
        if wp.static(distributed):
            if brain.kind == wp.static(DISTRIBUTED):
                driving = drive(brain, brains, time, call)
                for c in range(lane, brain.channels, width):
                    small_network(c, brain, brains, driving, call, inputs, neurons, memory, outputs)
        if wp.static(own):
            if brain.kind == wp.static(FUNCTION):
                for c in range(lane, brain.channels, width):
                    outputs[brain.channel + c] = user(
                        brain.function, time, c, inputs, brain.input, brain.inputs, brains.parameters, brain.parameter
                    )

    return act
