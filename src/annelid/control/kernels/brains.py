"""Controllers on the device: a group of threads evaluates the controller of one robot."""

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.control.kernels.kinds import DISTRIBUTED, FUNCTION, MLP, TABLE, WAVES

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class BrainLayout:
    """The types for one precision: `Brain` is one controller, `Brains` all of them."""

    real: Any
    Brain: Any
    Brains: Any


@functools.cache
def brain_layout(real: Any) -> BrainLayout:
    """The types for `wp.float32` or `wp.float64`."""
    bits = 32 if real is wp.float32 else 64
    brain = _struct(
        f"Brain{bits}",
        kind=wp.int32,
        channel=wp.int32,  # its first control value
        channels=wp.int32,
        input=wp.int32,
        inputs=wp.int32,
        parameter=wp.int32,
        layer=wp.int32,  # first of its layer sizes
        layers=wp.int32,
        widest=wp.int32,  # largest layer
        neuron=wp.int32,  # first of its scratch activations: two layers, of each channel if distributed
        bias_all=wp.int32,
        driven=wp.int32,  # 0: no driving function, 1: a sine, 2: a column of the table
        column=wp.int32,  # first of its columns of the table
        signals=wp.int32,
        memory=wp.int32,  # first of its remembered signals: twice [channels, 4, signals]
        weights=wp.int32,  # from one channel's weights to the next; 0 where they are shared
        function=wp.int32,  # number of the user's function
        drive=wp.vec3d,  # amplitude, frequency [Hz], phase in turns
    )
    brains = _struct(
        f"Brains{bits}",
        brains=wp.array[brain],
        parameters=wp.array[real],
        layers=wp.array[wp.int32],
        neighbours=wp.array[wp.vec4i],
        table=wp.array2d[real],  # of time functions: a row a call from `first_call` on
        first_call=wp.array[wp.int64],
    )
    return BrainLayout(real, brain, brains)


def _struct(name: str, **members: Any) -> Any:
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))


@functools.cache
def user_value(functions: tuple[wp.Function, ...], real: Any) -> wp.Function:
    """Value of the user's function of some number, counted from 1."""
    if not functions:

        @wp.func
        def nothing(
            number: int, time: wp.float64, channel: int, inputs: wp.array[real], first_input: int, count: int,
            parameters: wp.array[real], first_parameter: int,
        ) -> real:  # fmt: skip
            return real(0.0)

        return nothing
    last, this, others = functions[-1], len(functions), user_value(functions[:-1], real)

    @wp.func
    def value(
        number: int, time: wp.float64, channel: int, inputs: wp.array[real], first_input: int, count: int,
        parameters: wp.array[real], first_parameter: int,
    ) -> real:  # fmt: skip
        result = others(number, time, channel, inputs, first_input, count, parameters, first_parameter)
        if number == wp.static(this):
            result = last(time, channel, inputs, first_input, count, parameters, first_parameter)
        return result

    return value


@functools.cache
def wave(real: Any) -> wp.Function:
    """A sin(2π (f t + turns)), accurate at any time."""

    @wp.func
    def value(time: wp.float64, amplitude: wp.float64, frequency: wp.float64, turns: wp.float64) -> real:
        turn = frequency * time + turns
        turn = turn - wp.floor(turn)
        return real(amplitude) * wp.sin(real(turn) * real(6.283185307179586))

    return value


