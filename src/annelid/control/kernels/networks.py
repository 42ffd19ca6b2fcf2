"""Networks that control robots: one for all channels, or one in each voxel that talks to its neighbours."""

from typing import Any

import warp as wp

from annelid.control.kernels.layout import brain_layout
from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@once
def weighted_sum(real: Any) -> wp.Function:
    """A function `(weights, w, x, begin, count) -> real`: sum of `count` values from `begin` on, weighted."""

    @wp.func
    def neuron(weights: wp.array[real], w: int, x: wp.array[real], begin: int, count: int) -> real:
        total = real(0.0)
        for i in range(count):
            total += weights[w + i] * x[begin + i]
        return total

    return neuron


@once
def joint_network(real: Any, barrier: wp.Function) -> wp.Function:
    """A function by which a group of threads evaluates a multilayer perceptron with an output for each channel.

    The threads meet at the barrier after each layer.
    """
    types, neuron = brain_layout(real), weighted_sum(real)
    Brain, Brains = types.Brain, types.Brains

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

    return network


@once
def first_layer(real: Any) -> wp.Function:
    """A function `-> real`: sum of one neuron over sensors, signals of the four neighbours, driving value and bias.

    Args of the function: place of the neuron's weights, channel, place of the signals that were sent at the last call.
    """
    types, neuron = brain_layout(real), weighted_sum(real)
    Brain, Brains = types.Brain, types.Brains

    @wp.func
    def hear(
        weights: int, channel: int, heard: int, brain: Brain, brains: Brains, driving: real,
        inputs: wp.array[real], memory: wp.array[real],
    ) -> real:  # fmt: skip
        own_inputs = brain.inputs // brain.channels
        around = brains.neighbours[brain.channel + channel]
        at = int(weights)
        total = neuron(brains.parameters, at, inputs, brain.input + channel * own_inputs, own_inputs)
        at += own_inputs
        for side in range(4):
            if around[side] >= 0:
                # what the neighbour sent in the opposite direction
                from_there = heard + (around[side] * 4 + (side + 2) % 4) * brain.signals
                total += neuron(brains.parameters, at, memory, from_there, brain.signals)
            at += brain.signals
        if brain.driven > 0:
            total += brains.parameters[at] * driving
            at += 1
        total += brains.parameters[at]
        return total

    return hear


@once
def distributed_network(real: Any) -> wp.Function:
    """A function that evaluates the network of one channel.

    Its first output is the control value, the others are signals to the neighbours, who hear them at the next call.
    """
    types, neuron, hear = brain_layout(real), weighted_sum(real), first_layer(real)
    Brain, Brains = types.Brain, types.Brains

    @wp.func
    def network(
        channel: int, brain: Brain, brains: Brains, driving: real, call: wp.int64,
        inputs: wp.array[real], neurons: wp.array[real], memory: wp.array[real], outputs: wp.array[real],
    ):  # fmt: skip
        half = brain.channels * 4 * brain.signals
        heard = brain.memory + int(call & wp.int64(1)) * half
        said = brain.memory + int((call + wp.int64(1)) & wp.int64(1)) * half
        w = brain.parameter + channel * brain.weights
        scratch = brain.neuron + channel * 2 * brain.widest
        before = brain.inputs // brain.channels + 4 * brain.signals
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
                total = real(0.0)
                if layer == 1:
                    total = hear(w + o * row, channel, heard, brain, brains, driving, inputs, memory)
                else:
                    total = neuron(brains.parameters, w + o * row, neurons, source, before)
                value = wp.tanh(total)
                if layer < brain.layers - 1:
                    neurons[target + o] = value
                elif o == 0:
                    outputs[brain.channel + channel] = value
                else:
                    memory[said + channel * 4 * brain.signals + o - 1] = value
            w += size * row
            before = size

    return network
