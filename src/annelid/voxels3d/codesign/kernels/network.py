"""Layers of a network that many voxels share, and their way back; rows are voxels, tanh after each layer.

Weights of a layer are a matrix of inputs and neurons; the last input is 1, and its weights are the biases. Rates by
weights are summed over chunks of rows, and chunks by one thread a weight: in a fixed order, without atomics.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

CHUNK = 256
"""Rows that one thread sums."""


@once
def layer_kernel(real: Any) -> wp.Kernel:
    """Neurons of a layer at a call, one thread a row and neuron."""

    @wp.kernel(module="unique", enable_backward=False)
    def layer(call: int, weights: wp.array2d[real], before: wp.array3d[real], after_out: wp.array3d[real]):
        row, neuron = wp.tid()
        total = real(0.0)
        for k in range(weights.shape[0]):
            total += before[call, row, k] * weights[k, neuron]
        after_out[call, row, neuron] = wp.tanh(total)

    return layer


@once
def command_kernel(real: Any) -> wp.Kernel:
    """The last layer, of one neuron, whose value is the command of a voxel."""

    @wp.kernel(module="unique", enable_backward=False)
    def command(call: int, weights: wp.array2d[real], before: wp.array3d[real], table_out: wp.array2d[real]):
        row = wp.tid()
        total = real(0.0)
        for k in range(weights.shape[0]):
            total += before[call, row, k] * weights[k, 0]
        table_out[call, row] = wp.tanh(total)

    return command


@once
def command_back_kernel(real: Any) -> wp.Kernel:
    """Rates by the sum in the last neuron from a share of those by commands; 0 where they are not finite."""

    @wp.kernel(module="unique", enable_backward=False)
    def command_back(
        call: int,
        shares: wp.array[real],
        table: wp.array2d[real],
        by_table: wp.array2d[real],
        by_sum_out: wp.array2d[real],
    ):
        row = wp.tid()
        rate = by_table[call, row] * (real(1.0) - table[call, row] * table[call, row])
        if rate - rate != real(0.0):
            rate = real(0.0)
        by_sum_out[row, 0] = shares[row] * rate

    return command_back


@once
def effort_kernel(real: Any) -> wp.Kernel:
    """Squares of the rates by the commands of each row, summed over calls."""

    @wp.kernel(module="unique", enable_backward=False)
    def effort(by_table: wp.array2d[real], squares_out: wp.array[wp.float64]):
        row = wp.tid()
        total = wp.float64(0.0)
        for call in range(by_table.shape[0]):
            total += wp.float64(by_table[call, row]) * wp.float64(by_table[call, row])
        squares_out[row] = total

    return effort


@once
def back_kernel(real: Any) -> wp.Kernel:
    """Rates by the sums in the neurons before a layer from those by the sums in its own, one thread a row and input."""

    @wp.kernel(module="unique", enable_backward=False)
    def back(
        call: int,
        bent: int,  # 1 where the inputs are neurons, 0 where they are what voxels sense
        weights: wp.array2d[real],
        before: wp.array3d[real],
        by_sum: wp.array2d[real],
        by_before_out: wp.array2d[real],
    ):
        row, k = wp.tid()
        total = real(0.0)
        for neuron in range(weights.shape[1]):
            total += by_sum[row, neuron] * weights[k, neuron]
        if bent == 1:
            value = before[call, row, k]
            total = total * (real(1.0) - value * value)
        by_before_out[row, k] = total

    return back


@once
def rate_kernel(real: Any) -> wp.Kernel:
    """Add rates by weights of a call, of a chunk of rows; one thread a chunk, input and neuron."""

    @wp.kernel(module="unique", enable_backward=False)
    def rate(call: int, before: wp.array3d[real], by_sum: wp.array2d[real], parts: wp.array3d[real]):
        chunk, k, neuron = wp.tid()
        total = real(parts[chunk, k, neuron])
        first = chunk * wp.static(CHUNK)
        for row in range(first, wp.min(first + wp.static(CHUNK), by_sum.shape[0])):
            total += before[call, row, k] * by_sum[row, neuron]
        parts[chunk, k, neuron] = total

    return rate


@once
def sum_kernel(real: Any) -> wp.Kernel:
    """Rates by weights, summed over chunks."""

    @wp.kernel(module="unique", enable_backward=False)
    def add_up(parts: wp.array3d[real], rates_out: wp.array2d[wp.float64]):
        k, neuron = wp.tid()
        total = wp.float64(0.0)
        for chunk in range(parts.shape[0]):
            total += wp.float64(parts[chunk, k, neuron])
        rates_out[k, neuron] = total

    return add_up