@functools.cache
def brain_act(
    real: Any, kinds: frozenset[int], functions: tuple[wp.Function, ...], barrier: wp.Function
) -> wp.Function:
    """Control values of one brain at one call, written to `outputs`; not yet clipped."""
    types = brain_layout(real)
    Brain, Brains = types.Brain, types.Brains
    sine, user = wave(real), user_value(functions, real)
    waves, tables, networks, distributed, own = (k in kinds for k in (WAVES, TABLE, MLP, DISTRIBUTED, FUNCTION))

    @wp.func
    def drive(brain: Brain, brains: Brains, time: wp.float64, call: wp.int64) -> real:
        value = real(0.0)
        if brain.driven == 1:
            value = sine(time, brain.drive[0], brain.drive[1], brain.drive[2])
        if brain.driven == 2:
            value = brains.table[int(call - brains.first_call[0]), brain.column]
        return value

    @wp.func
    def neuron(weights: wp.array[real], w: int, x: wp.array[real], begin: int, count: int) -> real:
        total = real(0.0)
        for i in range(count):
            total += weights[w + i] * x[begin + i]
        return total

    @wp.func
    def network(
        lane: int, width: int, brain: Brain, brains: Brains, driving: real,
        inputs: wp.array[real], neurons: wp.array[real], outputs: wp.array[real],
    ):  # fmt: skip
        w = brain.parameter
        before = brain.inputs
        extra = 1
        if brain.driven > 0:
            extra = 2
        for layer in range(1, brain.layers):
            size = brains.layers[brain.layer + layer]
            bias = extra
            if layer > 1:
                bias = brain.bias_all
            row = before + bias
            source = brain.neuron + (layer & 1) * brain.widest
            target = brain.neuron + (1 - (layer & 1)) * brain.widest
            for o in range(lane, size, width):
                at = w + o * row
                total = real(0.0)
                if layer == 1:
                    total = neuron(brains.parameters, at, inputs, brain.input, before)
                    if extra == 2:
                        total += brains.parameters[at + before] * driving
                else:
                    total = neuron(brains.parameters, at, neurons, source, before)
                if bias > 0:
                    total += brains.parameters[at + row - 1]
                if layer == brain.layers - 1:
                    outputs[brain.channel + o] = wp.tanh(total)
                else:
                    neurons[target + o] = wp.tanh(total)
            w += size * row
            before = size
            barrier(width)

    @wp.func
    def small_network(
        channel: int, brain: Brain, brains: Brains, driving: real, call: wp.int64,
        inputs: wp.array[real], neurons: wp.array[real], memory: wp.array[real],
        outputs: wp.array[real],
    ):  # fmt: skip
        half = brain.channels * 4 * brain.signals
        heard = brain.memory + int(call & wp.int64(1)) * half
        said = brain.memory + int((call + wp.int64(1)) & wp.int64(1)) * half
        own_inputs = brain.inputs // brain.channels
        w = brain.parameter + channel * brain.weights
        around = brains.neighbours[brain.channel + channel]
        scratch = brain.neuron + channel * 2 * brain.widest
        before = own_inputs + 4 * brain.signals
        extra = 1
        if brain.driven > 0:
            extra = 2
        for layer in range(1, brain.layers):
            size = brains.layers[brain.layer + layer]
            row = before
            if layer == 1:
                row += extra
            source = scratch + (layer & 1) * brain.widest
            target = scratch + (1 - (layer & 1)) * brain.widest
            for o in range(size):
                at = w + o * row
                total = real(0.0)
                if layer == 1:
                    total = neuron(brains.parameters, at, inputs, brain.input + channel * own_inputs, own_inputs)
                    at += own_inputs
                    for side in range(4):
                        if around[side] >= 0:
                            # what the neighbour sent the other way
                            from_there = heard + (around[side] * 4 + (side + 2) % 4) * brain.signals
                            total += neuron(brains.parameters, at, memory, from_there, brain.signals)
                        at += brain.signals
                    if extra == 2:
                        total += brains.parameters[at] * driving
                        at += 1
                    total += brains.parameters[at]
                else:
                    total = neuron(brains.parameters, at, neurons, source, before)
                value = wp.tanh(total)
                if layer < brain.layers - 1:
                    neurons[target + o] = value
                elif o == 0:
                    outputs[brain.channel + channel] = value
                else:
                    memory[said + channel * 4 * brain.signals + o - 1] = value
            w += size * row
            before = size

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
                    p = brain.parameter + 5 * c
                    swing = sine(
                        time,
                        wp.float64(brains.parameters[p]),
                        wp.float64(brains.parameters[p + 1]),
                        wp.float64(brains.parameters[p + 2]),
                    )
                    drift = brains.parameters[p + 3] + brains.parameters[p + 4] * real(time)
                    outputs[brain.channel + c] = swing + drift
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
